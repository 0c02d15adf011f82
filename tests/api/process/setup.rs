//! `./setup` installs what the server and its tests need. Here it finds no package manager, so it installs nothing.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::*;

/// The programs whose absence stops the build of the server, as the script calls them.
const REQUIRED: [&str; 2] = ["a C compiler", "make"];

/// Runs the script with these programs of this machine alone; PostgreSQL is also found in its usual places.
fn setup(programs: &[&str], arguments: &[&str]) -> Output {
    let directory = scratch();
    for name in [&["bash"], programs].concat() {
        let path = found(name).unwrap_or_else(|| panic!("{name} is not installed"));
        symlink(path, directory.path().join(name)).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("setup");
    let mut command = Command::new(directory.path().join("bash"));
    command.arg(script).args(arguments).env_clear().env("PATH", directory.path());
    run(command, "")
}

fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn without_a_package_manager_everything_that_is_missing_is_listed() {
    let output = setup(&[], &["--test"]);

    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for name in
        REQUIRED.iter().chain(&["Node 18 or newer with npm", "Chromium", "promtool", "package manager"])
    {
        assert!(said.contains(name), "{name} is missing in {said}");
    }
}

#[test]
fn optional_programs_do_not_stop_the_build() {
    let output = setup(&["cc", "make"], &[]);

    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("optional") && said.contains("Node 18") && said.contains("without its web console"),
        "{said}"
    );
    assert!(!REQUIRED.iter().any(|name| said.contains(name)), "{said}");
}

#[test]
fn nothing_is_printed_where_nothing_is_missing() {
    if found("node").is_none() || found("npm").is_none() || found("curl").is_none() {
        eprintln!("SKIPPED: node, npm or curl is not installed");
        return;
    }
    let output = setup(&["cc", "make", "curl", "node", "npm"], &[]);

    assert!(
        output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
        "{}",
        said(&output)
    );
}

#[test]
fn unknown_argument_is_rejected() {
    for arguments in [&["--tests"][..], &["--test", "--ci"]] {
        let output = setup(&[], arguments);
        assert!(output.status.code() == Some(2) && said(&output).starts_with("usage: "), "{arguments:?}");
    }
}
