//! Devices that are registered for a group (N-04).

use super::*;

async fn create_group(server: &TestServer) -> String {
    let group = json!({"name": "Hall 7", "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}});
    server.admin().create(OBJECTS, &group).await["id"].as_str().unwrap().to_owned()
}

/// Registers a device for a group and accepts it.
async fn admit_to(server: &TestServer, id: &str, group: &str) -> Caller {
    server.admin().create(REQUESTS, &json!({"id": id, "groupId": group})).await;
    accept(server, id).await;
    device(server, id, &password(&poll(server, id).await))
}

async fn members(server: &TestServer, group: &str) -> Vec<String> {
    let object = server.admin().read(&format!("{OBJECTS}/{group}")).await;
    let references = object["childAssets"]["references"].as_array().unwrap().clone();
    let id = |reference: Value| reference["managedObject"]["id"].as_str().unwrap().to_owned();
    references.into_iter().map(id).collect()
}

#[tokio::test]
async fn request_shows_its_group() {
    let (server, admin) = TestServer::start().await.with_admin();
    let group = create_group(&server).await;
    let number: i64 = group.parse().unwrap();

    let by_text = admin.create(REQUESTS, &json!({"id": "a", "groupId": group})).await;
    let by_number = admin.create(REQUESTS, &json!({"id": "b", "groupId": number})).await;

    assert_eq!((&by_text["groupId"], &by_number["groupId"]), (&json!(group), &json!(group)));
    assert_eq!(admin.read(&request_of("a")).await["groupId"], *group);
}

#[tokio::test]
async fn unknown_group_is_422() {
    let (server, admin) = TestServer::start_with_tenant("t7", "plant7.example.com").await.with_admin();
    let foreign = server.caller("t7/admin", ADMIN_PASSWORD).create_device("group").await;

    for group in
        [json!(foreign), json!("1"), json!("x"), json!(""), json!(-1), json!(1.5), json!({}), json!([1])]
    {
        let answer = admin.post(REQUESTS, &json!({"id": "a", "groupId": group})).await;
        assert_eq!((answer.status, &*answer.error()), (422, "undefined/validationError"), "{group}");
        assert!(answer.message().contains("groupId"), "{}", answer.text);
    }
    assert_eq!(server.database().count("new_device_requests").await, 0);
}

#[tokio::test]
async fn first_device_that_the_user_creates_is_put_in_the_group() {
    let server = TestServer::start().await;
    let group = create_group(&server).await;
    let device = admit_to(&server, "sn-1", &group).await;

    let asset = device.create(OBJECTS, &json!({"name": "no device"})).await;
    let first = device.create_device("agent").await;
    let second = device.create_device("child").await;

    assert_eq!(members(&server, &group).await, std::slice::from_ref(&first));
    let own = device.read(&format!("{OBJECTS}/{first}?withParents=true")).await;
    assert_eq!(own["assetParents"]["references"][0]["managedObject"]["id"], *group);
    assert_eq!(own["owner"], "device_sn-1");
    assert!(asset["id"].is_string() && second != first);
    assert_eq!(server.count("device_placements").await, 0);
}

#[tokio::test]
async fn group_is_remembered_beyond_the_request_and_a_restart() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let group = create_group(&server).await;
    server.admin().create(REQUESTS, &json!({"id": "sn-1", "groupId": group})).await;
    accept(&server, "sn-1").await;
    let secret = password(&poll(&server, "sn-1").await);
    assert!(super::gets_in(&device(&server, "sn-1", &secret)).await);
    assert_eq!(server.admin().get(&request_of("sn-1")).await.status, 404);
    server.stop().await;
    let server = TestServer::start_on(&database, |_| {}).await;

    let created = device(&server, "sn-1", &secret).create_device("agent").await;

    assert_eq!(members(&server, &group).await, [created]);
}

#[tokio::test]
async fn subscribers_of_the_group_are_notified() {
    let (server, admin) = TestServer::start().await.with_admin();
    let group = create_group(&server).await;
    let device = admit_to(&server, "sn-1", &group).await;
    let session = admin.listen(&format!("/managedobjects/{group}")).await;

    let created = device.create_device("agent").await;

    let told = session.glance_until_told().await;
    let data = &notifications(&told)[0]["data"];
    assert_eq!(data["realtimeAction"], "UPDATE");
    assert_eq!(data["data"]["childAssets"]["references"][0]["managedObject"]["id"], *created);
}

#[tokio::test]
async fn group_that_has_gone_is_ignored() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (before, after) = (create_group(&server).await, create_group(&server).await);
    admin.create(REQUESTS, &json!({"id": "sn-1", "groupId": before})).await;
    accept(&server, "sn-1").await;
    assert_eq!(admin.delete(&format!("{OBJECTS}/{before}")).await.status, 204);
    let early = device(&server, "sn-1", &password(&poll(&server, "sn-1").await));
    let late = admit_to(&server, "sn-2", &after).await;
    assert_eq!(admin.delete(&format!("{OBJECTS}/{after}")).await.status, 204);

    early.create_device("agent").await;
    late.create_device("agent").await;

    assert_eq!(server.count("links").await, 0);
}

#[tokio::test]
async fn device_that_only_looked_is_not_put_anywhere() {
    let server = TestServer::start().await;
    let group = create_group(&server).await;
    let device = admit_to(&server, "sn-1", &group).await;

    let request = device.request("POST", OBJECTS).header("X-Platform-Processing-Mode", "TRANSIENT");
    request.json(&json!({"plat_IsDevice": {}})).send().await.expect(201);

    assert!(members(&server, &group).await.is_empty());
    let created = device.create_device("agent").await;
    assert_eq!(members(&server, &group).await, [created]);
}

#[tokio::test]
async fn user_that_has_a_device_already_puts_no_other_in_the_group() {
    let server = TestServer::start().await;
    let group = create_group(&server).await;
    let first = super::admit(&server, "sn-1").await;
    let first = device(&server, "sn-1", &first);
    first.create_device("agent").await;

    let again = admit_to(&server, "sn-1", &group).await;
    again.create_device("child").await;

    assert!(members(&server, &group).await.is_empty());
}

#[tokio::test]
async fn placement_that_a_crash_left_puts_no_second_device_in_the_group() {
    let server = TestServer::start().await;
    let group = create_group(&server).await;
    let device = admit_to(&server, "sn-1", &group).await;
    let first = device.create_device("agent").await;
    // The row is as left by a server that died after the commit.
    let left = "INSERT INTO device_placements VALUES ('main', 'device_sn-1', $1)";
    server.database().execute(left, &[&group.parse::<i64>().unwrap()]).await;

    device.create_device("child").await;

    assert_eq!(members(&server, &group).await, [first]);
}

#[tokio::test]
async fn device_of_somebody_else_is_not_put_in_the_group() {
    let (server, admin) = TestServer::start().await.with_admin();
    let group = create_group(&server).await;
    admit_to(&server, "sn-1", &group).await;
    let other = super::admit(&server, "sn-2").await;

    admin.create_device("pump").await;
    device(&server, "sn-2", &other).create_device("agent").await;

    assert!(members(&server, &group).await.is_empty());
}
