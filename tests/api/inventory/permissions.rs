//! Device permissions and ownership by lineage, evaluated wherever something is read or written (U-12, I-05, I-06,
//! B-01).

use super::*;

async fn linked(caller: &Caller, parent: &str, block: &str, child: &str) {
    let body = json!({"managedObject": {"id": child}});
    assert_eq!(caller.post(&format!("{OBJECTS}/{parent}/{block}"), &body).await.status, 201);
}

/// Statuses of reading and of changing an object.
async fn may(caller: &Caller, id: &str) -> (u16, u16) {
    let path = format!("{OBJECTS}/{id}");
    (caller.get(&path).await.status, caller.put(&path, &json!({"x": 1})).await.status)
}

#[tokio::test]
async fn read_reads_admin_writes_and_a_star_does_both() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("a").await, admin.create_device("b").await);

    for (name, entry, expected) in [
        ("reads", "MANAGED_OBJECT:*:READ", (200, 403)),
        ("writes", "MANAGED_OBJECT:*:ADMIN", (403, 200)),
        ("both", "MANAGED_OBJECT:*:*", (200, 200)),
        ("all", "*:*:*", (200, 200)),
        ("else", "ALARM:*:*", (403, 403)),
    ] {
        let caller = server.user_permitted(name, &device, &[entry]).await;
        assert_eq!(may(&caller, &device).await, expected, "{entry}");
        assert_eq!(may(&caller, &other).await, (403, 403), "{entry}");
    }
}

#[tokio::test]
async fn fragment_of_a_permission_must_be_in_the_object() {
    let (server, _admin, device) = TestServer::shared().await.with_device("a").await;

    let with = server.user_permitted("with", &device, &["MANAGED_OBJECT:plat_IsDevice:*"]).await;
    let without = server.user_permitted("without", &device, &["MANAGED_OBJECT:plat_Relay:*"]).await;

    assert_eq!(may(&with, &device).await, (200, 200));
    assert_eq!(may(&without, &device).await, (403, 403));
}

#[tokio::test]
async fn permission_on_a_group_reaches_its_assets_and_their_devices() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mut ids = Vec::new();
    for name in ["group", "subgroup", "gateway", "sensor", "addition"] {
        ids.push(admin.create_device(name).await);
    }
    linked(&admin, &ids[0], "childAssets", &ids[1]).await;
    linked(&admin, &ids[1], "childAssets", &ids[2]).await;
    linked(&admin, &ids[2], "childDevices", &ids[3]).await;
    linked(&admin, &ids[2], "childAdditions", &ids[4]).await;
    let caller = server.user_permitted("joe", &ids[1], &["MANAGED_OBJECT:*:READ"]).await;

    let mut seen = Vec::new();
    for id in &ids {
        seen.push(may(&caller, id).await.0);
    }

    assert_eq!(seen, [403, 200, 200, 200, 403]);
    let page = caller.read(&format!("{OBJECTS}/{}/childDevices", ids[2])).await;
    assert_eq!(page["references"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn permissions_of_groups_are_added_to_those_of_the_user() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (one, two) = (admin.create_device("a").await, admin.create_device("b").await);
    let caller = server.user_permitted("joe", &one, &["MANAGED_OBJECT:*:READ"]).await;
    let group = "INSERT INTO groups (tenant, id, name, roles, device_permissions) \
        VALUES ($1, 77, 'plumbers', '{}', $2::text::json)";
    let permissions = json!({two.clone(): ["MANAGED_OBJECT:*:*"]}).to_string();
    server.execute(group, &[&permissions]).await;
    server.execute("INSERT INTO group_members VALUES ($1, 77, 'joe')", &[]).await;

    assert_eq!(may(&caller, &one).await, (200, 403));
    assert_eq!(may(&caller, &two).await, (200, 200));
}

#[tokio::test]
async fn alarms_are_read_and_written_by_permission_and_fragment() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let plain = admin.raise_alarm(&device, "plain").await["id"].as_str().unwrap().to_owned();
    let mut body = alarm_of(&device, "marked");
    body["plat_Mark"] = json!({});
    let marked = admin.create("/alarm/alarms", &body).await["id"].as_str().unwrap().to_owned();
    let reader = server.user_permitted("reader", &device, &["ALARM:*:READ"]).await;
    let narrow = server.user_permitted("narrow", &device, &["ALARM:plat_Mark:*"]).await;
    let get = async |caller: &Caller, id: &str| caller.get(&format!("/alarm/alarms/{id}")).await.status;
    let clear = async |caller: &Caller, id: &str| {
        caller.put(&format!("/alarm/alarms/{id}"), &json!({"status": "CLEARED"})).await.status
    };

    assert_eq!((get(&reader, &plain).await, get(&reader, &marked).await), (200, 200));
    assert_eq!((clear(&reader, &plain).await, clear(&reader, &marked).await), (403, 403));
    assert_eq!((get(&narrow, &plain).await, get(&narrow, &marked).await), (403, 200));
    assert_eq!((clear(&narrow, &plain).await, clear(&narrow, &marked).await), (403, 200));
    assert_eq!(narrow.post("/alarm/alarms", &alarm_of(&device, "other")).await.status, 403);
    assert_eq!(narrow.post("/alarm/alarms", &body).await.status, 201);
    assert_eq!(reader.post("/alarm/alarms", &body).await.status, 403);
}

#[tokio::test]
async fn owner_of_a_gateway_owns_what_hangs_on_it() {
    let (_server, admin, owner) = TestServer::shared().await.with_owner().await;
    let gateway = owner.create_device("gateway").await;
    let sensor = admin.create_device("sensor").await;
    let asset = admin.create_device("asset").await;
    linked(&admin, &gateway, "childDevices", &sensor).await;
    linked(&admin, &gateway, "childAssets", &asset).await;

    assert_eq!(may(&owner, &sensor).await, (200, 200));
    assert_eq!(may(&owner, &asset).await, (403, 403), "ownership comes down device links only");
    assert_eq!(owner.post("/alarm/alarms", &alarm_of(&sensor, "hot")).await.status, 201);
    assert_eq!(owner.post("/alarm/alarms", &alarm_of(&asset, "hot")).await.status, 403);

    admin.delete(&format!("{OBJECTS}/{gateway}/childDevices/{sensor}")).await;
    assert_eq!(owner.post("/alarm/alarms", &alarm_of(&sensor, "hot")).await.status, 403);
}

#[tokio::test]
async fn permission_for_a_device_does_not_become_ownership_by_a_link() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (target, mine) = (admin.create_device("target").await, admin.create_device("mine").await);
    let joe = server.user_permitted("joe", &target, &["MANAGED_OBJECT:*:ADMIN"]).await;
    let give =
        async |id: &str| admin.put(&format!("{OBJECTS}/{id}"), &json!({"owner": "joe"})).await.expect(200);
    give(&mine).await;
    let path = |block: &str| format!("{OBJECTS}/{mine}/{block}");
    let reference = json!({"managedObject": {"id": target}});

    for body in [&reference, &json!({"references": [reference]})] {
        joe.post(&path("childDevices"), body).await.expect_message(403, "ownership of the child");
        let transient = joe.request("POST", &path("childDevices"));
        transient.header("X-Platform-Processing-Mode", "TRANSIENT").json(body).send().await.expect(403);
    }
    joe.post(&path("childAssets"), &reference).await.expect(201);
    joe.post(&path("childAdditions"), &reference).await.expect(201);

    assert_eq!(joe.post("/alarm/alarms", &alarm_of(&target, "hot")).await.status, 403);
    let own = admin.create_device("own").await;
    give(&own).await;
    linked(&joe, &mine, "childDevices", &own).await;
    linked(&admin, &mine, "childDevices", &target).await;
    joe.post("/alarm/alarms", &alarm_of(&target, "hot")).await.expect(201);
}

#[tokio::test]
async fn permission_for_reading_opens_the_channel_of_its_device_only() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("a").await, admin.create_device("b").await);
    let caller = server.user_permitted("joe", &device, &["ALARM:*:READ", "EVENT:plat_X:READ"]).await;
    let session = caller.session().await;
    let allowed = async |channel: String| session.subscribe(&channel).await["successful"] == true;

    assert!(allowed(format!("/alarms/{device}")).await);
    assert!(!allowed(format!("/alarms/{other}")).await);
    assert!(!allowed("/alarms/*".into()).await, "a star needs the role");
    assert!(!allowed(format!("/managedobjects/{device}")).await);
    assert!(!allowed(format!("/events/{device}")).await, "fragments cannot be told apart on a channel");

    admin.raise_alarm(&device, "hot").await;
    assert_eq!(session.receive(1).await.len(), 1);
}

#[tokio::test]
async fn supported_series_are_read_from_stored_names() {
    let (server, admin, device) = TestServer::shared().await.with_device("a").await;
    let path = format!("{OBJECTS}/{device}");
    let read = async |caller: &Caller, what: &str| caller.get(&format!("{path}/{what}")).await;

    let none: Vec<Value> = vec![
        read(&admin, "supportedMeasurements").await.json(),
        read(&admin, "supportedSeries").await.json(),
    ];
    for fragments in
        [json!({"plat_T": {"b": {"value": 1}, "a": {"value": 1}}}), json!({"plat_A": {"z": {"value": 1}}})]
    {
        let mut body = json!({"type": "t", "time": "2024-01-01T00:00:00Z", "source": {"id": device}});
        body.as_object_mut().unwrap().extend(fragments.as_object().unwrap().clone());
        assert_eq!(admin.post("/measurement/measurements", &body).await.status, 201);
    }

    assert_eq!(none, [json!({"plat_SupportedMeasurements": []}), json!({"plat_SupportedSeries": []})]);
    let measurements = read(&admin, "supportedMeasurements").await.json();
    let series = read(&admin, "supportedSeries").await.json();
    assert_eq!(measurements, json!({"plat_SupportedMeasurements": ["plat_A", "plat_T"]}));
    assert_eq!(series, json!({"plat_SupportedSeries": ["plat_A.z", "plat_T.a", "plat_T.b"]}));
    assert_eq!(admin.get(&format!("{OBJECTS}/1/supportedSeries")).await.status, 404);
    assert_eq!(read(&server.user_with("bare", &[]).await, "supportedSeries").await.status, 403);
}
