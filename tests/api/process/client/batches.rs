//! Many requests of one command: those that are refused for now are repeated, and what is left can be sent again.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tokio::net::TcpListener;

use super::*;

#[tokio::test]
async fn requests_beyond_a_rate_wait_until_the_server_takes_them() {
    let (server, directory) = logged_in_alone().await;
    let management = server.caller("management/admin", ADMIN_PASSWORD);
    let limits = json!({"requestsPerSecond": 5, "requestBurst": 2});
    management.put("/tenant/tenants/main/limits", &limits).await.expect(200);
    let objects: String = (0..6).map(|n| format!("{{\"name\": \"pump {n}\"}}\n")).collect();

    let create = ["device", "create", "--data", "-", "--workers", "3", "-o", "id"];
    let created = client(directory.path(), &create, &objects);

    let said = String::from_utf8(created.stderr).unwrap();
    assert!(created.status.success() && said.matches("waiting").count() == 1, "{said}");
    assert_eq!(String::from_utf8(created.stdout).unwrap().lines().count(), 6);
}

#[tokio::test]
async fn inputs_of_failed_requests_are_named_and_stored_for_another_run() {
    let (server, directory) = logged_in().await;
    let here = directory.path();
    let device = server.admin().create_device("pump").await;
    let left = here.join("left");

    let input = format!("999999999998\n{device}\n999999999999\n");
    let update = ["device", "update", "--name", "fan", "--left", left.to_str().unwrap()];
    let (code, message) = refused(here, &update, &input);

    assert!(code == 3 && message.contains("2 of 3 requests failed"), "{code} {message}");
    assert!(
        message.contains("1, 999999999998: error: 404") && message.contains("3, 999999999999"),
        "{message}"
    );
    assert_eq!(std::fs::read_to_string(&left).unwrap(), "999999999998\n999999999999\n");

    // Objects are stored as JSON, which the same command reads.
    let create = ["event", "create", "--data", "-", "--left", left.to_str().unwrap()];
    let event =
        |source: &str| json!({"type": "door", "text": "opened", "source": {"id": source}}).to_string();
    let (_, message) = refused(here, &create, &[event("999999999998"), event(&device)].join("\n"));
    assert!(message.contains("1 of 2 requests failed"), "{message}");
    let stored = std::fs::read_to_string(&left).unwrap().replace("999999999998", &device);
    printed(here, &["event", "create", "--data", "-"], &stored);
    assert_eq!(printed(here, &["event", "list", "-o", "id"], "").lines().count(), 2);
}

#[tokio::test]
async fn interruption_says_how_many_are_done_and_stores_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let left = directory.path().join("left");
    let get = ["device", "get", "1", "2", "3", "--left", left.to_str().unwrap()];
    let mut command = Program::command(directory.path(), &get);
    command.env("PLATFORM_URL", format!("http://{}", silent.local_addr().unwrap()));
    command.env("PLATFORM_USER", "main/admin").env("PLATFORM_PASSWORD", ADMIN_PASSWORD);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();

    let _accepted = within(Duration::from_secs(20), "the first request", silent.accept()).await.unwrap();
    kill_process(Pid::from_raw(running.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let output = running.wait_with_output().unwrap();

    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(130) && said.contains("0 of 3 requests are done"), "{said}");
    assert_eq!(std::fs::read_to_string(left).unwrap(), "1\n2\n3\n");
}
