//! Questions before objects are deleted.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::*;

/// Runs a command line on a terminal, where somebody types a line. `None` if the program `script` is missing.
pub(in super::super) fn typed(directory: &Path, line: &str, answer: &str) -> Option<Output> {
    let installed = Command::new("script").arg("--version").stdin(Stdio::null()).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: script is not installed, so no terminal was tried");
        return None;
    }
    let program = Program::command(directory, &[]);
    let program = program.get_program().to_str().unwrap();
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line.replace("platform", program), "/dev/null"]);
    command.current_dir(directory).env("XDG_CONFIG_HOME", directory);
    remove_settings(&mut command);
    Some(run(command, answer))
}

async fn names(admin: &Caller) -> Vec<String> {
    let page = admin.read("/inventory/managedObjects?fragmentType=plat_IsDevice").await;
    let objects = page["managedObjects"].as_array().unwrap();
    objects.iter().map(|object| object["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn ids_from_a_pipe_are_deleted_only_with_yes() {
    let (server, directory) = logged_in().await;
    let here = directory.path();
    let admin = server.admin();
    let ids = [admin.create_device("pump").await, admin.create_device("fan").await].join("\n");

    let (code, message) = refused(here, &["device", "delete"], &ids);
    assert!(code == 2 && message.contains("2 devices at") && message.contains("--yes"), "{code} {message}");
    assert_eq!(names(&admin).await.len(), 2);
    assert!(printed(here, &["device", "delete", "--dry-run"], &ids).starts_with("DELETE http://"));
    assert_eq!(names(&admin).await.len(), 2);
    printed(here, &["device", "delete", "--yes"], &ids);
    assert_eq!(names(&admin).await.len(), 0);
}

#[tokio::test]
async fn every_noun_asks_before_ids_from_a_pipe_are_deleted() {
    let (_server, directory) = logged_in_alone().await;
    for noun in [
        "event",
        "measurement",
        "bulk",
        "module",
        "file",
        "application",
        "tenant",
        "user",
        "session",
        "token",
        "option",
        "external-id",
        "user-group",
        "retention",
    ] {
        let (code, message) = refused(directory.path(), &[noun, "delete"], "4711/4712\n");
        assert!(code == 2 && message.contains(&format!("1 {noun} at")), "{noun}: {code} {message}");
    }
}

#[tokio::test]
async fn tenant_is_deleted_by_a_script_only_with_yes() {
    let (server, directory) = logged_in_alone().await;
    let here = directory.path();
    let tenant = json!({"id": "plant7", "domain": "plant7.example.com", "company": "Acme", "adminName": "mia",
        "adminPass": "first-secret-7", "adminEmail": "mia@example.com"});
    let management = server.caller("management/admin", ADMIN_PASSWORD);
    management.create("/tenant/tenants", &tenant).await;
    printed(here, &["login", server.base(), "--user", "management/admin"], ADMIN_PASSWORD);

    let (code, message) = refused(here, &["tenant", "delete", "plant7"], "");
    assert!(code == 2 && message.contains("1 tenant at"), "{code} {message}");
    for (answer, code) in [("y\n", 1), ("plant8\n", 1), ("plant7\n", 0)] {
        let Some(asked) = typed(here, "platform tenant delete plant7", answer) else { return };
        let told = String::from_utf8(asked.stdout).unwrap();
        assert!(asked.status.code() == Some(code) && told.contains("Type plant7 to delete"), "{told}");
        assert!(
            told.contains("plant7.example.com  Acme") && told.contains("all users, devices and data"),
            "{told}"
        );
    }
    assert_eq!(refused(here, &["tenant", "get", "plant7"], "").0, 3);
}

#[tokio::test]
async fn somebody_at_a_terminal_sees_the_names_of_what_goes() {
    let (server, directory) = logged_in().await;
    let here = directory.path();
    let admin = server.admin();
    let [pump, fan] = [admin.create_device("pump").await, admin.create_device("fan").await];

    for (answer, left) in [("n\n", 2), ("y\n", 1)] {
        let Some(asked) = typed(here, &format!("platform device delete {pump}"), answer) else { return };
        let told = String::from_utf8(asked.stdout).unwrap();
        assert!(told.contains("pump") && told.contains("1 device with its alarms"), "{told}");
        assert_eq!(names(&admin).await.len(), left, "{told}");
    }
    // Standard input is the pipe, so somebody types at the terminal.
    for (answer, left) in [("n\n", 1), ("y\n", 0)] {
        let line = format!("sh -c 'echo {fan} | platform device delete'");
        let Some(asked) = typed(here, &line, answer) else { return };
        let told = String::from_utf8(asked.stdout).unwrap();
        assert!(told.contains("fan") && told.contains("Do you want to delete them?"), "{told}");
        assert_eq!(names(&admin).await.len(), left, "{told}");
    }
    let absent = client(here, &["device", "delete", &pump], "");
    assert_eq!(absent.status.code(), Some(3), "ids of a script need no answer");
}

#[tokio::test]
async fn change_that_the_server_refuses_is_refused_before_the_question() {
    let (server, directory) = logged_in().await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    admin.raise_alarm(&device, "leak").await;

    let update = ["alarm", "update-many", "--type", "leak", "--new-status", "CLEARED", "--yes"];
    let (code, message) = refused(directory.path(), &update, "");

    assert!(code == 2 && message.contains("--resolved") && !message.contains("matches"), "{code} {message}");
}
