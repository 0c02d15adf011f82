//! Create, read, change, delete.

use super::*;

/// The reference blocks of an object without relatives.
fn with_blocks(mut object: Value) -> Value {
    for block in
        ["childDevices", "childAssets", "childAdditions", "deviceParents", "assetParents", "additionParents"]
    {
        let link = format!("{}/{block}", object["self"].as_str().unwrap());
        object[block] = json!({"self": link, "references": []});
    }
    object
}

#[tokio::test]
async fn created_object_has_every_member_of_the_documents() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let body = json!({
        "name": "pump",
        "type": "plat_Pump",
        "plat_IsDevice": {},
        "plat_Position": {"alt": 67.5, "lng": 6.95173, "lat": 51.151977},
        "plat_SupportedOperations": ["plat_Restart", "plat_Restart"],
        "anything": [1, 2.5, -3e2, "ü", true, null, {"deep": {}}],
    });

    let created = admin.create(OBJECTS, &body).await;

    let id = created["id"].as_str().unwrap();
    let mut expected = with_blocks(json!({"self": "<base>/inventory/managedObjects/<id>"}));
    expected.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    expected["plat_ActiveAlarmsStatus"] = json!({"critical": 0, "major": 0, "minor": 0, "warning": 0});
    for (member, value) in
        [("id", "<id>"), ("owner", "admin"), ("creationTime", "<time>"), ("lastUpdated", "<time>")]
    {
        expected[member] = json!(value);
    }
    assert_eq!(redacted(&created, &[(server.base(), "<base>"), (id, "<id>")]), expected);
    assert_eq!(created["creationTime"], created["lastUpdated"]);
    assert_eq!(admin.read(&format!("{OBJECTS}/{id}")).await, created);
}

#[tokio::test]
async fn everything_about_an_object_is_optional() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let created = admin.create(OBJECTS, &json!({})).await;

    assert!(created.get("name").is_none() && created.get("type").is_none(), "{created}");
}

#[tokio::test]
async fn ids_rise_with_creation() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut ids = Vec::new();

    for n in 0..5 {
        ids.push(admin.create_device(&format!("pump {n}")).await.parse::<u64>().unwrap());
    }

    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
}

#[tokio::test]
async fn server_members_in_a_body_are_ignored() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let other = admin.create(OBJECTS, &json!({"name": "other"})).await;
    let body = json!({
        "id": other["id"], "self": "http://evil", "owner": "mallory", "creationTime": "2000-01-01T00:00:00Z",
        "lastUpdated": 5, "childDevices": {"references": [1]}, "deviceParents": null, "name": "pump",
    });

    let created = admin.create(OBJECTS, &body).await;
    let changed =
        admin.put(created["self"].as_str().unwrap(), &json!({"id": "1", "self": "x", "name": "motor"})).await;

    assert_ne!(created["id"], other["id"]);
    assert_eq!((&created["owner"], &created["childDevices"]["references"]), (&json!("admin"), &json!([])));
    assert!(!created["creationTime"].as_str().unwrap().starts_with("2000"), "{created}");
    let changed = changed.json();
    assert_eq!((&changed["id"], &changed["self"]), (&created["id"], &created["self"]));
    assert_eq!(admin.read(other["self"].as_str().unwrap()).await, other);
}

#[tokio::test]
async fn put_changes_only_what_was_sent_and_last_updated() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let created = admin.create(OBJECTS, &json!({"name": "pump", "type": "t", "plat_A": {"x": 1}})).await;

    let answer = admin.put(created["self"].as_str().unwrap(), &json!({"name": "motor", "plat_B": 2})).await;

    let changed = answer.json();
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(changed["lastUpdated"].as_str() >= created["lastUpdated"].as_str(), "{changed}");
    let mut expected = created;
    expected["name"] = json!("motor");
    expected["plat_B"] = json!(2);
    expected["lastUpdated"] = changed["lastUpdated"].clone();
    assert_eq!(changed, expected);
    assert_eq!(admin.read(expected["self"].as_str().unwrap()).await, expected);
}

#[tokio::test]
async fn empty_put_changes_nothing_not_even_last_updated() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let created = admin.create(OBJECTS, &json!({"name": "pump"})).await;
    let link = created["self"].as_str().unwrap();

    let empty = admin.put(link, &json!({})).await;
    let id_only = admin.put(link, &json!({"id": created["id"]})).await;

    assert_eq!((empty.status, id_only.status), (200, 200));
    assert_eq!((empty.json(), id_only.json()), (created.clone(), created.clone()));
    assert_eq!(admin.read(link).await, created);
}

#[tokio::test]
async fn parallel_changes_of_different_fragments_all_stay() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = format!("{OBJECTS}/{}", admin.create_device("pump").await);

    let changes = (0..20).map(|n| {
        let (admin, path) = (admin.clone(), path.clone());
        tokio::spawn(async move { admin.put(&path, &json!({format!("plat_{n}"): n})).await.status })
    });
    for change in changes.collect::<Vec<_>>() {
        assert_eq!(change.await.unwrap(), 200);
    }

    let object = admin.read(&path).await;
    for n in 0..20 {
        assert_eq!(object[format!("plat_{n}")], n);
    }
}

#[tokio::test]
async fn put_of_an_unknown_object_is_404() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.put(&format!("{OBJECTS}/4711"), &json!({"name": "pump"})).await;

    assert_eq!((answer.status, answer.error().as_str()), (404, "inventory/Not Found"));
}

#[tokio::test]
async fn deleted_object_is_gone_with_its_alarms() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (gone, kept) = (admin.create_device("gone").await, admin.create_device("kept").await);
    let alarm = admin.raise_alarm(&gone, "hot").await;
    admin.raise_alarm(&kept, "hot").await;
    let path = format!("{OBJECTS}/{gone}");

    let answer = admin.delete(&path).await;

    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    assert_eq!(admin.get(&path).await.status, 404);
    assert_eq!(admin.delete(&path).await.status, 404);
    assert_eq!(admin.get(alarm["self"].as_str().unwrap()).await.status, 404);
    assert_eq!(admin.read("/alarm/alarms").await["alarms"].as_array().unwrap().len(), 1);
    admin.post("/alarm/alarms", &crate::harness::alarm_of(&gone, "hot")).await.expect(422);
}

#[tokio::test]
async fn ids_rise_after_a_restart_with_a_clock_that_was_set_back() {
    let server = TestServer::start().await;
    server.admin().create_device("made while the clock was ahead").await;
    // The id is moved ahead by a day: ids begin with milliseconds, followed by twenty bits.
    server.database().execute("UPDATE managed_objects SET id = id + (86400000::bigint << 20)", &[]).await;
    let ahead = server.database().query("SELECT max(id) FROM managed_objects", &[]).await[0].get::<_, i64>(0);
    let database = server.shared_database();
    server.stop().await;

    let server = TestServer::start_on(&database, |_| {}).await;

    let id: i64 = server.admin().create_device("made later").await.parse().unwrap();
    assert!(id > ahead, "{id} {ahead}");
}
