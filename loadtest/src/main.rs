//! A black-box load generator: it uses HTTP/1.1, Bayeux over long polling and WebSocket with a running
//! server, and keeps a ledger of everything it posted and of every notification it received or every row it
//! read back.
//!
//! Reading order: [`cli`] (the command line), [`scenario`] (the subcommands), [`body`] and [`poster`] (what
//! is posted, and how), [`csv`] (the compact protocol), [`audience`] (the clients that hold polls),
//! [`agents`] (those that execute operations), [`run`], [`ledger`], [`session_ledger`] and
//! [`operation_ledger`] (what is counted), [`read_back`] (what is read back), [`report`] (what is printed).
//!
//! It shares a machine with the server it measures, so a held poll costs one task, one socket and no buffer.

mod agent_session;
mod agents;
mod audience;
mod bayeux;
mod body;
mod cli;
mod connection;
mod csv;
mod data;
mod devices;
mod download;
mod error;
mod fleet_registration;
mod gaps;
mod inventory;
mod ledger;
mod long_polling;
mod mark;
mod nchan;
mod operation_ledger;
mod operations;
mod poster;
mod progress;
mod random;
mod read_back;
mod report;
mod response;
mod run;
mod scenario;
mod schedule;
mod server_child;
mod server_process;
mod session_ledger;
mod target;
mod vigil;
mod websocket;
mod year;

use std::process::ExitCode;

use clap::Parser as _;

use crate::error::Error;
use crate::report::Report;

/// Returns exit code 0 if the run was clean, 1 if it was measured but not clean (a delivery was lost, doubled
/// or reordered, a post rejected), 2 if it could not be measured.
fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    match measure(&arguments) {
        Ok(report) if report.clean => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("loadtest: {error}");
            ExitCode::from(2)
        }
    }
}

fn measure(arguments: &cli::Arguments) -> Result<Report, Error> {
    target::raise_open_file_limit();
    let runtime = match arguments.common.threads {
        0 | 1 => tokio::runtime::Builder::new_current_thread().enable_all().build()?,
        threads => {
            tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?
        }
    };
    let report = runtime.block_on(scenario::run(arguments))?;
    runtime.shutdown_background();
    report.print();
    if let Some(path) = &arguments.common.json {
        report.write_json(path)?;
    }
    Ok(report)
}
