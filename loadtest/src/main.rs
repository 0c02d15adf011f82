//! A black-box load generator: it uses HTTP/1.1, Bayeux over long polling and WebSocket with a running
//! server, and keeps a ledger of everything it posted and of every notification it received or every row it
//! read back.
//!
//! Reading order: [`cli`] (the command line), [`scenario`] (the subcommands), [`scenario_file`] (scenario files),
//! [`population`] (what such a file describes), [`traffic`] (posts, the clients that hold polls, and the comparison
//! with the stored data), [`protocol`] (bodies, Bayeux and the compact protocol), [`target`] (HTTP and the process of
//! the server), [`ledger`] (the records of posts and deliveries), [`report`] (the output).
//!
//! It shares a machine with the server it measures, so a held poll costs one task, one socket and no buffer.

mod cli;
mod devices;
mod error;
mod ledger;
mod population;
mod progress;
mod protocol;
mod report;
mod scenario;
mod scenario_file;
mod target;
mod traffic;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::interruption::interrupted;
use crate::cli::{Arguments, Program, ProgramCommand};
use crate::error::Error;
use crate::report::Report;
use crate::scenario_file::ScenarioFile;

/// Returns exit code 0 if the run was clean, 1 if it was measured but not clean (a delivery was lost, doubled
/// or reordered, a post rejected, a threshold missed), 2 if it could not be measured.
fn main() -> ExitCode {
    match execute(Program::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("loadtest: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the command. Returns whether its result was clean.
fn execute(Program { common, command }: Program) -> Result<bool, Error> {
    match command {
        ProgramCommand::Scenario(scenario) => measure(&Arguments { common, scenario }),
        ProgramCommand::Run(settings) => {
            target::raise_open_file_limit();
            let file = ScenarioFile::read(&settings.file, &settings.settings, &common)?;
            let clients = if settings.workers.is_empty() { file.clients() } else { 0 };
            target::expect_open_files(clients)?;
            on_runtime(common.threads, scenario_file::run(&file, &settings, &common))?
        }
        ProgramCommand::Worker(settings) => {
            target::raise_open_file_limit();
            common.accept_certificates();
            on_runtime(
                common.threads,
                population::serve(settings.listen, &common, ScenarioFile::parse_plan),
            )??;
            Ok(true)
        }
        ProgramCommand::Check(settings) => {
            let file = ScenarioFile::read(&settings.file, &settings.settings, &common)?;
            report::print(&scenario_file::explanation(&file));
            Ok(true)
        }
        ProgramCommand::Clean(settings) => {
            on_runtime(common.threads, devices::leftovers::clean(&settings, &common))?
        }
        ProgramCommand::Record(settings) => {
            on_runtime(common.threads, scenario_file::record::record(&settings, &common))?
        }
        ProgramCommand::Compare(settings) => scenario_file::compare(&settings),
        ProgramCommand::Explain(settings) => {
            report::print(&scenario_file::explain(&settings.words)?);
            Ok(true)
        }
    }
}

fn measure(arguments: &Arguments) -> Result<bool, Error> {
    target::raise_open_file_limit();
    target::expect_open_files(arguments.scenario.clients())?;
    let report = on_runtime(arguments.common.threads, until_interrupted(arguments))??;
    report.print();
    if let Some(path) = &arguments.common.json {
        report.write_json(path)?;
    }
    Ok(report.clean)
}

/// Runs a scenario. A signal ends it, and the devices that it created are removed.
async fn until_interrupted(arguments: &Arguments) -> Result<Report, Error> {
    if arguments.scenario.uses_running_target() && arguments.common.floor.is_none() {
        arguments.common.target_and_server()?.0.check().await?;
    }
    tokio::select! {
        report = scenario::run(arguments) => return report,
        signal = interrupted() => signal?,
        reason = lost(arguments) => return Err(Error::Refused(reason)),
    }
    let (removed, left) = devices::remove_interrupted(arguments.common.keep).await;
    Err(Error::Refused(format!("interrupted; {removed} devices removed, {left} could not be removed")))
}

/// Waits until the target is gone, if the scenario does not start it itself.
async fn lost(arguments: &Arguments) -> String {
    match arguments.common.target_and_server() {
        Ok((target, _)) if arguments.scenario.uses_running_target() => target.lost().await,
        _ => std::future::pending().await,
    }
}

/// Runs a future on this many threads.
fn on_runtime<F: Future>(threads: usize, future: F) -> Result<F::Output, Error> {
    let runtime = match threads {
        0 | 1 => tokio::runtime::Builder::new_current_thread().enable_all().build()?,
        threads => {
            tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?
        }
    };
    let output = runtime.block_on(future);
    runtime.shutdown_background();
    Ok(output)
}
