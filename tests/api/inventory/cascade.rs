//! The objects that are deleted with an object (I-10, I-11, B-06).

use super::*;

/// Creates a tree of objects below a parent and returns the new id.
async fn below(caller: &Caller, parent: &str, block: &str, body: Value) -> String {
    caller.create(&format!("{OBJECTS}/{parent}/{block}"), &body).await["id"].as_str().unwrap().to_owned()
}

async fn object(caller: &Caller, body: Value) -> String {
    caller.create(OBJECTS, &body).await["id"].as_str().unwrap().to_owned()
}

fn group() -> Value {
    json!({"name": "g", "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}})
}

fn subgroup() -> Value {
    json!({"name": "s", "type": "plat_DeviceSubgroup", "plat_IsDeviceGroup": {}})
}

fn device() -> Value {
    json!({"name": "d", "plat_IsDevice": {}})
}

/// Returns which of these objects still exist.
async fn left(caller: &Caller, ids: &[&String]) -> Vec<bool> {
    let mut left = Vec::new();
    for id in ids {
        left.push(caller.get(&format!("{OBJECTS}/{id}")).await.status == 200);
    }
    left
}

#[tokio::test]
async fn deleted_group_takes_its_subgroups_but_not_its_devices() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let top = object(&admin, group()).await;
    let sub = below(&admin, &top, "childAssets", subgroup()).await;
    let lower = below(&admin, &sub, "childAssets", subgroup()).await;
    let member = below(&admin, &lower, "childAssets", device()).await;
    let session = admin.listen("/managedobjects/*").await;

    admin.delete(&format!("{OBJECTS}/{top}")).await.expect(204);

    assert_eq!(left(&admin, &[&top, &sub, &lower, &member]).await, [false, false, false, true]);
    let told = session.receive(3).await;
    let gone: Vec<&Value> = told.iter().map(|message| &message["data"]["data"]).collect();
    assert_eq!(gone, [&json!(top), &json!(sub), &json!(lower)]);
}

#[tokio::test]
async fn deleted_device_leaves_its_children_unless_asked() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let gateway = object(&admin, device()).await;
    let sensor = below(&admin, &gateway, "childDevices", device()).await;

    admin.delete(&format!("{OBJECTS}/{gateway}")).await;

    assert_eq!(left(&admin, &[&gateway, &sensor]).await, [false, true]);
}

#[tokio::test]
async fn cascade_continues_from_devices_and_groups_only() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let top = object(&admin, group()).await;
    let gateway = below(&admin, &top, "childAssets", device()).await;
    let sensor = below(&admin, &gateway, "childDevices", device()).await;
    let building = below(&admin, &top, "childAssets", json!({"name": "building"})).await;
    let room = below(&admin, &building, "childAssets", json!({"name": "room"})).await;
    let note = below(&admin, &top, "childAdditions", json!({"name": "note"})).await;

    admin.delete(&format!("{OBJECTS}/{top}?cascade=true")).await.expect(204);

    let left = left(&admin, &[&top, &gateway, &sensor, &building, &room, &note]).await;
    assert_eq!(left, [false, false, false, false, true, true]);
}

#[tokio::test]
async fn forced_cascade_continues_from_any_object() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let building = object(&admin, json!({"name": "building"})).await;
    let room = below(&admin, &building, "childAssets", json!({"name": "room"})).await;
    let sensor = below(&admin, &room, "childDevices", json!({"name": "sensor"})).await;
    // The object has two parents.
    admin.post(&format!("{OBJECTS}/{building}/childAssets"), &json!({"managedObject": {"id": sensor}})).await;

    let weak = admin.delete(&format!("{OBJECTS}/{room}?cascade=maybe")).await;
    let answer = admin.delete(&format!("{OBJECTS}/{building}?forceCascade=true")).await;

    assert_eq!((weak.status, answer.status), (422, 204), "{}", answer.text);
    assert_eq!(left(&admin, &[&building, &room, &sensor]).await, [false, false, false]);
}

#[tokio::test]
async fn everything_of_a_deleted_object_goes_with_it() {
    let (server, admin) = TestServer::start().await.with_admin();
    let gateway = object(&admin, device()).await;
    let sensor = below(&admin, &gateway, "childDevices", device()).await;
    admin.raise_alarm(&sensor, "hot").await;
    let name =
        "INSERT INTO external_ids SELECT tenant, 'plat_Serial', id::text, id, now() FROM managed_objects";
    server.database().execute(name, &[]).await;

    admin.delete(&format!("{OBJECTS}/{gateway}?cascade=true")).await;

    for table in ["managed_objects", "links", "alarms", "external_ids"] {
        assert_eq!(server.count(table).await, 0, "{table}");
    }
}

#[tokio::test]
async fn owner_may_not_take_what_is_not_theirs_along() {
    let (_server, admin, owner) = TestServer::shared().await.with_owner().await;
    let top = object(&owner, group()).await;
    let theirs = below(&admin, &top, "childAssets", device()).await;

    let cascade = owner.delete(&format!("{OBJECTS}/{top}?cascade=true")).await;
    let both_there = left(&admin, &[&top, &theirs]).await;
    let alone = owner.delete(&format!("{OBJECTS}/{top}")).await;

    assert_eq!((cascade.status, both_there, alone.status), (403, vec![true, true], 204), "{}", cascade.text);
    assert_eq!(left(&admin, &[&top, &theirs]).await, [false, true]);
}

#[tokio::test]
async fn more_objects_than_one_transaction_takes_are_all_gone_before_the_response() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let top = object(&admin, group()).await;
    let fill = "WITH made AS (INSERT INTO managed_objects (tenant, id, owner, created_at, updated_at, fragments) \
        SELECT $1, n, 'admin', now(), now(), '{\"plat_IsDevice\":{}}' FROM generate_series(1, 2500) n RETURNING \
        id) SELECT count(*) FROM made";
    server.rows(fill, &[]).await;
    let link = "INSERT INTO links (tenant, kind, parent, child) \
        SELECT $1, 'childAssets', $2::text::bigint, n FROM generate_series(1, 2500) n";
    server.execute(link, &[&top]).await;

    admin.delete(&format!("{OBJECTS}/{top}?cascade=true")).await.expect(204);

    assert_eq!(server.count("managed_objects").await, 0);
}
