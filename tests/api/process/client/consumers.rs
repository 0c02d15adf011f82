//! Named consumers: their noun, `seek`, and `tail`, which acknowledges what it printed.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr};

use super::*;

/// A running `tail`; it is killed when dropped, also by a test that fails.
struct Tail {
    child: Child,
    /// The lines of standard error.
    said: Lines<BufReader<ChildStderr>>,
}

impl Tail {
    /// Starts `tail` and waits until it reads.
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = Program::command(directory, &[&["consumer", "tail"], arguments].concat());
        command.env("XDG_CONFIG_HOME", directory).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut tail = Self { child, said };
        let line = tail.said.next().unwrap().unwrap();
        assert!(line.starts_with("reading behind position "), "{line}");
        tail
    }

    /// Waits for its end, which must be a success, and returns the lines that it printed.
    async fn printed(mut self) -> Vec<Value> {
        let end = async || self.child.try_wait().unwrap();
        let status = eventually_within(Duration::from_secs(20), "the end of the command", end).await;
        assert!(status.success(), "{status}");
        let printed = std::io::read_to_string(self.child.stdout.take().unwrap()).unwrap();
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
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
    let filter = |filter: &str| {
        printed(here, &["consumer", "update", "billing", "--filter", filter], "");
        printed(here, &["consumer", "get", "billing", "-o", "csv", "--columns", "filter"], "")
    };
    assert_eq!(filter("type eq 'leak*'"), "filter\ntype eq 'leak*'\n");
    let wrong = ["consumer", "create", "--name", "x", "--channels", "/alarms/*", "--filter", "type is x"];
    let said = refused(here, &wrong, "").1;
    assert!(said.contains("'filter' at character 6: expected eq"), "{said}");
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

    let first = Tail::start(here, &["billing", "--count", "2"]).printed().await;

    assert_eq!(types(&first), ["hot", "cold"]);
    let consumer: Value = serde_json::from_str(&printed(here, &["consumer", "get", "billing"], "")).unwrap();
    assert_eq!(consumer["position"], first[1]["position"]);
    // The next one waits for what comes.
    let waiting = Tail::start(here, &["billing", "--count", "2"]);
    admin.raise_alarm(&device, "loud").await;
    assert_eq!(types(&waiting.printed().await), ["wet", "loud"]);
    let position = first[0]["position"].to_string();
    let again = Tail::start(here, &["billing", "--from", &position, "--count", "1"]).printed().await;
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
    let mut tail = Tail::start(here, &["billing"]);
    let mut lines = BufReader::new(tail.child.stdout.take().unwrap()).lines().map_while(Result::ok);
    admin.raise_alarm(&device, "hot").await;
    assert!(lines.next().unwrap().contains("hot"));

    drop(server);
    let warning = tail.said.next().unwrap().unwrap();
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
        tail.child.try_wait().unwrap()
    };
    let status = eventually_within(Duration::from_secs(20), "the end of the command", end).await;
    assert_eq!(status.code(), Some(5));
    assert!(tail.said.any(|line| line.unwrap().contains("another reader")));
}
