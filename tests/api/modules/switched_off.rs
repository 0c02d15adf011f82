//! Modules that ask for too much are switched off, and nobody else notices.

use serde_json::{Value, json};

use super::{deploy, events, events_come, marking, measure, path_of, set_status, status};
use crate::harness::{Caller, TestServer, eventually, measurement_of};

/// Its last audit record, when the module is switched off.
async fn switched_off(caller: &Caller, module: &Value) -> String {
    eventually("a module that is switched off", async || {
        (status(caller, module).await == "NOT_DEPLOYED").then_some(())
    })
    .await;
    let path = format!("/audit/auditRecords?source={}&pageSize=100", module["id"].as_str().unwrap());
    let list = caller.read(&path).await;
    let record = list["auditRecords"].as_array().unwrap().last().unwrap().clone();
    let said = (&record["type"], &record["activity"], &record["user"], &record["severity"]);
    assert_eq!(said, (&json!("CepModule"), &json!("Module undeployed"), &json!("system"), &json!("major")));
    record["text"].as_str().unwrap().to_owned()
}

/// Sends so many measurements in one request.
async fn measure_many(caller: &Caller, device: &str, count: i64) {
    let one = |value| measurement_of(device, "2024-03-10T02:30:00.000Z", value);
    let many: Vec<Value> = (0..count).map(one).collect();
    caller.create("/measurement/measurements", &json!({"measurements": many})).await;
}

#[tokio::test]
async fn module_that_retains_too_much_is_switched_off() {
    let server = TestServer::start_with(|settings| settings.limits.module_events = 10).await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let keeping = "module keeps;\nselect count(*) as n from MeasurementCreated.win:keepall();\n";
    let (keeps, other) = (deploy(&admin, keeping).await, deploy(&admin, &marking("marks", "seen")).await);

    for value in 0..12 {
        measure(&admin, &device, value).await;
    }

    let text = switched_off(&admin, &keeps).await;
    assert!(text.starts_with("Module undeployed: keeps: it retains 11 events"), "{text}");
    assert_eq!(events_come(&admin, "seen", 12).await.len(), 12);
    assert_eq!(status(&admin, &other).await, "DEPLOYED");
}

#[tokio::test]
async fn module_that_is_switched_off_is_deployed_again_on_request_and_remembers_nothing() {
    let server = TestServer::start_with(|settings| settings.limits.module_events = 3).await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let keeping = "module keeps;\nselect count(*) as n from MeasurementCreated.win:keepall();\n";
    let keeps = deploy(&admin, keeping).await;
    measure_many(&admin, &device, 4).await;
    switched_off(&admin, &keeps).await;

    set_status(&admin, &keeps, "DEPLOYED").await;
    measure_many(&admin, &device, 3).await;
    assert_eq!(status(&admin, &keeps).await, "DEPLOYED");
    measure(&admin, &device, 4).await;

    switched_off(&admin, &keeps).await;
}

#[tokio::test]
async fn modules_of_a_tenant_retain_no_more_together_than_they_may() {
    let server = TestServer::start_with(|settings| settings.limits.tenant_module_bytes = 1024).await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let keeping =
        |name: &str| format!("module {name};\nselect count(*) as n from MeasurementCreated.win:keepall();\n");
    let modules = [deploy(&admin, &keeping("one")).await, deploy(&admin, &keeping("two")).await];

    measure_many(&admin, &device, 20).await;

    for module in &modules {
        let text = switched_off(&admin, module).await;
        assert!(text.contains("the modules of the tenant retain more than 1024 bytes together"), "{text}");
    }
}

#[tokio::test]
async fn module_that_cannot_keep_up_is_switched_off_and_writers_do_not_wait() {
    let server = TestServer::start_with(|settings| settings.limits.module_queue = 5).await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let slow = deploy(&admin, &marking("marks", "seen")).await;

    measure_many(&admin, &device, 1000).await;

    let text = switched_off(&admin, &slow).await;
    assert!(text.contains("events come faster than it can take them"), "{text}");
    assert_eq!(server.database().count("measurements").await, 1000);
}

#[tokio::test]
async fn statement_that_fails_leaves_the_others_running_until_it_fails_too_often() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let text = marking("marks", "seen")
        + "@Name('fails')\ninsert into CreateAlarm\n\
           select 'hot' as type, 'hot' as text, m.measurement.type as severity, 'ACTIVE' as status,\n    \
               m.measurement.time as time, m.measurement.source.value as source\n\
           from MeasurementCreated m;\n";
    let module = deploy(&admin, &text).await;

    measure_many(&admin, &device, 100).await;
    assert_eq!(events_come(&admin, "seen", 100).await.len(), 100);
    assert_eq!(status(&admin, &module).await, "DEPLOYED");
    measure(&admin, &device, 1).await;

    let text = switched_off(&admin, &module).await;
    assert!(text.contains("more than 100 errors within a minute, the last in statement 'fails'"), "{text}");
    assert_eq!(server.database().count("alarms").await, 0);
}

#[tokio::test]
async fn module_whose_text_is_not_accepted_any_more_is_switched_off() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let stored = "INSERT INTO modules (tenant, id, name, deployed, deployment, inputs, last_modified, text) \
        VALUES ('main', 77, 'old', true, 1, 0, now(), 'module old; select 1 from Nowhere;')";
    server.database().execute(stored, &[]).await;
    server.database().execute("SELECT pg_notify('platform_users', 'main/+modules')", &[]).await;

    let text = switched_off(&admin, &json!({"id": "77"})).await;

    assert!(text.contains("its text is not accepted any more"), "{text}");
    assert!(text.contains("Nowhere"), "{text}");
    assert_eq!(admin.get(&path_of(&json!({"id": "77"}))).await.status, 200);
    assert!(events(&admin, "seen").await.is_empty());
}

#[tokio::test]
async fn module_stops_at_once_though_that_can_be_written_only_later() {
    let server = TestServer::start_with(|settings| settings.limits.module_events = 3).await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let text = marking("marks", "seen") + "select count(*) as n from MeasurementCreated.win:keepall();\n";
    let module = deploy(&admin, &text).await;
    let lock = "hashtextextended('modules/main', 0)";
    let connected = tokio_postgres::connect(server.database().url(), tokio_postgres::NoTls).await;
    let (holder, connection) = connected.unwrap();
    tokio::spawn(connection);
    holder.execute(&format!("SELECT pg_advisory_lock({lock})"), &[]).await.unwrap();

    for value in 0..4 {
        measure(&admin, &device, value).await;
    }
    let waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    eventually("the module that is switched off", async || {
        (server.database().query(waits, &[]).await[0].get::<_, i64>(0) > 0).then_some(())
    })
    .await;
    let seen = events(&admin, "seen").await.len();
    measure(&admin, &device, 5).await;
    assert_eq!(status(&admin, &module).await, "DEPLOYED");
    drop(holder);

    switched_off(&admin, &module).await;
    assert_eq!(events(&admin, "seen").await.len(), seen);
}
