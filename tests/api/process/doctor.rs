//! `platform status` and `platform doctor`, beside a running server and without one.

use std::process::Output;

use super::*;

/// Runs a command with the data and the address of a server. Returns its findings and its output.
fn findings(
    program: &Program,
    directory: &std::path::Path,
    command: &str,
    more: &[&str],
) -> (Vec<Value>, Output) {
    let address = program.base().strip_prefix("http://").unwrap();
    let arguments = [&[command, "--output", "json", "--listen", address], more].concat();
    let output = run(Program::command(directory, &arguments), "");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    (serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}")), output)
}

fn state<'f>(findings: &'f [Value], subject: &str) -> &'f str {
    let finding = findings.iter().find(|finding| finding["subject"] == subject);
    finding.unwrap_or_else(|| panic!("{subject} in {findings:#?}"))["state"].as_str().unwrap()
}

#[tokio::test]
async fn healthy_server_has_no_fault() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());

    let (found, output) = findings(&program, directory.path(), "doctor", &[]);

    assert!(output.status.success(), "{found:#?}");
    for subject in [
        "address",
        "jobs",
        "secret key",
        "disk",
        "database",
        "durability",
        "clock",
        "connections",
        "schema",
        "access",
        "notifications",
    ] {
        assert_eq!(state(&found, subject), "ok", "{found:#?}");
    }
    let (found, output) = findings(&program, directory.path(), "status", &[]);
    assert!(output.status.success());
    assert!(found[0]["told"].as_str().unwrap().contains(program.base()), "{found:#?}");
    assert_eq!(found.iter().filter(|finding| finding["subject"] == "servers").count(), 1, "{found:#?}");
}

#[tokio::test]
async fn stopped_server_is_not_a_fault_and_is_not_started() {
    let directory = scratch_with_data();
    let mut program = Program::serve(directory.path());
    program.signal(rustix::process::Signal::TERM);
    program.ended_within(std::time::Duration::from_secs(25)).await;

    let (found, output) = findings(&program, directory.path(), "doctor", &[]);

    assert!(output.status.success(), "{found:#?}");
    assert_eq!((state(&found, "address"), state(&found, "database")), ("ok", "unknown"));
    assert!(!directory.path().join("data/postgres/postmaster.pid").exists());
}

#[tokio::test]
async fn database_that_loses_writes_and_a_foreign_key_are_faults() {
    let cluster = Cluster::start("fsync = off\n", "host all all 127.0.0.1/32 trust\n");
    let directory = scratch_with_data();
    let mut command = Program::command(directory.path(), &[]);
    command.env("PLATFORM_DATABASE_URL", cluster.url());
    let program = Program::serve_with(command);
    let url = cluster.url();

    let (found, output) = findings(&program, directory.path(), "doctor", &["--database-url", &url]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!((state(&found, "durability"), state(&found, "schema")), ("fault", "ok"), "{found:#?}");

    let elsewhere = scratch();
    let (found, _) = findings(&program, elsewhere.path(), "doctor", &["--database-url", &url]);
    assert!(
        found.iter().any(|finding| finding["subject"] == "secret key" && finding["state"] == "fault"),
        "{found:#?}"
    );
}

#[tokio::test]
async fn database_that_cannot_be_reached_is_a_fault_with_its_cause() {
    let directory = scratch_with_data();
    let url = format!("postgres://platform@127.0.0.1:{}/platform", free_port());
    let arguments = ["doctor", "--listen", "127.0.0.1:0", "--database-url", &url];

    let output = run(Program::command(directory.path(), &arguments), "");

    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("Connection refused") && told.contains("→ start PostgreSQL"), "{told}");
    assert!(told.trim_end().ends_with("1 fault, 0 warnings"), "{told}");
}

#[tokio::test]
async fn settings_of_a_file_are_checked_and_used() {
    let directory = scratch_with_data();
    let file = directory.path().join("platform.toml");
    let port = free_port();
    std::fs::write(&file, format!("listen = \"127.0.0.1:{port}\"\nbody-bytes = \"1MiB\"\n")).unwrap();
    let config = ["--config", file.to_str().unwrap()];
    let command = |arguments: &[&str]| {
        let mut command = Program::command(directory.path(), &[arguments, &config].concat());
        command.env_remove("PLATFORM_LISTEN");
        command
    };

    let checked = run(command(&["config", "check"]), "");
    assert!(String::from_utf8_lossy(&checked.stdout).contains("2 settings, all valid"), "{checked:?}");
    let program = Program::serve_with(command(&[]));
    assert_eq!(program.base(), format!("http://127.0.0.1:{port}"));
    std::fs::write(&file, "body-bytes = \"1 pound\"\n").unwrap();
    let refused = run(command(&["config", "check"]), "");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("body-bytes in "), "{said}");
}
