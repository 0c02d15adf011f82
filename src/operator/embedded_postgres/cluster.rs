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
    data_dir::{DataDir, hand_over, sync_directory},
};

/// The number of output lines of a failed program that are shown.
const SHOWN_LINES: usize = 12;
/// The superuser of a new cluster, as which the server never connects.
const SUPERUSER: &str = "postgres";
/// The statement that makes `platform` an ordinary role. It may be repeated.
const ROLES: &str = include_str!("roles.sql");
/// The file in the cluster that says that [`ROLES`] has been executed.
const ROLES_MARK: &str = "platform.roles";

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
    let single = SingleUser { cluster: &unfinished, binaries, account, durability };
    single.execute("postgres", &["CREATE DATABASE platform"])?;
    single.make_roles()?;
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
    initdb.arg("--pgdata").arg(directory).args(["--username", SUPERUSER]);
    initdb.args(["--auth-local=trust", "--auth-host=reject", "--data-checksums"]);
    // The C locale is fast, and its index order does not change with the C library of the system.
    initdb.args(["--encoding=UTF8", "--locale=C"]);
    if durability == Durability::Disposable {
        initdb.arg("--no-sync");
    }
    succeeded(&program, initdb.output().map_err(StartError::io("run", &program))?)
}

/// Makes `platform` an ordinary role in a cluster that an earlier version created. No PostgreSQL runs on it.
///
/// # Errors
/// `Program` when the statement fails; the cluster is unchanged then.
pub(super) fn upgrade_roles(
    cluster: &Path,
    binaries: &Binaries,
    account: Option<&Account>,
    durability: Durability,
) -> Result<(), StartError> {
    if cluster.join(ROLES_MARK).exists() {
        return Ok(());
    }
    tracing::info!("the role of the server in its private postgresql becomes an ordinary one");
    SingleUser { cluster, binaries, account, durability }.make_roles()
}

/// A cluster whose statements are executed by PostgreSQL in single-user mode, before any client can connect.
struct SingleUser<'a> {
    cluster: &'a Path,
    binaries: &'a Binaries,
    account: Option<&'a Account>,
    durability: Durability,
}

impl SingleUser<'_> {
    /// Executes [`ROLES`], and leaves its mark.
    fn make_roles(&self) -> Result<(), StartError> {
        match self.durability {
            Durability::Durable => self.execute("platform", &[ROLES])?,
            // Tests create databases and roles of their own.
            Durability::Disposable => {
                self.execute("platform", &[ROLES, "ALTER ROLE platform SUPERUSER"])?;
            }
        }
        let mark = self.cluster.join(ROLES_MARK);
        fs::write(&mark, "platform is an ordinary role\n").map_err(StartError::io("write", &mark))?;
        hand_over(&mark, self.account)?;
        sync_directory(self.cluster).map_err(StartError::io("write", self.cluster))
    }

    fn execute(&self, database: &str, statements: &[&str]) -> Result<(), StartError> {
        let program = self.binaries.program("postgres");
        let mut single = command(&program, self.account);
        single.arg("--single").arg("-D").arg(self.cluster).args(["-c", "exit_on_error=true"]);
        if self.durability == Durability::Disposable {
            single.args(["-c", "fsync=off"]);
        }
        single.arg(database);
        let input: String = statements.iter().map(|statement| one_line(statement)).collect();
        let output = run_to_completion(single, input.as_bytes());
        succeeded(&program, output.map_err(StartError::io("run", &program))?)
    }
}

/// Returns a statement as a single line without comments, because a line ends a statement in single-user mode.
fn one_line(statement: &str) -> String {
    let lines = statement.lines().map(str::trim).filter(|line| !line.starts_with("--"));
    lines.collect::<Vec<_>>().join(" ") + "\n"
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
    fn statement_is_one_line_without_comments() {
        let line = one_line(ROLES);
        assert!(line.starts_with("DO $$ DECLARE ") && line.ends_with("END $$;\n"), "{line}");
        assert!(line.matches('\n').count() == 1 && !line.contains("--"), "{line}");
    }

    #[test]
    fn end_of_a_log_is_shown() {
        let log: String = (1..=30).map(|line| format!("{line}\n")).collect();

        assert_eq!(last_lines(&log).lines().next(), Some("19"));
    }
}
