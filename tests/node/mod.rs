//! Helpers for test suites that are Node programs.

use std::process::Command;

/// Oldest major version of Node that can run them.
const OLDEST_NODE: u32 = 18;

/// Whether there is a Node that is new enough.
pub(crate) fn find_node() -> Result<(), String> {
    let version = output_of("node", &["--version"])?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
    match major {
        Some(OLDEST_NODE..) => Ok(()),
        _ => Err(format!("it needs Node {OLDEST_NODE} or newer, and this is {}", version.trim())),
    }
}

/// Returns the output of a program.
pub(crate) fn output_of(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    match output {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => Err(format!("{program} ended with {}", output.status)),
        Err(error) => Err(format!("{program} is not installed ({error})")),
    }
}
