//! The default data directory, and data that another user owns.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use rustix::process::geteuid;

use super::*;

/// The default data directory of a start as root in a directory that the account of PostgreSQL cannot enter.
const OF_ROOT: &str = "/var/lib/platform";
/// Held by tests that look at this directory, because one of them makes a start create and remove it.
static ALONE: Mutex<()> = Mutex::new(());
/// The user and the group `nobody` of most systems; nothing belongs to them.
const NOBODY: u32 = 65_534;

/// Returns a command in a directory that only its owner can enter, without a chosen data directory.
fn command(directory: &Path, arguments: &[&str]) -> Command {
    fs::set_permissions(directory, Permissions::from_mode(0o700)).unwrap();
    let mut command = Program::command(directory, arguments);
    command.env_remove("PLATFORM_DATA_DIR");
    command
}

/// Runs a command and returns what it printed.
fn said(command: Command) -> String {
    let output = run(command, "");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Creates a directory with programs of PostgreSQL that everybody can run, but that cannot create a database.
fn broken_postgres() -> tempfile::TempDir {
    let directory = scratch();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    let text = directory.path().join("text");
    fs::write(&text, "#!/bin/sh\n[ \"$1\" = --version ] && exec echo 'postgres (PostgreSQL) 15.4'\nexit 1\n")
        .unwrap();
    for program in ["initdb", "postgres"] {
        place_program(&text, &directory.path().join(program));
    }
    directory
}

/// Returns whether this machine has data in the default directory of root, which a test must not touch.
fn has_data_of_root() -> bool {
    let found = [OF_ROOT.to_owned(), format!("{OF_ROOT}-demo")].iter().any(|path| Path::new(path).exists());
    if found {
        eprintln!("SKIPPED: {OF_ROOT} or {OF_ROOT}-demo exists");
    }
    found
}

#[test]
fn every_command_finds_the_same_default_directory() {
    let _alone = ALONE.lock();
    if has_data_of_root() {
        return;
    }
    for (arguments, suffix, default) in [
        (&["status"][..], "", "platform-data"),
        (&["doctor"], "", "platform-data"),
        (&["admin", "user", "passwd", "main", "admin", "--password", "first-secret"], "", "platform-data"),
        (&["server", "list"], "", "platform-data"),
        (&["backup", "backup.zip"], "", "platform-data"),
        (&["demo", "--remove"], "-demo", "platform-demo"),
    ] {
        let directory = scratch();
        let expected = if geteuid().is_root() { format!("{OF_ROOT}{suffix}") } else { default.into() };

        let said = said(command(directory.path(), arguments));

        let ends = [';', ' ', '\n', '/'].map(|end| format!("{expected}{end}"));
        assert!(ends.iter().any(|expected| said.contains(expected)), "{arguments:?}: {said}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{arguments:?} creates nothing");
        assert!(!Path::new(&format!("{OF_ROOT}{suffix}")).exists(), "{arguments:?} creates nothing");
    }
}

/// Starts a server and a demo that fail. Returns what each printed and the data directory that root gets.
fn failed_starts(bin_dir: &str) -> [(String, String); 2] {
    [(&["--postgres-bin-dir", bin_dir][..], ""), (&["demo", "--postgres-bin-dir", bin_dir], "-demo")].map(
        |(arguments, suffix)| {
            let (directory, of_root) = (scratch(), format!("{OF_ROOT}{suffix}"));
            let said = said(command(directory.path(), arguments));
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{said}");
            assert!(!Path::new(&of_root).exists(), "{said}");
            (said, of_root)
        },
    )
}

#[test]
fn start_that_fails_leaves_nothing_and_names_the_data_directory_of_root() {
    let _alone = ALONE.lock();
    if has_data_of_root() {
        return;
    }
    for (said, _) in failed_starts("/nowhere") {
        assert!(said.contains("error: --postgres-bin-dir"), "{said}");
    }
    let broken = broken_postgres();
    for (said, of_root) in failed_starts(broken.path().to_str().unwrap()) {
        assert!(said.contains("error: ") && said.contains("initdb"), "{said}");
        let told = format!("data in {of_root}, because the account ");
        assert_eq!(said.contains(&told), geteuid().is_root(), "{said}");
    }
}

#[test]
fn directory_that_the_account_can_enter_keeps_its_data() {
    let directory = scratch();
    let mut status = command(directory.path(), &["status"]);
    fs::set_permissions(directory.path(), Permissions::from_mode(0o711)).unwrap();
    status.env_remove("PLATFORM_LISTEN");

    let said = said(status);

    assert!(said.contains("none yet in ./platform-data;"), "{said}");
}

#[test]
fn data_of_another_user_is_reported_as_unreadable() {
    let directory = scratch();
    let cluster = directory.path().join("data/postgres");
    fs::create_dir_all(&cluster).unwrap();
    fs::write(cluster.join("PG_VERSION"), "15\n").unwrap();
    fs::write(directory.path().join("data/secret.key"), "0".repeat(64)).unwrap();
    let program = directory.path().join("platform");
    place_program(Program::command(directory.path(), &[]).get_program().as_ref(), &program);
    // Root may read everything, so its command runs as another user. The owner loses the right instead.
    let mode = if geteuid().is_root() { 0o700 } else { 0o000 };
    fs::set_permissions(directory.path().join("data"), Permissions::from_mode(mode)).unwrap();

    for arguments in [
        &["status"][..],
        &["doctor"],
        &["admin", "user", "passwd", "main", "admin", "--password", "first-secret"],
        &["server", "list"],
    ] {
        let template = Program::command(directory.path(), arguments);
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(directory.path());
        for (name, value) in template.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }

        let said = said(command);

        assert!(said.contains("cannot be read by this user"), "{arguments:?}: {said}");
        assert!(
            !said.contains("none yet") && !said.contains("start the server once"),
            "{arguments:?}: {said}"
        );
        assert!(!said.contains("put the file of the last backup back"), "{arguments:?}: {said}");
    }
    fs::set_permissions(directory.path().join("data"), Permissions::from_mode(0o700)).unwrap();
}
