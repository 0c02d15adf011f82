//! `platform admin tenant` and `platform admin user`, beside a running server and without one.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::Signal;

use super::*;
use crate::harness::authenticator::Person;

/// Runs a command that must succeed and returns what it printed.
fn succeed(directory: &std::path::Path, arguments: &[&str], input: &str) -> String {
    let output = run(Program::command(directory, arguments), input);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

async fn status(program: &Program, user: &str, password: &str) -> u16 {
    Caller::new(program.base(), Some((user, password))).get("/alarm/alarms").await.status
}

#[tokio::test]
async fn tenant_is_created_beside_a_running_server() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());

    let arguments =
        ["admin", "tenant", "create", "t7", "--domain", "plant7.example.com", "--company", "Acme"];
    let printed =
        succeed(directory.path(), &[&arguments[..], &["--admin-password", "first-secret"]].concat(), "");

    assert!(printed.contains("t7/admin") && !printed.contains("first-secret"), "{printed}");
    assert_eq!(status(&program, "t7/admin", "first-secret").await, 200);
    let bare = Caller::new(program.base(), Some(("admin", "first-secret")));
    let request = bare.request("GET", "/alarm/alarms").header("Host", "plant7.example.com");
    request.send().await.expect(200);
}

#[tokio::test]
async fn user_is_created_with_roles_and_a_generated_password() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());

    let printed = succeed(
        directory.path(),
        &["admin", "user", "create", "main", "mia", "--role", "ROLE_ALARM_READ"],
        "",
    );

    let (user, password) = printed.trim().split_once(' ').unwrap();
    assert_eq!((user, status(&program, user, password).await), ("main/mia", 200));
    let mia = Caller::new(program.base(), Some((user, password)));
    assert_eq!(mia.post("/alarm/alarms", &crate::harness::alarm_of("1", "hot")).await.status, 422);
    assert_eq!(mia.post("/inventory/managedObjects", &serde_json::json!({})).await.status, 403);
}

#[tokio::test]
async fn commands_that_change_something_are_audited_as_those_of_the_operator() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());
    let tenant = [
        "admin",
        "tenant",
        "create",
        "t7",
        "--domain",
        "plant7.example.com",
        "--company",
        "Acme",
        "--admin-password",
        "first-secret",
    ];
    succeed(directory.path(), &tenant, "");
    succeed(directory.path(), &["admin", "user", "create", "t7", "mia"], "first-secret\n");
    succeed(directory.path(), &["admin", "user", "passwd", "t7", "mia"], "second-secret\n");
    let client =
        succeed(directory.path(), &["admin", "token", "client", "create", "t7", "--user", "mia"], "");
    let (key, _) = client.split_once(' ').unwrap();
    succeed(directory.path(), &["admin", "token", "client", "delete", key], "");
    let account = "6f0a2d6e-5b1c-4f62-8a44-0a6f1e2d3c4b";
    succeed(directory.path(), &["admin", "limits", "token", "create", account], "");
    succeed(directory.path(), &["admin", "limits", "set", account, "--max-server-meta", "1"], "");
    succeed(directory.path(), &["admin", "limits", "token", "delete", account], "");
    let service = serde_json::json!({"name": "rules", "key": "rules-key", "type": "MICROSERVICE"});
    let owner = Caller::new(program.base(), Some(("t7/admin", "first-secret")));
    let service = owner.create("/application/applications", &service).await;
    let service = service["id"].as_str().unwrap();
    succeed(directory.path(), &["admin", "application", "route", service, "http://127.0.0.1:9"], "");

    let records = async |user: &str, password: &str| {
        let page = Caller::new(program.base(), Some((user, password)));
        let page = page.read("/audit/auditRecords?user=operator&pageSize=100").await;
        assert!(!page.to_string().contains("-secret"), "{page}");
        let text = |record: &serde_json::Value| record["activity"].as_str().unwrap().to_owned();
        page["auditRecords"].as_array().unwrap().iter().map(text).collect::<Vec<_>>()
    };
    let mut of_tenant = records("t7/admin", "first-secret").await;
    of_tenant.sort();
    let expected = [
        "Application routed",
        "Tenant created",
        "Token client created",
        "Token client deleted",
        "User created",
        "User created",
        "User update",
    ];
    assert_eq!(of_tenant, expected);
    let of_management = records("management/admin", "admin-secret").await;
    let of_account = ["Limits token created", "Limits of account updated", "Limits tokens deleted"];
    assert_eq!(of_management, [&["Tenant created"], &of_account[..]].concat());
}

#[tokio::test]
async fn new_password_from_a_pipe_counts_at_once_and_ends_sessions() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());
    let arguments = ["admin", "user", "create", "main", "mia", "--role", "ROLE_ALARM_READ"];
    succeed(directory.path(), &arguments, "first-secret\n");
    let session = Caller::new(program.base(), Some(("mia", "first-secret"))).listen("/alarms/*").await;

    let printed = succeed(directory.path(), &["admin", "user", "passwd", "main", "mia"], "second-secret\n");

    assert!(!printed.contains("second-secret"), "{printed}");
    assert_eq!(status(&program, "mia", "first-secret").await, 401);
    let mia = Caller::new(program.base(), Some(("mia", "second-secret")));
    assert_eq!(mia.get("/alarm/alarms").await.status, 200);
    assert!(!mia.resume(&session.client).is_known().await, "the session has ended");
}

#[tokio::test]
async fn operator_removes_a_lost_second_factor_with_the_password() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());
    let arguments = ["admin", "user", "create", "main", "mia", "--role", "ROLE_ALARM_READ"];
    succeed(directory.path(), &arguments, "first-secret\n");
    Person::of(Caller::new(program.base(), Some(("mia", "first-secret")))).await;
    let passwd = ["admin", "user", "passwd", "main", "mia", "--remove-second-factor"];
    succeed(directory.path(), &passwd[..5], "second-secret\n");
    assert_eq!(status(&program, "mia", "second-secret").await, 401, "a password alone removes none");

    for password in ["third-secret", "last-secret"] {
        succeed(directory.path(), &passwd, &format!("{password}\n"));
        assert_eq!(status(&program, "mia", password).await, 200);
    }
}

/// Gives a user of tenant `main` another password while the server is paused. Returns the command once it has printed
/// its result, and the rest of its output.
fn passwd_beside_a_paused_server(directory: &std::path::Path) -> (Child, BufReader<ChildStdout>) {
    let mut command = Program::command(directory, &["admin", "user", "passwd", "main", "mia"]);
    command.args(["--password", "second-secret"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    printed.read_line(&mut line).unwrap();
    assert_eq!(line, "main/mia\n");
    (child, printed)
}

#[tokio::test]
async fn change_is_in_force_when_the_command_returns_however_slow_the_server_is() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());
    let arguments = ["admin", "user", "create", "main", "mia", "--role", "ROLE_ALARM_READ"];
    succeed(directory.path(), &arguments, "first-secret\n");
    assert_eq!(status(&program, "mia", "first-secret").await, 200);

    program.signal(Signal::STOP);
    let (command, _printed) = passwd_beside_a_paused_server(directory.path());
    program.signal(Signal::CONT);
    let output = command.wait_with_output().unwrap();

    assert_eq!(status(&program, "mia", "first-secret").await, 401);
    assert_eq!(status(&program, "mia", "second-secret").await, 200);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[tokio::test]
async fn command_names_a_server_that_has_not_applied_its_change() {
    let directory = scratch_with_data();
    let program = Program::serve_with(Program::command(directory.path(), &["--server-name", "sleeper"]));
    succeed(directory.path(), &["admin", "user", "create", "main", "mia"], "first-secret\n");

    program.signal(Signal::STOP);
    let (command, _printed) = passwd_beside_a_paused_server(directory.path());
    let output = command.wait_with_output().unwrap();
    program.signal(Signal::CONT);

    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the change is stored: {said}");
    assert!(said.contains("sleeper (slot 0)") && said.contains("may not have applied"), "{said}");
}

#[tokio::test]
async fn commands_work_without_a_server() {
    let directory = scratch_with_data();
    drop(Program::serve(directory.path()));

    succeed(directory.path(), &["admin", "user", "create", "main", "mia", "--password", "first-secret"], "");

    let program = Program::serve(directory.path());
    assert_eq!(status(&program, "mia", "first-secret").await, 403, "known, without the role");
}

#[tokio::test]
async fn wrong_commands_are_refused_and_change_nothing() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());

    for arguments in [
        &["admin", "user", "create", "unknown", "mia", "--password", "first-secret"][..],
        &["admin", "user", "create", "main", "admin", "--password", "first-secret"],
        &["admin", "user", "create", "main", "mia", "--password", "first-secret", "--role", "ROLE_KING"],
        &["admin", "user", "create", "main", "mia", "--password", "first-secret", "--role", "ROLE_SYSTEM"],
        &["admin", "user", "create", "main", "mia", "--password", "short"],
        &["admin", "user", "create", "main", "m ia", "--password", "first-secret"],
        &["admin", "user", "passwd", "main", "nobody", "--password", "first-secret"],
        &[
            "admin",
            "tenant",
            "create",
            "main",
            "--domain",
            "x.example.com",
            "--company",
            "A",
            "--admin-password",
            "first-secret",
        ],
        &[
            "admin",
            "tenant",
            "create",
            "UPPER",
            "--domain",
            "x.example.com",
            "--company",
            "A",
            "--admin-password",
            "first-secret",
        ],
        &[
            "admin",
            "tenant",
            "create",
            "t8",
            "--domain",
            "main.localhost",
            "--company",
            "A",
            "--admin-password",
            "first-secret",
        ],
    ] {
        let output = run(Program::command(directory.path(), arguments), "");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && !said.is_empty(), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
    assert_eq!(status(&program, "mia", "first-secret").await, 401);
    assert_eq!(status(&program, "t8/admin", "first-secret").await, 401);
}
