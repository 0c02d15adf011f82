//! Data on its way from one major version of PostgreSQL to another: the version that [`POSTGRES_PROGRAMS`] names, and
//! an older one in the usual place. Where there is only one, these tests print that and pass.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::backup::{refuse, succeed};
use super::private_postgres::stop;
use super::*;

const ADMIN: Option<(&str, &str)> = Some(("admin", "admin-secret"));

/// The programs of two versions of PostgreSQL.
struct Versions {
    old: PathBuf,
    new: PathBuf,
}

impl Versions {
    fn found() -> Option<Self> {
        let new = postgres_programs()?;
        let usual = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let programs =
            usual.map(|entry| entry.path().join("bin")).filter(|path| path.join("initdb").is_file());
        let old = programs.filter(|path| major(path) < major(&new)).max_by_key(|path| major(path));
        old.map(|old| Self { old, new })
    }
}

/// The major version of the programs in a directory.
fn major(programs: &Path) -> u32 {
    let mut command = Command::new(programs.join("postgres"));
    command.arg("--version");
    let said = run(command, "");
    let said = String::from_utf8(said.stdout).unwrap();
    said.split(|c: char| !c.is_ascii_digit()).find_map(|part| part.parse().ok()).unwrap()
}

/// Returns a command with the programs of one version.
fn with(programs: &Path, directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Program::command(directory, arguments);
    command.env(POSTGRES_PROGRAMS, programs).env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
    command
}

/// Starts a server with the programs of one version, creates a device, and stops the server.
async fn fill(programs: &Path, directory: &Path) -> String {
    let program = Program::serve_with(with(programs, directory, &[]));
    let device = Caller::new(program.base(), ADMIN).create_device("pump").await;
    stop(program).await;
    device
}

/// Checks that a server with these programs serves the device, and stores something.
async fn assert_serves(programs: &Path, directory: &Path, device: &str) {
    let program = Program::serve_with(with(programs, directory, &[]));
    let admin = Caller::new(program.base(), ADMIN);
    assert_eq!(admin.read(&format!("{OBJECTS}/{device}")).await["name"], "pump");
    admin.raise_alarm(device, "hot").await;
    stop(program).await;
}

/// Returns the commands of the guide that carry the data over, with these programs and this data directory.
fn commands_of_the_guide(versions: &Versions, data_dir: &Path) -> String {
    let guide = fs::read_to_string(readme::in_project("docs/guide/operation.md")).unwrap();
    let (_, rest) = guide.split_once("\nOLD=").expect("the guide has these commands");
    let (_, commands) = rest.split_once('\n').unwrap();
    let (commands, _) = commands.split_once("```").unwrap();
    let Versions { old, new } = versions;
    format!("OLD={} NEW={} DATA={}\n{commands}", old.display(), new.display(), data_dir.display())
}

#[tokio::test]
async fn data_is_carried_over_by_the_commands_of_the_guide() {
    let Some(versions) = Versions::found() else {
        eprintln!("SKIPPED: there are not two versions of PostgreSQL");
        return;
    };
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: the commands of the guide are run as root");
        return;
    }
    let directory = scratch();
    let device = fill(&versions.old, directory.path()).await;
    let data_dir = directory.path().join("data");
    let owner = fs::metadata(data_dir.join("postgres")).unwrap().uid();
    refuse(with(&versions.new, directory.path(), &[]), "carry the data over with pg_upgrade");

    let mut shell = Command::new("bash");
    shell.args(["-e", "-u", "-c", &commands_of_the_guide(&versions, &data_dir)]);
    succeed(shell);

    assert_serves(&versions.new, directory.path(), &device).await;
    assert_eq!(fs::metadata(data_dir.join("postgres")).unwrap().uid(), owner);
    let version = fs::read_to_string(data_dir.join("postgres/PG_VERSION")).unwrap();
    assert_eq!(version.trim(), major(&versions.new).to_string());
}

#[tokio::test]
async fn backup_is_restored_into_a_newer_version_and_an_older_one_is_told_why_not() {
    let Some(Versions { old, new }) = Versions::found() else {
        eprintln!("SKIPPED: there are not two versions of PostgreSQL");
        return;
    };
    let (before, after, back) = (scratch(), scratch(), scratch());
    let device = fill(&old, before.path()).await;
    let (first, second) = (before.path().join("old.zip"), after.path().join("new.zip"));
    let (first, second) = (first.to_str().unwrap(), second.to_str().unwrap());

    succeed(with(&old, before.path(), &["backup", first]));
    succeed(with(&new, after.path(), &["restore", first]));

    assert_serves(&new, after.path(), &device).await;
    succeed(with(&new, after.path(), &["backup", second]));
    let expected = format!("restore it into PostgreSQL {} or newer", major(&new));
    refuse(with(&old, back.path(), &["restore", second]), &expected);
}
