//! Helpers for test suites that are Node programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::exclusive::lock;

/// The oldest major version of Node that can run the suites.
const OLDEST_NODE: u32 = 18;

/// Checks that Node is installed and new enough.
pub fn find_node() -> Result<(), String> {
    let version = output_of("node", &["--version"])?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
    match major {
        Some(OLDEST_NODE..) => Ok(()),
        _ => Err(format!("it needs Node {OLDEST_NODE} or newer, and this is {}", version.trim())),
    }
}

/// Returns the output of a program.
pub fn output_of(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    match output {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => Err(format!("{program} ended with {}", output.status)),
        Err(error) => Err(format!("{program} is not installed ({error})")),
    }
}

/// Installs the packages of a suite's lock file, unless they are installed already.
pub fn install_packages(suite: &Path) -> Result<(), String> {
    let list = suite.join("package-lock.json");
    let _alone = lock(&list)?;
    let listed = modified(list);
    // npm writes this file at the end of an installation.
    let installed = modified(suite.join("node_modules/.package-lock.json"));
    if installed.is_some_and(|installed| Some(installed) >= listed) {
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
