//! Texts of others cannot control the terminal of the operator who reads them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;

/// A name with sequences that set the title of a terminal, its colour and its writing direction.
const NAME: &str = "\u{1b}]0;owned\u{7}\u{9b}31m\u{8}\u{202e}pump";

fn is_executed(character: char) -> bool {
    (character.is_control() && !matches!(character, '\r' | '\n'))
        || ('\u{202a}'..='\u{202e}').contains(&character)
}

/// Runs a command on a terminal without colours and returns what the terminal got.
fn shown(directory: &Path, arguments: &str) -> String {
    on_terminal(directory, arguments, &[("NO_COLOR", "1")])
}

fn on_terminal(directory: &Path, arguments: &str, variables: &[(&str, &str)]) -> String {
    let program = Program::command(directory, &[]);
    let mut command = Command::new("script");
    command.args(["-qec", &format!("{} {arguments}", program.get_program().to_str().unwrap()), "/dev/null"]);
    command
        .current_dir(directory)
        .env("XDG_CONFIG_HOME", directory)
        .env_remove("NO_COLOR")
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    let output = run(command, "");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn names_of_devices_are_harmless_on_a_terminal_in_every_form() {
    let (server, directory) = logged_in().await;
    let device =
        server.admin().create("/inventory/managedObjects", &json!({"name": NAME, "plat_IsDevice": {}})).await;
    let id = device["id"].as_str().unwrap();

    for arguments in [
        "device list --columns name -o table",
        "device list --columns name -o csv",
        "device list -o json",
        "device list -o jsonl",
        &format!("device get {id}"),
        &format!("api GET /inventory/managedObjects/{id}"),
    ] {
        let shown = shown(directory.path(), arguments);
        assert!(shown.contains("owned") && shown.contains("pump"), "{arguments}: {shown:?}");
        assert!(!shown.contains(is_executed), "{arguments}: {shown:?}");
    }
    let piped = client(directory.path(), &["device", "list", "--columns", "name", "-o", "csv"], "");
    assert_eq!(
        String::from_utf8(piped.stdout).unwrap(),
        format!("name\n{NAME}\n"),
        "a pipe gets it as it is"
    );
}

#[tokio::test]
async fn dumb_terminal_gets_no_colours() {
    let (server, directory) = logged_in().await;
    let device = server.admin().create_device("pump").await;
    server.admin().raise_alarm(&device, "hot").await;

    let of = |variables: &[(&str, &str)]| on_terminal(directory.path(), "alarm list", variables);
    assert!(of(&[("TERM", "xterm")]).contains("\u{1b}["), "a terminal gets colours");
    for variables in [&[("TERM", "dumb")][..], &[("TERM", "xterm"), ("NO_COLOR", "1")]] {
        let shown = of(variables);
        assert!(shown.contains("hot") && !shown.contains('\u{1b}'), "{variables:?}: {shown:?}");
    }
}

#[tokio::test]
async fn warning_of_a_watch_is_one_line_for_one_cause() {
    let directory = scratch_with_data();
    let server = Program::serve(directory.path());
    printed(directory.path(), &["login", server.base(), "--user", USER], ADMIN_PASSWORD);
    let mut command = Program::command(directory.path(), &["alarm", "watch"]);
    command.env("XDG_CONFIG_HOME", directory.path()).stderr(Stdio::piped()).stdout(Stdio::null());
    let mut watching = command.spawn().unwrap();
    let mut said = BufReader::new(watching.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().starts_with("watching "));
    drop(server);
    let warning = said.next().unwrap().unwrap();
    watching.kill().unwrap();
    watching.wait().unwrap();

    assert!(warning.starts_with("warning: http://"), "{warning}");
    assert!(warning.ends_with("; trying again until it works"), "{warning}");
}

#[tokio::test]
async fn message_of_a_server_is_harmless_on_standard_error() {
    let (_server, directory) = logged_in().await;

    let refused = client(
        directory.path(),
        &["api", "GET", "/inventory/managedObjects?pageSize=%1b%5d0;owned%07%e2%80%ae"],
        "",
    );

    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("422") && said.contains("owned") && !said.contains(is_executed), "{said:?}");
}
