//! A hosted web application (W-17) and the console in the system's Chromium; tests/browser/README.md explains the
//! tests.
//!
//! Where Node or Chromium is missing, these tests print that and pass, unless `PLATFORM_CLIENT_SUITE=required` is set,
//! as in CI.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::node;
use crate::harness::prelude::*;

/// The names of the program on different systems. The first one has no parts for windows, and needs a third less CPU.
const CHROMIUM: [&str; 4] = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

#[test]
fn hosted_application_works_under_its_domain_and_confined_on_a_shared_address() {
    play("run.mjs", || Ok(()));
}

#[test]
fn pages_use_credentials_of_their_own_and_never_those_of_the_browser() {
    play("credentials.mjs", || Ok(()));
}

#[test]
fn console_shows_and_changes_what_happens_live() {
    // A flow uses a program of the other suite.
    let install = || {
        node::install_packages(&suite())?;
        node::install_packages(&suite().with_file_name("clients"))
    };
    play_all(&["console/run.mjs --part 1", "console/run.mjs --part 2"], install);
}

#[test]
fn sample_page_shows_alarms_as_they_change() {
    play("samples.mjs", || node::output_of("python3", &["--version"]).map(drop));
}

#[test]
fn event_source_of_a_browser_reads_a_named_consumer() {
    play("consumer.mjs", || Ok(()));
}

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser")
}

/// Runs a program of the suite for Node, after its preparation.
fn play(program: &str, prepare: impl FnOnce() -> Result<(), String>) {
    play_all(&[program], prepare);
}

/// Runs programs of the suite at the same time.
fn play_all(programs: &[&str], prepare: impl FnOnce() -> Result<(), String>) {
    let browser = node::find_node().and_then(|()| prepare()).and_then(|()| find_chromium());
    let browser = match browser {
        Ok(browser) => browser,
        Err(missing) => {
            assert!(!other_programs_are_required(), "the test in a browser cannot run: {missing}");
            eprintln!("SKIPPED the test in a browser: {missing}");
            return;
        }
    };
    let start = |program: &&str| {
        let mut command = Command::new("node");
        let (program, arguments) = program.split_once(' ').unwrap_or((*program, ""));
        command.arg(suite().join(program)).args(arguments.split_whitespace());
        command.args(["--server", env!("CARGO_BIN_EXE_platform"), "--browser", browser]);
        command.spawn().expect("node was found a moment ago")
    };
    let running: Vec<_> = programs.iter().map(start).collect();
    let ended: Vec<_> = running.into_iter().map(|mut program| program.wait().unwrap()).collect();
    let failed = ended.iter().find(|status| !status.success());
    assert!(failed.is_none(), "the test in a browser failed ({failed:?}); what was wrong stands above");
}

fn find_chromium() -> Result<&'static str, String> {
    let is_there = |name: &&str| node::output_of(name, &["--version"]).is_ok();
    CHROMIUM.into_iter().find(is_there).ok_or_else(|| "chromium is not installed".to_owned())
}
