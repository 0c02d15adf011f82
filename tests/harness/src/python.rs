//! Helpers for test suites that are Python programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exclusive::lock;

/// Creates an environment of Python with the packages of a `requirements.txt`, unless it has them already. Returns its
/// directory of programs.
pub fn install_packages(directory: &Path, requirements: &str) -> Result<PathBuf, String> {
    fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    let _alone = lock(directory)?;
    let (programs, installed) = (directory.join("bin"), directory.join("requirements.txt"));
    if fs::read_to_string(&installed).is_ok_and(|text| text == requirements) {
        return Ok(programs);
    }
    let environment =
        |options: &[&str]| run(Command::new("python3").args(["-m", "venv"]).args(options).arg(directory));
    environment(&["--clear", "--without-pip"])?;
    let wanted = directory.join("wanted.txt");
    fs::write(&wanted, requirements).map_err(|error| error.to_string())?;
    let mut of_machine = Command::new("python3");
    of_machine.args(["-m", "pip", "--python"]).arg(programs.join("python"));
    // A machine may have no pip, or one before 22.3, which installs only for itself. The environment then gets one of
    // its own, which takes three seconds of CPU time.
    if install(&mut of_machine, &wanted).is_err() {
        environment(&[])?;
        install(&mut Command::new(programs.join("pip")), &wanted)?;
    }
    fs::rename(wanted, installed).map_err(|error| error.to_string())?;
    Ok(programs)
}

/// Installs packages. Python compiles the modules that are imported, which are few of them.
fn install(pip: &mut Command, wanted: &Path) -> Result<(), String> {
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-compile", "--requirement"]);
    run(pip.arg(wanted))
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
