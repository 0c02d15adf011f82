//! Changes and deletions by filter: the command prints the number of matches and asks for confirmation.

use std::process::{Command, Stdio};

use super::*;

#[tokio::test]
async fn objects_that_match_are_deleted_after_a_count() {
    let (server, directory) = logged_in().await;
    let here = directory.path();
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let events: Vec<_> =
        (0..7).map(|_| event_of(&device, "door")).chain([event_of(&device, "window")]).collect();
    for event in &events {
        admin.create("/event/events", event).await;
    }
    let delete = ["event", "delete-many", "--type", "door"];

    let (code, message) = refused(here, &["event", "delete-many"], "");
    assert!(code == 2 && message.contains("no filter"), "{code} {message}");
    let (code, message) = refused(here, &delete, "y\n");
    assert!(code == 2 && message.contains("7 events match") && message.contains("--yes"), "{code} {message}");
    let told = printed(here, &[&delete[..], &["--dry-run"]].concat(), "");
    assert!(told.starts_with("DELETE http://") && told.contains("?type=door"), "{told}");
    assert_eq!(printed(here, &["event", "list", "-o", "id"], "").lines().count(), 8);

    let done = client(here, &[&delete[..], &["--yes"]].concat(), "");
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && said.contains("7 events match") && said.contains("done"), "{said}");
    assert_eq!(printed(here, &["event", "list", "-o", "csv", "--columns", "type"], ""), "type\nwindow\n");
    let again = client(here, &[&delete[..], &["--yes"]].concat(), "");
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(again.status.success() && said.starts_with("0 events match"), "{said}");
}

#[tokio::test]
async fn alarms_that_match_are_changed() {
    let (server, directory) = logged_in().await;
    let here = directory.path();
    let admin = server.admin();
    let [pump, fan] = [admin.create_device("pump").await, admin.create_device("fan").await];
    for device in [&pump, &fan] {
        admin.raise_alarm(device, "leak").await;
    }
    let update = ["alarm", "update-many", "--device", &pump, "--resolved", "false"];

    let (code, message) = refused(here, &update, "");
    assert!(code == 2 && message.contains("--new"), "{code} {message}");
    let done = client(here, &[&update[..], &["--new-status", "CLEARED", "-y"]].concat(), "");
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && said.contains("1 alarm matches"), "{said}");

    until("the end of the update", async || {
        let open = admin.read("/alarm/alarms?resolved=false").await;
        let sources: Vec<_> =
            open["alarms"].as_array().unwrap().iter().map(|alarm| alarm["source"]["id"].clone()).collect();
        sources == [json!(fan)]
    })
    .await;
}

/// The program `script` runs a command in a terminal.
#[tokio::test]
async fn somebody_at_a_terminal_is_asked() {
    let installed = Command::new("script").arg("--version").stdin(Stdio::null()).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: script is not installed, so no terminal was tried");
        return;
    }
    let (server, directory) = logged_in().await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    admin.create_event(&device, "door").await;
    let platform = Program::command(directory.path(), &["event", "delete-many", "--type", "door"]);
    let line = format!("{} event delete-many --type door", platform.get_program().to_string_lossy());

    for (answer, code, left) in [("n\n", 1, 1), ("y\n", 0, 0)] {
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.env("XDG_CONFIG_HOME", directory.path()).env_remove("PLATFORM_URL");
        let asked = run(command, answer);
        let told = String::from_utf8(asked.stdout).unwrap();
        assert!(asked.status.code() == Some(code) && told.contains("Do you want to delete them?"), "{told}");
        let events = admin.read("/event/events").await;
        assert_eq!(events["events"].as_array().unwrap().len(), left, "{told}");
    }
}
