//! The device agents. Each is registered and accepted, sends measurements, raises and clears its alarm, and carries out
//! operations, while the server is stopped, killed and restarted.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use platform_test_harness::operations::{OPERATIONS, path_of};
use platform_test_harness::{BOOTSTRAP_PASSWORD, Caller, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::{Sample, Stage, folder, is_usable};

const SERIAL: &str = "sample-1";

/// A device that is running.
struct Device {
    sample: Sample,
    admin: Caller,
    id: String,
}

/// Operations for a device. Each has the expected final status, and a text that the operation must then contain.
type Operations<'o> = &'o [(Value, &'o str, &'o str)];

#[tokio::test]
async fn python_agent_works_as_a_device_through_restarts_of_the_server() {
    if !is_usable(Command::new("python3").args(["-c", "import http.client"])) {
        return;
    }
    let agent = |stage: &Stage, credentials: &Path, sensor: &Path| {
        let mut command = Command::new("python3");
        command.arg(folder("device-python").join("agent.py")).args([
            "--url",
            &stage.base(),
            "--serial",
            SERIAL,
        ]);
        command.arg("--credentials").arg(credentials).arg("--sensor").arg(sensor).args(["--interval", "0.2"]);
        command
    };
    let operations = [
        (json!({"plat_Command": {"text": "uptime"}}), "SUCCESSFUL", " s\""),
        (json!({"plat_Command": {"text": "rm -rf /"}}), "FAILED", "not one of uptime, version"),
        (json!({"acme_Unknown": {}}), "FAILED", "supported are"),
        (json!({"plat_Restart": {}}), "SUCCESSFUL", "plat_Restart"),
    ];
    let during_outage = json!({"plat_Command": {"text": "version"}});

    live(agent, &operations, during_outage, "measurements wait").await;
}

#[tokio::test]
async fn c_agent_works_as_a_device_through_restarts_of_the_server() {
    let headers = ["-fsyntax-only", "-include", "curl/curl.h", "-x", "c", "/dev/null"];
    if !is_usable(Command::new("cc").args(headers)) || !is_usable(Command::new("make").arg("--version")) {
        return;
    }
    let built = tempfile::tempdir().unwrap();
    for file in fs::read_dir(folder("device-c")).unwrap().map(|file| file.unwrap().path()) {
        fs::copy(&file, built.path().join(file.file_name().unwrap())).unwrap();
    }
    let made = Command::new("make").arg("--always-make").current_dir(built.path()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let agent = |stage: &Stage, credentials: &Path, sensor: &Path| {
        let mut command = Command::new(built.path().join("agent"));
        command.args([&stage.base(), SERIAL]).arg(credentials).arg(sensor).arg("0.2");
        command
    };
    let operations = [
        (json!({"acme_Target": {"celsius": 21.5}}), "SUCCESSFUL", "21.5"),
        (json!({"acme_Target": {"celsius": 400}}), "FAILED", "from 5 to 30"),
        (json!({"acme_Unknown": {}}), "FAILED", "supported are"),
        (json!({"plat_Restart": {}}), "SUCCESSFUL", "plat_Restart"),
    ];

    live(agent, &operations, json!({"acme_Target": {"celsius": 19}}), "agent: http").await;
}

/// Tests the whole life of a device. `offline` is the line that the agent prints when the server cannot be reached.
async fn live(
    agent: impl Fn(&Stage, &Path, &Path) -> Command,
    operations: Operations<'_>,
    during_outage: Value,
    offline: &str,
) {
    let mut stage = Stage::start().await;
    let (credentials, sensor) =
        (stage.directory.path().join("credentials"), stage.directory.path().join("sensor"));
    heat(&sensor, 21_500);
    let mut command = agent(&stage, &credentials, &sensor);
    let sample = Sample::run(command.env("PLATFORM_BOOTSTRAP_PASSWORD", BOOTSTRAP_PASSWORD));
    let mut device = Device::accepted(&stage, sample).await;
    assert_eq!(fs::metadata(&credentials).unwrap().permissions().mode() & 0o777, 0o600);

    device.measures(21.5).await;
    heat(&sensor, 90_000);
    device.has_alarm("ACTIVE").await;
    for (operation, status, text) in operations {
        device.carries_out(operation, status, text).await;
    }

    // While the server is stopped, the device continues to measure. The restarted server keeps an operation until the
    // device has reconnected.
    let known = device.sample.said().matches(offline).count();
    stage.end(Signal::TERM).await;
    heat(&sensor, 33_000);
    device.sample.says(offline, known + 1).await;
    stage.launch();
    device.measures(33.0).await;
    device.has_alarm("CLEARED").await;
    let (operation, ..) = &operations[0];
    device.carries_out(operation, operations[0].1, operations[0].2).await;

    // A killed server loses the session, but operations that were sent before are carried out nevertheless.
    stage.end(Signal::KILL).await;
    stage.launch();
    device.carries_out(&during_outage, "SUCCESSFUL", "").await;
    assert!(device.sample.runs());
    assert_eq!(
        device.admin.read("/inventory/managedObjects?fragmentType=plat_IsDevice").await["managedObjects"]
            .as_array()
            .unwrap()
            .len(),
        1
    );

    // After a restart the agent finds its stored credentials and its object, and needs no bootstrap user.
    drop(device.sample);
    let again = Sample::run(agent(&stage, &credentials, &sensor).env_remove("PLATFORM_BOOTSTRAP_PASSWORD"));
    again.says(&format!("is the object {}", device.id), 1).await;
}

/// Sets the temperature. The file is replaced, so that the agent never reads half a number.
fn heat(sensor: &Path, thousandths: u32) {
    let new = sensor.with_extension("new");
    fs::write(&new, format!("{thousandths}\n")).unwrap();
    fs::rename(new, sensor).unwrap();
}

impl Device {
    /// Registers and accepts the device as a user does, and waits until its managed object exists.
    async fn accepted(stage: &Stage, sample: Sample) -> Self {
        let admin = stage.caller("main/admin");
        sample.says("waiting until somebody", 1).await;
        admin.create("/devicecontrol/newDeviceRequests", &json!({"id": SERIAL})).await;
        let request = format!("/devicecontrol/newDeviceRequests/{SERIAL}");
        eventually("a poll of the device", async || {
            (admin.read(&request).await["status"] == "PENDING_ACCEPTANCE").then_some(())
        })
        .await;
        admin.put(&request, &json!({"status": "ACCEPTED"})).await.expect(200);
        let identity = format!("/identity/externalIds/plat_Serial/{SERIAL}");
        let found = eventually("the object of the device", async || {
            let response = admin.get(&identity).await;
            (response.status == 200).then(|| response.json())
        })
        .await;
        let id = found["managedObject"]["id"].as_str().unwrap().to_owned();
        Self { sample, admin, id }
    }

    /// Waits for a measurement with this value.
    async fn measures(&self, celsius: f64) {
        let newest = format!("/measurement/measurements?source={}&revert=true&pageSize=200", self.id);
        eventually(&format!("a measurement of {celsius} C"), async || {
            let page = self.admin.read(&newest).await;
            let values =
                page["measurements"].as_array().unwrap().iter().map(|one| &one["acme_Climate"]["T"]["value"]);
            values.filter_map(Value::as_f64).any(|value| value == celsius).then_some(())
        })
        .await;
    }

    /// Waits until the only alarm of the device has this status.
    async fn has_alarm(&self, status: &str) {
        let all = format!("/alarm/alarms?source={}", self.id);
        eventually(&format!("the alarm is {status}"), async || {
            let page = self.admin.read(&all).await;
            let alarms = page["alarms"].as_array().unwrap();
            let of_device: Vec<_> = alarms.iter().filter(|alarm| alarm["type"] == "acme_Hot").collect();
            (of_device.len() == 1 && of_device[0]["status"] == status).then_some(())
        })
        .await;
    }

    /// Creates an operation for the device and waits until it ends as expected.
    async fn carries_out(&self, operation: &Value, status: &str, text: &str) {
        let mut operation = operation.clone();
        operation["deviceId"] = json!(self.id);
        let operation = self.admin.create(OPERATIONS, &operation).await;
        let ended = eventually(&format!("the end of {operation}"), async || {
            let now = self.admin.read(&path_of(&operation)).await;
            ["SUCCESSFUL", "FAILED"].iter().any(|end| now["status"] == *end).then_some(now)
        })
        .await;
        assert!(ended["status"] == status && ended.to_string().contains(text), "{ended}");
    }
}
