//! Unmodified third-party Bayeux clients against the real server; tests/clients/README.md tells more.
//!
//! The suite itself is a program for Node. Where Node or npm is missing this test says so and passes, unless
//! `PLATFORM_CLIENT_SUITE=required` is set, as in CI.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Oldest major version of Node that can run the suite.
const OLDEST_NODE: u32 = 18;

#[test]
fn unmodified_clients_lose_nothing_and_are_told_nothing_twice() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    if let Err(missing) = find_node().and_then(|()| install_packages(&suite)) {
        assert!(!is_required(), "the client suite cannot run: {missing}");
        eprintln!("SKIPPED the suite of third-party clients: {missing}");
        return;
    }
    // It prints to where this test prints, without being captured: what it tells takes minutes to come.
    let status = Command::new("node")
        .arg(suite.join("run.mjs"))
        .args(["--server", env!("CARGO_BIN_EXE_platform")])
        .status()
        .expect("node was found a moment ago");
    assert!(status.success(), "the client suite failed ({status}); its table stands above");
}

fn is_required() -> bool {
    std::env::var("PLATFORM_CLIENT_SUITE").is_ok_and(|value| value == "required")
}

/// Whether there is a Node that is new enough, and npm.
fn find_node() -> Result<(), String> {
    let version = output_of("node", &["--version"])?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
    match major {
        Some(OLDEST_NODE..) => output_of("npm", &["--version"]).map(drop),
        _ => Err(format!("it needs Node {OLDEST_NODE} or newer, and this is {}", version.trim())),
    }
}

fn output_of(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    match output {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => Err(format!("{program} ended with {}", output.status)),
        Err(error) => Err(format!("{program} is not installed ({error})")),
    }
}

/// Installs what the lock file names, unless that was done since it changed.
fn install_packages(suite: &Path) -> Result<(), String> {
    let lock = modified(suite.join("package-lock.json"));
    // npm writes this file at the end of an installation.
    let installed = modified(suite.join("node_modules/.package-lock.json"));
    if installed.is_some_and(|installed| Some(installed) >= lock) {
        return Ok(());
    }
    let status = Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(suite).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("npm could not install its packages ({status})")),
        Err(error) => Err(format!("npm is not installed ({error})")),
    }
}

fn modified(file: PathBuf) -> Option<SystemTime> {
    file.metadata().and_then(|metadata| metadata.modified()).ok()
}
