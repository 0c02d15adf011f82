//! The first start: creates the data directory and the database in it, either completely or not at all.

use std::{
    fs,
    io::{ErrorKind, Write},
    path::Path,
    process::{Command, Output, Stdio},
};

use super::{
    Durability, StartError,
    account::{Account, command},
    binaries::Binaries,
    data_dir::{DataDir, sync_directory},
};

/// The number of output lines of a failed program that are shown.
const SHOWN_LINES: usize = 12;

/// Returns the major version of the PostgreSQL that wrote the data, or `None` before the first start.
///
/// # Errors
/// `NotData` when something else is in its place.
pub(super) fn version_of_data(cluster: &Path) -> Result<Option<u32>, StartError> {
    let path = cluster.join("PG_VERSION");
    match fs::read_to_string(&path) {
        Ok(text) => match text.trim().parse() {
            Ok(major) => Ok(Some(major)),
            Err(_) => Err(StartError::NotData { directory: cluster.into() }),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let occupied = fs::read_dir(cluster).is_ok_and(|mut entries| entries.next().is_some());
            if occupied { Err(StartError::NotData { directory: cluster.into() }) } else { Ok(None) }
        }
        Err(error) => Err(StartError::io("read", path)(error)),
    }
}

/// Creates the data directory with the database `platform` under a temporary name and then renames it. A first start
/// that is interrupted at any point is simply repeated.
pub(super) fn create(
    data_dir: &DataDir,
    binaries: &Binaries,
    account: Option<&Account>,
    durability: Durability,
) -> Result<(), StartError> {
    data_dir.remove_unfinished_clusters()?;
    let (unfinished, cluster) = (data_dir.create_unfinished_cluster(account)?, data_dir.cluster());
    initialize(&unfinished, binaries, account, durability)?;
    create_database(&unfinished, binaries, account, durability)?;
    // The rename also replaces an empty directory.
    fs::rename(&unfinished, &cluster).map_err(StartError::io("create", &cluster))?;
    sync_directory(data_dir.path()).map_err(StartError::io("write", data_dir.path()))
}

fn initialize(
    directory: &Path,
    binaries: &Binaries,
    account: Option<&Account>,
    durability: Durability,
) -> Result<(), StartError> {
    let program = binaries.program("initdb");
    let mut initdb = command(&program, account);
    initdb.arg("--pgdata").arg(directory).args(["--username", "platform"]);
    initdb.args(["--auth-local=trust", "--auth-host=reject", "--data-checksums"]);
    // The C locale is fast, and its index order does not change with the C library of the system.
    initdb.args(["--encoding=UTF8", "--locale=C"]);
    if durability == Durability::Disposable {
        initdb.arg("--no-sync");
    }
    succeeded(&program, initdb.output().map_err(StartError::io("run", &program))?)
}

/// Creates the database in single-user mode, so that it exists before any client can connect.
fn create_database(
    directory: &Path,
    binaries: &Binaries,
    account: Option<&Account>,
    durability: Durability,
) -> Result<(), StartError> {
    let program = binaries.program("postgres");
    let mut single = command(&program, account);
    single.arg("--single").arg("-D").arg(directory).args(["-c", "exit_on_error=true"]);
    if durability == Durability::Disposable {
        single.args(["-c", "fsync=off"]);
    }
    single.arg("postgres");
    let output =
        run_to_completion(single, b"CREATE DATABASE platform;\n").map_err(StartError::io("run", &program))?;
    succeeded(&program, output)
}

/// Runs a command to completion with `input` as its standard input.
fn run_to_completion(mut command: Command, input: &[u8]) -> std::io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ended early explains the reason in its output, so a broken pipe is ignored here.
        stdin.write_all(input).ok();
    }
    child.wait_with_output()
}

fn succeeded(program: &Path, output: Output) -> Result<(), StartError> {
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let output_tail = last_lines(&String::from_utf8_lossy(&said));
    Err(StartError::Program { program: program.into(), status: output.status, output: output_tail })
}

/// Returns the last lines of a log, which contain the reason of a failure.
pub(super) fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_files_in_the_place_of_the_data_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(version_of_data(directory.path()).unwrap(), None);
        assert_eq!(version_of_data(&directory.path().join("absent")).unwrap(), None);

        fs::write(directory.path().join("letter.txt"), "hello").unwrap();
        assert!(matches!(version_of_data(directory.path()), Err(StartError::NotData { .. })));

        fs::write(directory.path().join("PG_VERSION"), "15\n").unwrap();
        assert_eq!(version_of_data(directory.path()).unwrap(), Some(15));
    }

    #[test]
    fn end_of_a_log_is_shown() {
        let log: String = (1..=30).map(|line| format!("{line}\n")).collect();

        assert_eq!(last_lines(&log).lines().next(), Some("19"));
    }
}
