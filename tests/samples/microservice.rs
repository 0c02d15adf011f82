//! The sample microservice: behind the server, it serves the tenant of each caller.

use std::process::Command;

use platform_test_harness::service::route;
use platform_test_harness::{Caller, eventually, free_port, service_archive, upload};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::{Sample, Stage, folder, is_usable};

const COUNT: &str = "/service/open-alarms/count";

#[tokio::test]
async fn microservice_counts_the_alarms_of_the_calling_tenant() {
    if !is_usable(Command::new("python3").args(["-c", "import http.server"])) {
        return;
    }
    let mut stage = Stage::start().await;
    stage.database.insert_tenant("plant7", "plant7.example.com").await;
    stage.database.insert_tenant("plant8", "plant8.example.com").await;
    let [owner, customer, other] =
        ["main/admin", "plant7/admin", "plant8/admin"].map(|user| stage.caller(user));
    let application = install(&owner).await;
    for (caller, tenant) in [(&owner, "main"), (&customer, "plant7")] {
        let subscription = json!({"application": {"id": application}});
        caller.create(&format!("/tenant/tenants/{tenant}/applications"), &subscription).await;
    }
    let port = free_port();
    let service = run(&stage, &owner, &application, port).await;
    route(&stage.database, "open-alarms", Some(&format!("http://127.0.0.1:{port}"))).await.unwrap();

    let [pump, fan] = [owner.create_device("pump").await, customer.create_device("fan").await];
    owner.raise_alarm(&pump, "leak").await;
    owner.raise_alarm(&pump, "heat").await;
    customer.raise_alarm(&fan, "noise").await;
    assert_eq!(counted(&owner).await, open("main", 2));
    assert_eq!(counted(&customer).await, open("plant7", 1));
    // A client cannot choose another tenant by a header.
    let lie = customer.request("GET", COUNT).header("X-Platform-Tenant", "main").send().await.expect(200);
    assert_eq!(lie.json(), open("plant7", 1));
    assert_eq!(other.get(COUNT).await.status, 403, "it does not subscribe");
    let path = format!("/application/applications/{application}");
    eventually("its health", async || (owner.read(&path).await["health"]["status"] == "UP").then_some(()))
        .await;

    // The server restarts, then the microservice. While the microservice is away, the server returns 503.
    stage.end(Signal::TERM).await;
    stage.launch();
    assert_eq!(counted(&owner).await, open("main", 2));
    drop(service);
    eventually("the end of the microservice", async || (owner.get(COUNT).await.status == 503).then_some(()))
        .await;
    let service = run(&stage, &owner, &application, port).await;
    assert_eq!(counted(&customer).await, open("plant7", 1));

    // A tenant that subscribes later is served as well.
    let subscription = json!({"application": {"id": application}});
    other.create("/tenant/tenants/plant8/applications", &subscription).await;
    assert_eq!(counted(&other).await, open("plant8", 0));
    assert!(!service.said().contains("Traceback"), "{}", service.said());
}

/// Creates the application with the manifest of the sample and returns its id.
async fn install(owner: &Caller) -> String {
    let application = json!({"name": "open-alarms", "key": "open-alarms-key", "type": "MICROSERVICE",
        "availability": "MARKET"});
    let application = owner.create("/application/applications", &application).await;
    let id = application["id"].as_str().unwrap().to_owned();
    let manifest = std::fs::read_to_string(folder("microservice-python").join("platform.json")).unwrap();
    upload(owner, &id, &service_archive(&manifest)).await.expect(204);
    id
}

/// Starts the microservice with the environment that its operator sets, and waits until it listens.
async fn run(stage: &Stage, owner: &Caller, application: &str, port: u16) -> Sample {
    let user = owner.read(&format!("/application/applications/{application}/bootstrapUser")).await;
    let mut command = Command::new("python3");
    command.arg(folder("microservice-python").join("service.py"));
    command.env("PLAT_BASEURL", stage.base()).env("PLAT_MICROSERVICE_ISOLATION", "MULTI_TENANT");
    for (variable, member) in [("TENANT", "tenant"), ("USER", "name"), ("PASSWORD", "password")] {
        command.env(format!("PLAT_BOOTSTRAP_{variable}"), user[member].as_str().unwrap());
    }
    let service = Sample::run(command.env("SERVER_PORT", port.to_string()));
    service.says("listening on http://", 1).await;
    service
}

/// Returns the response of the microservice as soon as the server forwards to it.
async fn counted(caller: &Caller) -> Value {
    eventually("a response of the microservice", async || {
        let response = caller.get(COUNT).await;
        (response.status == 200).then(|| response.json())
    })
    .await
}

fn open(tenant: &str, major: u32) -> Value {
    json!({"tenant": tenant, "open": {"CRITICAL": 0, "MAJOR": major, "MINOR": 0, "WARNING": 0}})
}
