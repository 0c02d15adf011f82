//! `platform demo`: a simulated fleet at its own server or at a running one.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::client::typed;
use super::*;
use crate::harness::authenticator::Person;

const PASSWORD: &str = "demo-secret";
/// Debug builds on busy machines are slow, and some operations deliberately take half a minute.
const SOON: Duration = Duration::from_secs(60);

fn demo(directory: &Path, arguments: &[&str]) -> Command {
    Program::command(directory, &[&["demo", "--devices", "12"], arguments].concat())
}

fn admin(program: &Program) -> Caller {
    Caller::new(program.base(), Some(("demo/admin", PASSWORD)))
}

async fn devices(admin: &Caller) -> Vec<Value> {
    let page = admin.read("/inventory/managedObjects?fragmentType=plat_IsDevice&pageSize=100").await;
    page["managedObjects"].as_array().unwrap().clone()
}

/// Returns the id of the first device of a type.
fn id_of(devices: &[Value], kind: &str) -> String {
    let device = devices.iter().find(|device| device["type"] == kind);
    device.unwrap_or_else(|| panic!("{kind}: {devices:#?}"))["id"].as_str().unwrap().to_owned()
}

/// Returns the arguments of the command that the demo prints for its removal.
fn removal(program: &Program) -> Vec<&str> {
    let line = program.printed.iter().find(|line| line.contains("deletes the tenant demo")).unwrap();
    line.split('`').nth(1).unwrap().split_whitespace().skip(1).collect()
}

async fn ended_well(program: &mut Program) {
    program.signal(Signal::INT);
    let status = program.ended_within(Duration::from_secs(25)).await;
    assert!(status.success(), "{status} {}", program.log());
}

#[tokio::test]
async fn demo_is_a_server_with_a_living_fleet() {
    let directory = scratch();

    let mut program = Program::serve_with(demo(directory.path(), &["--password", PASSWORD]));

    let admin = admin(&program);
    let devices = eventually_within(SOON, "all devices and rooms", async || {
        Some(devices(&admin).await).filter(|devices| devices.len() == 12)
    })
    .await;
    assert_eq!(admin.read("/tenant/options/demo").await, json!({"fleet": "simulated"}), "the mark of a demo");
    let (pump, meter, store) =
        (id_of(&devices, "demo_Pump"), id_of(&devices, "demo_Meter"), id_of(&devices, "demo_ColdStore"));
    let room = devices.iter().find(|device| device["type"] == "demo_Room").unwrap();
    assert!(room["owner"].as_str().unwrap().starts_with("device_demo-store"), "{room}");
    // Every kind of agent carries out operations, also for child devices; some operations fail.
    for device in [&pump, &meter, &store, &id_of(&devices, "demo_Room")] {
        let body = json!({"deviceId": device, "plat_Configuration": {"config": "interval = 10, \"fast\""}});
        let operation = admin.post("/devicecontrol/operations", &body).await;
        let path = format!("/devicecontrol/operations/{}", operation.json()["id"].as_str().unwrap());
        let done = eventually_within(SOON, "the end of an operation", async || {
            let operation = admin.read(&path).await;
            let status = operation["status"].as_str().unwrap();
            ["SUCCESSFUL", "FAILED"].contains(&status).then_some(operation.clone())
        })
        .await;
        if done["status"] == "SUCCESSFUL" {
            let object = admin.read(&format!("/inventory/managedObjects/{device}")).await;
            assert_eq!(object["plat_Configuration"]["config"], "interval = 10, \"fast\"", "{object:#}");
        } else {
            assert!(done["failureReason"].is_string(), "{done:#}");
        }
    }
    // The first pump begins with a fault.
    eventually_within(SOON, "an open alarm", async || {
        let alarms = admin.read(&format!("/alarm/alarms?source={pump}&resolved=false")).await;
        alarms["alarms"].get(0).cloned()
    })
    .await;
    for (device, series) in [(&pump, "demo_Water.pressure"), (&meter, "demo_Power.P")] {
        // The measurements of the last day, and those since the start.
        until_within(SOON, "measurements", async || {
            let query = format!("source={device}&dateFrom=2020-01-01&dateTo=2100-01-01&pageSize=2000");
            let page = admin.read(&format!("/measurement/measurements?{query}")).await;
            let (fragment, name) = series.split_once('.').unwrap();
            let values = page["measurements"].as_array().unwrap().iter();
            values.filter(|one| one[fragment][name]["value"].is_number()).count() > 150
        })
        .await;
    }
    let log = program.log();
    assert!(!log.contains("rejected") && !log.contains(PASSWORD), "{log}");
    ended_well(&mut program).await;
}

#[tokio::test]
async fn generated_password_is_printed_once_and_the_demo_continues_later() {
    let directory = scratch();
    let mut program = Program::serve_with(demo(directory.path(), &[]));
    let line = program.printed.iter().find_map(|line| line.trim().strip_prefix("demo/admin "));
    let password = line.unwrap_or_else(|| panic!("{:#?}", program.printed)).trim().to_owned();
    let caller = Caller::new(program.base(), Some(("demo/admin", &password)));
    let before = eventually_within(SOON, "all devices", async || {
        Some(devices(&caller).await).filter(|devices| devices.len() == 12)
    })
    .await;
    let pasted = program.printed.iter().filter(|line| line.contains(&password)).count();
    assert!(pasted > 1 && program.printed.iter().any(|line| line.contains(" alarm watch")));
    ended_well(&mut program).await;

    let mut program = Program::serve_with(demo(directory.path(), &[]));

    assert!(!program.printed.iter().any(|line| line.contains(&password)), "{:#?}", program.printed);
    let caller = Caller::new(program.base(), Some(("demo/admin", &password)));
    let after = devices(&caller).await;
    let ids = |devices: &[Value]| devices.iter().map(|one| one["id"].to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&after), ids(&before));
    ended_well(&mut program).await;
}

#[tokio::test]
async fn removed_demo_ends_and_begins_anew() {
    let directory = scratch();
    let mut program = Program::serve_with(demo(directory.path(), &["--password", PASSWORD]));

    let mut pasted = Program::command(directory.path(), &removal(&program));
    pasted.env_remove("PLATFORM_DATA_DIR");
    let removed = run(pasted, "");

    let said = String::from_utf8_lossy(&removed.stdout);
    assert!(removed.status.success() && said.contains("deleted the tenant demo"), "{said}");
    let status = program.ended_within(SOON).await;
    assert!(!status.success(), "{}", program.log());
    program.line_with("tenant demo was deleted").await;
    let again = run(demo(directory.path(), &["--remove"]), "");
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(!again.status.success() && said.contains("no tenant demo"), "{said}");

    let mut program = Program::serve_with(demo(directory.path(), &["--password", PASSWORD]));
    let admin = admin(&program);
    until_within(SOON, "all devices", async || devices(&admin).await.len() == 12).await;
    ended_well(&mut program).await;
}

#[tokio::test]
async fn server_that_runs_already_gets_a_demo_and_loses_it() {
    let directory = scratch();
    let mut command = Program::command(directory.path(), &[]);
    command.env("PLATFORM_ADMIN_PASSWORD", "management-secret");
    let server = Program::serve_with(command);
    let at_server = |arguments: &[&str], password: &str| {
        let mut command = demo(directory.path(), &[&["--url", server.base()], arguments].concat());
        command.env("PLATFORM_PASSWORD", password);
        command
    };

    let mut fleet = Program::serve_with(at_server(&["--password", PASSWORD], "management-secret"));
    assert_eq!(removal(&fleet), ["demo", "--url", server.base(), "--remove"]);
    let admin = Caller::new(server.base(), Some(("demo/admin", PASSWORD)));
    until_within(SOON, "all devices", async || devices(&admin).await.len() == 12).await;
    ended_well(&mut fleet).await;

    // The tenant exists now, so only one of its administrators can continue the demo.
    let refused = run(at_server(&[], "management-secret"), "");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(5) && said.contains("--user demo/admin"), "{said}");
    let mut fleet = Program::serve_with(at_server(&["--user", "demo/admin"], PASSWORD));
    ended_well(&mut fleet).await;
    let foreign = run(at_server(&["--user", "main/admin"], "management-secret"), "");
    let said = String::from_utf8_lossy(&foreign.stderr);
    assert!(foreign.status.code() == Some(2) && said.contains("management/admin"), "{said}");

    let removed = run(at_server(&["--remove"], "management-secret"), "");
    assert!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    assert_eq!(admin.get("/alarm/alarms").await.status, 401);
}

#[tokio::test]
async fn person_with_a_second_factor_gives_a_code_to_remove_a_demo() {
    let server = TestServer::start().await;
    let directory = scratch();
    let person = Person::of(server.caller("management/admin", ADMIN_PASSWORD)).await;
    let arguments = ["demo", "--url", server.base(), "--remove"];
    let mut command = Program::command(directory.path(), &arguments);
    command.env("PLATFORM_PASSWORD", ADMIN_PASSWORD);

    let refused = run(command, "");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(4) && said.contains("on a terminal, which asks"), "{said}");
    let line = format!("PLATFORM_PASSWORD={ADMIN_PASSWORD} platform {}", arguments.join(" "));
    let Some(asked) = typed(directory.path(), &line, &format!("{}\n", person.next_code())) else { return };

    // There is no demo, which only a user that has logged in learns.
    let said = String::from_utf8_lossy(&asked.stdout);
    assert!(asked.status.code() == Some(3) && said.contains("404"), "{said}");
}

#[tokio::test]
async fn address_in_use_is_an_error_with_two_remedies() {
    let directory = scratch();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();

    let mut command = demo(directory.path(), &[]);
    command.env("PLATFORM_LISTEN", &address).stdout(Stdio::null());
    let refused = run(command, "");

    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("--listen") && said.contains(&format!("--url http://{address}")), "{said}");
    assert!(!directory.path().join("data").exists(), "nothing was created");
}
