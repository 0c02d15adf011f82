//! Bulk work: the sessions of every server are notified of each change once, regardless of the server that does the
//! work.

use super::*;
use crate::harness::operations::{create_agent, queue};

/// Asserts that each session of a pair receives exactly these notifications, in any order.
async fn each_receives(pair: &Pair, mut expected: Vec<String>) {
    expected.sort();
    for session in &pair.sessions {
        let mut received = super::received(session, expected.len()).await;
        received.sort();
        assert_eq!(received, expected);
        assert!(notifications(&session.glance().await).is_empty(), "nothing comes twice");
    }
}

#[tokio::test]
async fn bulk_updates_and_deletions_of_alarms_reach_both() {
    let pair = Pair::listening("/alarms/*").await;
    let [a, b] = &pair.callers;
    let device = a.create_device("pump").await;
    let mut alarms = Vec::new();
    for n in 0..5 {
        alarms.push(id(&a.raise_alarm(&device, &format!("t{n}")).await));
    }
    let all = |action: &str| alarms.iter().map(|id| format!("{action} {id}")).collect::<Vec<_>>();
    each_receives(&pair, all("CREATE")).await;

    let path = format!("/alarm/alarms?source={device}&resolved=false");
    let accepted = b.put(&path, &json!({"status": "CLEARED"})).await;
    assert!([200, 202].contains(&accepted.status), "{}", accepted.text);
    each_receives(&pair, all("UPDATE")).await;

    a.delete(&format!("/alarm/alarms?source={device}")).await.expect(204);
    each_receives(&pair, all("DELETE")).await;
}

#[tokio::test]
async fn deletion_of_many_operations_reaches_both() {
    let pair = Pair::listening("/operations/*").await;
    let [a, b] = &pair.callers;
    let agent = create_agent(a, "gateway").await;
    let mut operations = Vec::new();
    for _ in 0..3 {
        operations.push(id(&queue(a, &agent).await));
    }
    each_receives(&pair, operations.iter().map(|id| format!("CREATE {id}")).collect()).await;

    b.delete(&format!("/devicecontrol/operations?deviceId={agent}")).await.expect(204);

    each_receives(&pair, operations.iter().map(|id| format!("DELETE {id}")).collect()).await;
}

#[tokio::test]
async fn steps_of_bulk_operations_reach_both() {
    let pair = Pair::listening("/operations/*").await;
    let [a, b] = &pair.callers;
    let group = json!({"name": "pumps", "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}});
    let group = id(&a.create("/inventory/managedObjects", &group).await);
    for n in 0..4 {
        let agent = json!({"name": format!("pump {n}"), "plat_IsDevice": {}, "com_platform_model_Agent": {}});
        let agent = id(&a.create("/inventory/managedObjects", &agent).await);
        let members = format!("/inventory/managedObjects/{group}/childAssets");
        b.create(&members, &json!({"managedObject": {"id": agent}})).await;
    }
    let bulk = json!({"groupId": group, "startDate": "2024-03-10T02:30:00.000Z", "creationRamp": 0,
        "operationPrototype": {}});
    b.create("/devicecontrol/bulkoperations", &bulk).await;

    let mut heard = Vec::new();
    for session in &pair.sessions {
        let mut received = super::received(session, 4).await;
        received.sort();
        received.dedup();
        assert_eq!(received.len(), 4);
        assert!(notifications(&session.glance().await).is_empty(), "nothing comes twice");
        heard.push(received);
    }
    assert_eq!(heard[0], heard[1]);
}

#[tokio::test]
async fn devices_that_a_file_registers_reach_both() {
    let pair = Pair::listening("/managedobjects/*").await;
    let file = "ID;CREDENTIALS;TYPE;NAME;PATH\na0;secret-of-a-machine;pump;Pump;North\n\
        a1;secret-of-a-machine;pump;Pump;North\n";
    let form = format!(
        "------b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"devices.csv\"\r\n\
         Content-Type: text/csv\r\n\r\n{file}\r\n------b--\r\n"
    );
    let request = pair.callers[1].request("POST", "/devicecontrol/bulkNewDeviceRequests");
    request.header("Content-Type", "multipart/form-data; boundary=----b").body(form).send().await.expect(201);
    for session in &pair.sessions {
        let actions: Vec<String> = super::received(session, 4).await;
        let actions: Vec<&str> = actions.iter().filter_map(|told| told.split(' ').next()).collect();
        assert_eq!(actions, ["CREATE", "CREATE", "CREATE", "UPDATE"]);
        assert!(notifications(&session.glance().await).is_empty(), "nothing comes twice");
    }
}
