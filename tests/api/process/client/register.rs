//! `platform device register`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::*;

#[tokio::test]
async fn device_that_asks_is_accepted() {
    let (server, directory) = logged_in_alone().await;
    let here = directory.path();
    let device = server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD);
    let credentials = json!({"id": "sn-1"});
    let mut command = Program::command(here, &["device", "register", "sn-1", "--wait"]);
    command.env("XDG_CONFIG_HOME", here).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut waiting = command.spawn().unwrap();
    let mut said = BufReader::new(waiting.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().starts_with("sn-1 is registered"));
    assert!(waiting.try_wait().unwrap().is_none(), "nobody has asked yet");

    device.post("/devicecontrol/deviceCredentials", &credentials).await.expect(404);
    let ended = eventually("the end of the command", async || waiting.try_wait().unwrap()).await;

    assert!(ended.success());
    let said = said.next().unwrap().unwrap();
    assert!(said.contains("sn-1 asked") && said.contains("tenant main, registered by admin"), "{said}");
    let request: Value = serde_json::from_reader(waiting.stdout.take().unwrap()).unwrap();
    assert_eq!(request["status"], "ACCEPTED");
    device.post("/devicecontrol/deviceCredentials", &credentials).await.expect(201);
}

#[tokio::test]
async fn interrupted_wait_is_continued() {
    let (server, directory) = logged_in().await;
    let here = directory.path();
    let wait = ["device", "register", "sn/2", "--wait", "--timeout", "1"];

    let request: Value = serde_json::from_str(&printed(here, &["device", "register", "sn/2"], "")).unwrap();
    assert_eq!(request["status"], "WAITING_FOR_CONNECTION");
    assert_eq!(refused(here, &["device", "register", "sn/2"], "").0, 5);
    let (code, message) = refused(here, &wait, "");
    assert!(code == 1 && message.contains("has not asked"), "{code} {message}");

    let device = server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD);
    device.post("/devicecontrol/deviceCredentials", &json!({"id": "sn/2"})).await.expect(404);
    let request: Value = serde_json::from_str(&printed(here, &wait, "")).unwrap();
    assert_eq!(request["status"], "ACCEPTED");
}
