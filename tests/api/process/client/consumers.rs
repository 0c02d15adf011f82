//! Named consumers: their noun, `seek`, and `tail`, which acknowledges what it printed.

use std::io::{BufRead, BufReader};
use std::process::Child;

use super::*;

/// Starts `tail` and waits until it reads. Returns the program and its lines on standard error.
fn tail(directory: &Path, arguments: &[&str]) -> (Child, impl Iterator<Item = String>) {
    let mut command = Program::command(directory, &[&["consumer", "tail"], arguments].concat());
    command.env("XDG_CONFIG_HOME", directory).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tailing = command.spawn().unwrap();
    let mut said = BufReader::new(tailing.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = said.next().unwrap();
    assert!(line.starts_with("reading behind position "), "{line}");
    (tailing, said)
}

/// Waits for the end of a `tail` that succeeds, and returns what it printed.
async fn ended(mut tailing: Child) -> Vec<Value> {
    let end = async || tailing.try_wait().unwrap();
    let status = eventually_within(Duration::from_secs(20), "the end of the command", end).await;
    assert!(status.success(), "{status}");
    let printed = std::io::read_to_string(tailing.stdout.take().unwrap()).unwrap();
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn types(notifications: &[Value]) -> Vec<&str> {
    notifications.iter().map(|one| one["data"]["data"]["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn consumer_is_created_listed_changed_and_deleted() {
    let (_server, directory) = logged_in().await;
    let here = directory.path();

    let created = ["consumer", "create", "--name", "billing", "--channels", "/alarms/*,/events/*"];
    assert_eq!(printed(here, &[&created[..], &["-o", "id"]].concat(), ""), "billing\n");
    let more =
        ["consumer", "create", "--name", "audit", "--channels", "/alarms/*", "--channels", "/events/*"];
    let more: Value = serde_json::from_str(&printed(here, &more, "")).unwrap();
    assert_eq!(more["channels"], json!(["/alarms/*", "/events/*"]));
    assert_eq!(refused(here, &created, "").0, 5);
    assert_eq!(printed(here, &["consumer", "list", "-o", "id"], ""), "audit\nbilling\n");
    printed(here, &["consumer", "update", "billing", "--max-age", "3600"], "");
    let changed = printed(here, &["consumer", "get", "billing", "-o", "csv", "--columns", "maxAge"], "");
    assert_eq!(changed, "maxAge\n3600\n");
    printed(here, &["consumer", "delete", "billing", "--yes"], "");
    assert_eq!(refused(here, &["consumer", "get", "billing"], "").0, 3);
    assert_eq!(refused(here, &["consumer", "tail", "billing"], "").0, 3);
}

#[tokio::test]
async fn what_was_printed_is_acknowledged_and_seek_goes_back() {
    let (server, directory) = logged_in().await;
    let (here, admin) = (directory.path(), server.admin());
    let device = admin.create_device("pump").await;
    printed(here, &["consumer", "create", "--name", "billing", "--channels", "/alarms/*"], "");
    for kind in ["hot", "cold", "wet"] {
        admin.raise_alarm(&device, kind).await;
    }

    let first = ended(tail(here, &["billing", "--count", "2"]).0).await;

    assert_eq!(types(&first), ["hot", "cold"]);
    let consumer: Value = serde_json::from_str(&printed(here, &["consumer", "get", "billing"], "")).unwrap();
    assert_eq!(consumer["position"], first[1]["position"]);
    // The next one waits for what comes.
    let (waiting, _said) = tail(here, &["billing", "--count", "2"]);
    admin.raise_alarm(&device, "loud").await;
    assert_eq!(types(&ended(waiting).await), ["wet", "loud"]);
    let position = first[0]["position"].to_string();
    let again = ended(tail(here, &["billing", "--from", &position, "--count", "1"]).0).await;
    assert_eq!(again, first[1..]);
    let sought =
        printed(here, &["consumer", "seek", "billing", &position, "-o", "csv", "--columns", "position"], "");
    assert_eq!(sought, format!("position\n{position}\n"));
    let told = printed(here, &["consumer", "seek", "billing", "earliest", "--dry-run"], "");
    assert!(told.starts_with("PUT http://") && told.contains("\"position\": \"earliest\""), "{told}");
    let (code, message) = refused(here, &["consumer", "seek", "billing", "soon"], "");
    assert!(code == 1 && message.contains("422") && message.contains("soon"), "{code} {message}");
}

#[tokio::test]
async fn tail_goes_on_after_a_restart_and_ends_when_another_takes_over() {
    let directory = scratch_with_data();
    let here = directory.path();
    let address = format!("127.0.0.1:{}", free_port());
    let start = || {
        let mut command = Program::command(here, &[]);
        command.env("PLATFORM_ADMIN_PASSWORD", ADMIN_PASSWORD).env("PLATFORM_LISTEN", &address);
        Program::serve_with(command)
    };
    let server = start();
    let admin = Caller::new(server.base(), Some((USER, ADMIN_PASSWORD)));
    printed(here, &["login", server.base(), "--user", USER], ADMIN_PASSWORD);
    let device = admin.create_device("pump").await;
    printed(here, &["consumer", "create", "--name", "billing", "--channels", "/alarms/*"], "");
    let (mut tailing, mut said) = tail(here, &["billing"]);
    let mut lines = BufReader::new(tailing.stdout.take().unwrap()).lines().map_while(Result::ok);
    admin.raise_alarm(&device, "hot").await;
    assert!(lines.next().unwrap().contains("hot"));

    drop(server);
    let warning = said.next().unwrap();
    assert!(warning.starts_with("warning: http://"), "{warning}");
    let server = start();
    let admin = Caller::new(server.base(), Some((USER, ADMIN_PASSWORD)));
    admin.raise_alarm(&device, "cold").await;
    // The first one was printed and may not be acknowledged yet; then it comes again with the same position.
    assert!(lines.any(|line| line.contains("cold")));

    let taken = "/notification/consumers/billing/notifications?wait=0";
    // The poll of `tail` may begin after this one, and then takes over itself.
    let end = async || {
        admin.get(taken).await;
        tailing.try_wait().unwrap()
    };
    let status = eventually_within(Duration::from_secs(20), "the end of the command", end).await;
    assert_eq!(status.code(), Some(5));
    assert!(said.any(|line| line.contains("another reader")));
}
