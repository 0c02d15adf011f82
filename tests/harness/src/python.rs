//! Helpers for test suites that are Python programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Creates an environment of Python with the packages of a `requirements.txt`, unless it has them already. Returns its
/// directory of programs.
pub fn install_packages(directory: &Path, requirements: &str) -> Result<PathBuf, String> {
    let (programs, installed) = (directory.join("bin"), directory.join("requirements.txt"));
    if fs::read_to_string(&installed).is_ok_and(|text| text == requirements) {
        return Ok(programs);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(directory))?;
    let wanted = directory.join("wanted.txt");
    fs::write(&wanted, requirements).map_err(|error| error.to_string())?;
    let mut pip = Command::new(programs.join("pip"));
    run(pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]).arg(&wanted))?;
    fs::rename(wanted, installed).map_err(|error| error.to_string())?;
    Ok(programs)
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_owned();
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            Err(format!("{name:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
        }
        Err(error) => Err(format!("{name:?} is not installed ({error})")),
    }
}
