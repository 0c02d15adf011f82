//! Tests which writes modules see, in which mode: PERSISTENT, QUIESCENT, TRANSIENT and CEP (M-02 to M-04, Q-06).

use super::*;

const TIME: &str = "2024-03-10T02:30:00.000+01:00";

/// Publishes every event that it receives.
const SEES: &str = "module sees;
    select _type as type, _mode as mode, _origin as origin from ManagedObjectCreated;
    select _type as type, _mode as mode, _origin as origin from ManagedObjectUpdated;
    select _type as type, _mode as mode, _origin as origin from ManagedObjectDeleted;
    select _type as type, _mode as mode, _origin as origin from EventCreated;
    select _type as type, _mode as mode, _origin as origin from EventUpdated;
    select _type as type, _mode as mode, _origin as origin from EventDeleted;
    select _type as type, _mode as mode, _origin as origin from MeasurementCreated;
    select _type as type, _mode as mode, _origin as origin from MeasurementDeleted;
    select _type as type, _mode as mode, _origin as origin from OperationCreated;
    select _type as type, _mode as mode, _origin as origin from OperationUpdated;
    select _type as type, _mode as mode, _origin as origin from AlarmCreated;
    select _type as type, _mode as mode, _origin as origin from AlarmUpdated;";

/// Sends a request in a processing mode and returns the body of the response.
async fn send(caller: &Caller, mode: &str, method: &str, path: &str, body: Option<&Value>) -> Value {
    let request = caller.request(method, path).accepting_json().header("X-Platform-Processing-Mode", mode);
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    let answer = request.send().await;
    assert!((200..300).contains(&answer.status), "{method} {path} {mode}: {}", answer.text);
    if answer.text.is_empty() { Value::Null } else { answer.json() }
}

/// Returns the events that the module received, in order.
async fn seen(session: &Session, count: usize) -> Vec<(String, String)> {
    let told = session.receive(count).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for told in &told {
        assert!(told["data"]["origin"].is_null(), "no module made it: {told}");
    }
    told.iter().map(|told| (text(&told["data"]["type"]), text(&told["data"]["mode"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(kind, mode)| ((*kind).to_owned(), (*mode).to_owned())).collect()
}

/// Returns a device, and a session that receives the output of the module.
async fn start(admin: &Caller) -> (String, Session) {
    let device = admin.create_device("pump").await;
    deploy(admin, SEES).await;
    (device, admin.listen("/sees/*").await)
}

#[tokio::test]
async fn modules_see_events_in_every_mode() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (device, session) = start(&admin).await;

    for mode in ["PERSISTENT", "TRANSIENT", "QUIESCENT", "CEP"] {
        send(&admin, mode, "POST", "/event/events", Some(&event_of(&device, "t"))).await;
    }
    let event = admin.create_event(&device, "t").await;
    let path = event["self"].as_str().unwrap();
    for mode in ["PERSISTENT", "TRANSIENT", "QUIESCENT", "CEP"] {
        send(&admin, mode, "PUT", path, Some(&json!({"text": mode}))).await;
    }
    for mode in ["CEP", "TRANSIENT", "QUIESCENT"] {
        send(&admin, mode, "DELETE", path, None).await;
    }

    let expected = [
        ("EVENT_CREATE", "PERSISTENT"),
        ("EVENT_CREATE", "TRANSIENT"),
        ("EVENT_CREATE", "QUIESCENT"),
        ("EVENT_CREATE", "CEP"),
        ("EVENT_CREATE", "PERSISTENT"),
        ("EVENT_UPDATED", "PERSISTENT"),
        ("EVENT_UPDATED", "TRANSIENT"),
        ("EVENT_UPDATED", "QUIESCENT"),
        ("EVENT_UPDATED", "CEP"),
        ("EVENT_DELETE", "CEP"),
        ("EVENT_DELETE", "TRANSIENT"),
        ("EVENT_DELETE", "QUIESCENT"),
    ];
    assert_eq!(seen(&session, expected.len()).await, pairs(&expected));
}

#[tokio::test]
async fn modules_see_measurements_in_every_mode() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (device, session) = start(&admin).await;
    let (path, body) = ("/measurement/measurements", measurement_of(&device, TIME, 20));

    for mode in ["TRANSIENT", "QUIESCENT", "CEP", "PERSISTENT"] {
        send(&admin, mode, "POST", path, Some(&body)).await;
    }
    let stored = admin.create(path, &body).await;
    for mode in ["CEP", "TRANSIENT", "QUIESCENT"] {
        send(&admin, mode, "DELETE", stored["self"].as_str().unwrap(), None).await;
    }
    send(&admin, "QUIESCENT", "DELETE", &format!("{path}?source={device}"), None).await;

    let expected = [
        ("MEASUREMENT_CREATE", "TRANSIENT"),
        ("MEASUREMENT_CREATE", "QUIESCENT"),
        ("MEASUREMENT_CREATE", "CEP"),
        ("MEASUREMENT_CREATE", "PERSISTENT"),
        ("MEASUREMENT_CREATE", "PERSISTENT"),
        ("MEASUREMENT_DELETE", "CEP"),
        ("MEASUREMENT_DELETE", "TRANSIENT"),
        ("MEASUREMENT_DELETE", "QUIESCENT"),
        ("MEASUREMENT_DELETE", "QUIESCENT"),
        ("MEASUREMENT_DELETE", "QUIESCENT"),
    ];
    assert_eq!(seen(&session, expected.len()).await, pairs(&expected));
}

#[tokio::test]
async fn modules_see_managed_objects_and_their_links() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (device, session) = start(&admin).await;
    let other = admin.create_device("other").await;
    let objects = "/inventory/managedObjects";
    let path = format!("{objects}/{device}");
    let children = format!("{path}/childDevices");

    send(&admin, "TRANSIENT", "POST", objects, Some(&json!({"name": "none"}))).await;
    send(&admin, "QUIESCENT", "POST", objects, Some(&json!({"name": "some"}))).await;
    send(&admin, "TRANSIENT", "PUT", &path, Some(&json!({"name": "a"}))).await;
    send(&admin, "PERSISTENT", "PUT", &path, Some(&json!({"name": "b"}))).await;
    let child = json!({"managedObject": {"id": other}});
    send(&admin, "QUIESCENT", "POST", &children, Some(&child)).await;
    send(&admin, "PERSISTENT", "DELETE", &format!("{children}/{other}"), None).await;
    send(&admin, "TRANSIENT", "DELETE", &path, None).await;
    send(&admin, "PERSISTENT", "DELETE", &path, None).await;

    let expected = [
        ("MANAGED_OBJECT_CREATE", "PERSISTENT"),
        ("MANAGED_OBJECT_CREATE", "TRANSIENT"),
        ("MANAGED_OBJECT_CREATE", "PERSISTENT"),
        ("MANAGED_OBJECT_UPDATE", "TRANSIENT"),
        ("MANAGED_OBJECT_UPDATE", "PERSISTENT"),
        ("MANAGED_OBJECT_UPDATE", "QUIESCENT"),
        ("MANAGED_OBJECT_UPDATE", "PERSISTENT"),
        ("MANAGED_OBJECT_DELETE", "TRANSIENT"),
        ("MANAGED_OBJECT_DELETE", "PERSISTENT"),
    ];
    assert_eq!(seen(&session, expected.len()).await, pairs(&expected));
}

#[tokio::test]
async fn modules_see_alarms_and_operations_but_not_their_deletion() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let agent = json!({"name": "agent", "plat_IsDevice": {}, "com_platform_model_Agent": {}});
    let agent = admin.create("/inventory/managedObjects", &agent).await;
    let agent = agent["id"].as_str().unwrap();
    let (device, session) = start(&admin).await;
    let (alarms, operations) = ("/alarm/alarms", "/devicecontrol/operations");

    send(&admin, "TRANSIENT", "POST", alarms, Some(&alarm_of(&device, "hot"))).await;
    let alarm = send(&admin, "QUIESCENT", "POST", alarms, Some(&alarm_of(&device, "hot"))).await;
    send(&admin, "PERSISTENT", "POST", alarms, Some(&alarm_of(&device, "hot"))).await;
    let path = alarm["self"].as_str().unwrap();
    send(&admin, "TRANSIENT", "PUT", path, Some(&json!({"text": "Cooler"}))).await;
    send(&admin, "PERSISTENT", "PUT", path, Some(&json!({"text": "Cooler"}))).await;
    let all = format!("{alarms}?source={device}");
    send(&admin, "PERSISTENT", "PUT", &all, Some(&json!({"status": "CLEARED"}))).await;
    send(&admin, "PERSISTENT", "DELETE", &all, None).await;
    let operation = json!({"deviceId": agent, "plat_Restart": {}});
    send(&admin, "TRANSIENT", "POST", operations, Some(&operation)).await;
    let queued = send(&admin, "PERSISTENT", "POST", operations, Some(&operation)).await;
    let executing = json!({"status": "EXECUTING"});
    send(&admin, "PERSISTENT", "PUT", queued["self"].as_str().unwrap(), Some(&executing)).await;
    send(&admin, "PERSISTENT", "DELETE", &format!("{operations}?deviceId={agent}"), None).await;
    send(&admin, "PERSISTENT", "POST", "/event/events", Some(&event_of(&device, "end"))).await;

    let expected = [
        ("ALARM_CREATE", "TRANSIENT"),
        ("ALARM_CREATE", "PERSISTENT"),
        ("ALARM_UPDATE", "PERSISTENT"),
        ("ALARM_UPDATE", "TRANSIENT"),
        ("ALARM_UPDATE", "PERSISTENT"),
        ("ALARM_UPDATE", "PERSISTENT"),
        ("OPERATION_CREATE", "TRANSIENT"),
        ("OPERATION_CREATE", "PERSISTENT"),
        ("OPERATION_UPDATE", "PERSISTENT"),
        ("EVENT_CREATE", "PERSISTENT"),
    ];
    assert_eq!(seen(&session, expected.len()).await, pairs(&expected));
}
