//! The commands that speak to a server over REST, with another program than the server's.

mod batches;
mod consumers;
mod inputs;
mod many;
mod nouns;
mod questions;
mod register;
mod requests;
mod second_factors;
mod terminal;
mod traces;
mod transport;
mod uploads;
mod words;
mod workers;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};

use super::*;

pub(super) use questions::typed;

/// The administrator of the tenant that a test server has.
const USER: &str = "main/admin";

/// Runs a command with a configuration directory of its own.
fn client(directory: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = Program::command(directory, arguments);
    command.env("XDG_CONFIG_HOME", directory);
    run(command, input)
}

/// Runs a command that must succeed and returns what it printed.
fn printed(directory: &Path, arguments: &[&str], input: &str) -> String {
    let output = client(directory, arguments, input);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must fail; returns its exit code and its message.
fn refused(directory: &Path, arguments: &[&str], input: &str) -> (i32, String) {
    let output = client(directory, arguments, input);
    assert!(!output.status.success(), "{arguments:?}");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// A tenant of its own, and a directory with the log-in of its administrator.
async fn logged_in() -> (TestServer, tempfile::TempDir) {
    logged_in_at(TestServer::shared().await)
}

/// A server of its own, and a directory with the log-in of its administrator.
async fn logged_in_alone() -> (TestServer, tempfile::TempDir) {
    logged_in_at(TestServer::start().await)
}

fn logged_in_at(server: TestServer) -> (TestServer, tempfile::TempDir) {
    let directory = scratch_with_data();
    let user = format!("{}/admin", server.tenant());
    printed(directory.path(), &["login", server.base(), "--user", &user], ADMIN_PASSWORD);
    (server, directory)
}

#[tokio::test]
async fn log_in_is_checked_and_stored_for_its_user_alone() {
    let server = TestServer::start().await;
    let directory = scratch_with_data();
    let file = directory.path().join("platform/profiles.json");

    let login = ["login", server.base(), "--user", USER];
    let (code, message) = refused(directory.path(), &login, "another password\n");
    assert!(code == 4 && message.contains("401") && !message.contains("platform login"), "{code} {message}");
    assert!(!file.exists());
    let (code, message) = refused(directory.path(), &["alarm", "list"], "");
    assert!(code == 4 && message.contains("platform login"), "{code} {message}");

    printed(directory.path(), &login, ADMIN_PASSWORD);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    printed(directory.path(), &[&login[..], &["--profile", "second"]].concat(), ADMIN_PASSWORD);
    let listed = printed(directory.path(), &["profile", "list"], "");
    assert!(listed.contains("  default ") && listed.contains("* second "), "{listed}");
    printed(directory.path(), &["profile", "use", "default"], "");
    assert!(printed(directory.path(), &["profile", "list"], "").contains("* default "));
    let listed: Value =
        serde_json::from_str(&printed(directory.path(), &["profile", "list", "-o", "json"], "")).unwrap();
    assert_eq!((&listed[0]["name"], &listed[0]["current"]), (&json!("default"), &json!(true)));
    assert!(!listed.to_string().contains(ADMIN_PASSWORD), "{listed}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = client(directory.path(), &["profile", "list"], "");
    assert!(String::from_utf8(output.stderr).unwrap().contains("chmod 600"));
    printed(directory.path(), &["logout"], "");
    let (code, message) = refused(directory.path(), &["alarm", "list"], "");
    assert!(code == 4 && message.contains("known are: second"), "{code} {message}");
    assert!(!printed(directory.path(), &["profile", "list"], "").contains("default"));
    assert_eq!(refused(directory.path(), &["alarm", "list", "--profile", "third"], "").0, 2);
}

#[tokio::test]
async fn variables_take_the_place_of_a_profile() {
    let server = TestServer::start().await;
    let directory = scratch_with_data();

    let mut command = Program::command(directory.path(), &["api", "GET", "/user/currentUser"]);
    command.env("XDG_CONFIG_HOME", directory.path()).env("PLATFORM_URL", server.base());
    command.env("PLATFORM_USER", USER).env("PLATFORM_PASSWORD", ADMIN_PASSWORD);
    let output = run(command, "");

    let current: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(current["userName"], "admin");
}

#[tokio::test]
async fn object_is_created_listed_changed_and_deleted() {
    let (_server, directory) = logged_in().await;
    let here = directory.path();

    let id = printed(
        here,
        &["device", "create", "--name", "pump", "--set", "plat_Hardware.serial=007", "-o", "id"],
        "",
    );
    let id = id.trim();
    let device: Value = serde_json::from_str(&printed(here, &["device", "get", id], "")).unwrap();
    assert_eq!((&device["name"], &device["plat_Hardware"]), (&json!("pump"), &json!({"serial": "007"})));
    assert_eq!(device["plat_IsDevice"], json!({}));

    printed(here, &["device", "update", id, "--name", "motor"], "");
    let listed = printed(here, &["device", "list", "-o", "csv", "--columns", "id,name"], "");
    assert_eq!(listed, format!("id,name\n{id},motor\n"));
    assert_eq!(printed(here, &["device", "delete", id], ""), "");
    let (code, message) = refused(here, &["device", "get", id], "");
    assert!(code == 3 && message.starts_with("error: 404"), "{code} {message}");
}

#[tokio::test]
async fn every_page_of_a_list_is_printed() {
    let (server, directory) = logged_in().await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let measurement = |n: u32| {
        json!({"type": "count", "time": "2024-01-01T00:00:00Z", "source": {"id": device},
        "plat_Count": {"n": {"value": n}}})
    };
    let all: Vec<_> = (0..1201).map(measurement).collect();
    admin.post("/measurement/measurements", &json!({"measurements": all})).await.expect(201);

    let list = ["measurement", "list", "--device", &device, "-o"];
    let listed =
        printed(directory.path(), &[&list[..], &["csv", "--columns", "plat_Count.n.value"]].concat(), "");
    let mut values: Vec<u32> = listed.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    values.sort_unstable();
    assert_eq!(values, (0..1201).collect::<Vec<_>>());
    let limited = printed(directory.path(), &[&list[..], &["json", "--limit", "700"]].concat(), "");
    assert_eq!(serde_json::from_str::<Vec<Value>>(&limited).unwrap().len(), 700);
}

#[tokio::test]
async fn ids_and_objects_go_from_one_command_to_the_next() {
    let (_server, directory) = logged_in().await;
    let here = directory.path();
    for name in ["a", "b", "c"] {
        printed(here, &["device", "create", "--name", name, "--agent"], "");
    }

    let devices = printed(here, &["device", "list", "-o", "jsonl"], "");
    let created = printed(here, &["operation", "create", "--restart", "-o", "id"], &devices);
    assert_eq!(created.lines().count(), 3);
    let operations: Vec<Value> =
        serde_json::from_str(&printed(here, &["operation", "list", "-o", "json"], "")).unwrap();
    assert!(operations.iter().all(|operation| operation["plat_Restart"] == json!({})), "{operations:?}");

    // A failed request does not prevent the others.
    let ids = format!("999999999999\n{}\n", created.lines().next().unwrap());
    let (code, message) = refused(here, &["operation", "update", "--status", "EXECUTING"], &ids);
    assert!(code == 3 && message.contains("1 of 2 requests failed"), "{code} {message}");
    assert_eq!(
        printed(here, &["operation", "list", "--status", "EXECUTING", "-o", "id"], "").lines().count(),
        1
    );
    assert_eq!(refused(here, &["operation", "get"], "").0, 2);
}

#[tokio::test]
async fn nothing_is_sent_in_a_dry_run() {
    let (_server, directory) = logged_in().await;

    let told = printed(directory.path(), &["device", "create", "--name", "pump", "--dry-run"], "");

    assert!(told.starts_with("POST http://") && told.contains("\"name\": \"pump\""), "{told}");
    assert_eq!(printed(directory.path(), &["device", "list", "-o", "json"], ""), "[]\n");
}

#[tokio::test]
async fn exit_codes_distinguish_failures() {
    let (server, directory) = logged_in_alone().await;
    let here = directory.path();
    let joe =
        ["user", "create", "--user-name", "joe", "--password", "first-secret", "--email", "joe@example.com"];
    printed(here, &joe, "");
    printed(here, &["login", server.base(), "--user", "joe", "--profile", "joe"], "first-secret\n");

    let (code, message) = refused(here, &["tenant", "list", "--profile", "joe"], "");
    assert!(code == 4 && message.contains("403"), "{code} {message}");
    assert_eq!(refused(here, &[&joe[..], &["--profile", "default"]].concat(), "").0, 5);
    assert_eq!(
        refused(here, &["alarm", "list", "--profile", "default", "--date-from", "yesterday"], "").0,
        1
    );
    let nowhere = format!("http://127.0.0.1:{}", free_port());
    let (code, message) = refused(here, &["login", &nowhere, "--user", "joe"], "first-secret\n");
    assert!(code == 6 && message.contains(&nowhere), "{code} {message}");
    let (code, message) = refused(here, &["login", "127.0.0.1:8080", "--user", "joe"], "first-secret\n");
    assert!(code == 2 && message.contains("http://"), "{code} {message}");
}

#[tokio::test]
async fn what_happens_is_watched() {
    let (server, directory) = logged_in().await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let mut command = Program::command(directory.path(), &["alarm", "watch", "--count", "2", "-o", "jsonl"]);
    command.env("XDG_CONFIG_HOME", directory.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watching = command.spawn().unwrap();
    let mut said = std::io::BufReader::new(watching.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert!(line.starts_with("watching /alarms/*"), "{line}");

    admin.raise_alarm(&device, "hot").await;
    admin.raise_alarm(&device, "cold").await;

    eventually_within(Duration::from_secs(20), "the end of the command", async || {
        watching.try_wait().unwrap()
    })
    .await;
    let output = watching.wait_with_output().unwrap();
    let told: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(told.iter().map(|alarm| &alarm["type"]).collect::<Vec<_>>(), ["hot", "cold"]);
    assert_eq!(told[0]["action"], "CREATE");
}

#[tokio::test]
async fn completions_and_manual_pages_have_every_command() {
    let directory = scratch_with_data();

    let script = printed(directory.path(), &["completion", "bash"], "");
    assert!(
        script.contains("--with-source-assets") && script.contains("--max-server-meta"),
        "flags of all commands"
    );
    let pages = directory.path().join("man");
    std::fs::create_dir(&pages).unwrap();
    printed(directory.path(), &["man", pages.to_str().unwrap()], "");
    let names: Vec<_> = std::fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    for page in ["platform.1", "platform-alarm-list.1", "platform-admin-user-passwd.1"] {
        assert!(names.iter().any(|name| name == page), "{page} in {names:?}");
    }
    let of_help = names.iter().filter(|name| name.to_string_lossy().contains("help"));
    assert_eq!(of_help.count(), 0, "{names:?}");
    let (code, message) = refused(directory.path(), &["man", "absent"], "");
    assert!(code == 3 && message.contains("absent is not a directory"), "{code} {message}");
}
