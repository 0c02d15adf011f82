//! The quota of stored bytes bounds every way to store, and updates that grow.

use super::*;

const APPLICATIONS: &str = "/application/applications";
const BULK: &str = "/devicecontrol/bulkoperations";
const GROUPS: &str = "/user/t7/groups";
const OPERATIONS: &str = "/devicecontrol/operations";

#[tokio::test]
async fn new_data_beyond_the_quota_of_bytes_is_403_and_changes_and_deletions_work() {
    let (server, boss) = with_tenant("t7").await;
    let device = boss.create_device("pump").await;
    let other = boss.create_device("valve").await;
    let alarm = boss.raise_alarm(&device, "smoke").await["id"].as_str().unwrap().to_owned();
    let event = boss.create_event(&device, "door").await["id"].as_str().unwrap().to_owned();
    measured(&server, 5000).await;
    set(&server, "t7", json!({"storedBytes": 5000})).await;

    let measurement = crate::harness::measurement_of(&device, "2024-03-10T02:30:00.000Z", 1);
    for (path, body) in [
        (OBJECTS, json!({"name": "asset"})),
        ("/alarm/alarms", crate::harness::alarm_of(&device, "fire")),
        ("/event/events", crate::harness::event_of(&device, "door")),
        ("/measurement/measurements", measurement),
        (&*format!("{OBJECTS}/{device}/childAssets"), json!({"name": "asset"})),
        (&*format!("{OBJECTS}/{device}/childAssets"), json!({"managedObject": {"id": other}})),
        (
            "/audit/auditRecords",
            json!({"activity": "a", "type": "t", "time": "2024-03-10T02:30:00Z", "text": "x", "source": {"id": "1"},
                "severity": "minor"}),
        ),
        ("/user/t7/users", json!({"userName": "joe", "password": "secret-1"})),
        ("/user/t7/groups", json!({"name": "plumbers"})),
        (
            "/devicecontrol/bulkoperations",
            json!({"groupId": other, "startDate": "2099-01-01T00:00:00Z", "creationRamp": 1,
                "operationPrototype": {"x": 1}}),
        ),
        ("/application/tokenClients", json!({"name": "dashboard"})),
        (
            "/application/applications",
            json!({"name": "a", "key": "a-key", "type": "EXTERNAL", "externalUrl": "http://a.example.com"}),
        ),
        ("/retention/retentions", json!({"dataType": "ALARM", "maximumAge": 30})),
        ("/devicecontrol/newDeviceRequests", json!({"id": "sn7"})),
        ("/tenant/options", json!({"category": "c", "key": "k", "value": "v"})),
        (&*format!("/identity/globalIds/{device}/externalIds"), json!({"type": "t", "externalId": "x"})),
    ] {
        let refused = boss.post(path, &body).await.expect(403);
        let said = "quota 'storedBytes' of the tenant is used up: 5000 of 5000";
        assert!(refused.message().contains(said), "{path}: {}", refused.text);
    }
    let module = boss.request("POST", "/cep/modules").header("Content-Type", "text/plain");
    module.body("module m; select * from EventCreated;").send().await.expect(403);
    let (large, small) = ("x".repeat(100_000), "x".repeat(10_000));
    for path in
        [format!("{OBJECTS}/{device}"), format!("/alarm/alarms/{alarm}"), format!("/event/events/{event}")]
    {
        boss.put(&path, &json!({"acme_Large": large})).await.expect(403);
        boss.put(&path, &json!({"acme_Small": small})).await.expect(200);
    }
    boss.put("/user/t7/users/boss", &json!({"customProperties": {"large": large}})).await.expect(403);
    boss.put(&format!("/alarm/alarms/{alarm}"), &json!({"status": "CLEARED"})).await.expect(200);
    boss.put(&format!("{OBJECTS}/{device}"), &json!({"name": "other"})).await.expect(200);
    boss.delete(&format!("{OBJECTS}/{device}")).await.expect(204);
    assert_eq!(limit(&boss, "storedBytes").await, json!({"value": 5000, "from": "tenant", "usage": 5000}));
    measured(&server, 4000).await;
    until("room for more data", async || boss.post(OBJECTS, &json!({"name": "asset"})).await.status == 201)
        .await;
}

/// Returns the path of a created resource.
fn link_of(path: &str, created: &Value) -> String {
    match &created["id"] {
        Value::String(id) => format!("{path}/{id}"),
        id => format!("{path}/{id}"),
    }
}

/// Expects that the quota refuses a request.
async fn expect_refused(caller: &Caller, method: &str, path: &str, body: &Value) {
    let refused = caller.request(method, path).json(body).send().await.expect(403);
    let said = "quota 'storedBytes' of the tenant is used up: 5000 of 5000";
    assert!(refused.message().contains(said), "{method} {path}: {}", refused.text);
}

#[tokio::test]
async fn every_other_way_to_store_is_403_beyond_the_quota_of_bytes_too() {
    let server = TestServer::start().await;
    let boss = create_reseller(&server, "t7").await;
    let agent = json!({"plat_IsDevice": {}, "com_platform_model_Agent": {}});
    let agent = boss.create(OBJECTS, &agent).await["id"].clone();
    let bulk = json!({"groupId": empty_group(&boss).await, "startDate": "2099-01-01T00:00:00Z", "creationRamp": 1,
        "operationPrototype": {"x": 1}});
    let bulk = link_of(BULK, &boss.create(BULK, &bulk).await);
    let operation = link_of(OPERATIONS, &boss.create(OPERATIONS, &json!({"deviceId": agent, "x": {}})).await);
    let application =
        json!({"name": "a", "key": "a-key", "type": "EXTERNAL", "externalUrl": "http://a.example.com"});
    let application = link_of(APPLICATIONS, &boss.create(APPLICATIONS, &application).await);
    measured(&server, 5000).await;
    set(&server, "t7", json!({"storedBytes": 5000})).await;

    let large = "x".repeat(100_000);
    for (method, path, body) in [
        ("PUT", &*operation, json!({"acme_Large": large})),
        ("PUT", &*bulk, json!({"operationPrototype": {"acme_Large": large}})),
        ("POST", "/tenant/tenants", super::super::tenant_of("another")),
        ("POST", &*format!("{application}/clone"), json!({})),
    ] {
        expect_refused(&boss, method, path, &body).await;
    }
    for file in ["ID;CREDENTIALS;TYPE;NAME\nsn1;secret-of-a-machine;pump;Pump\n", "ID\nsn2\n"] {
        let done = register(&boss, file).await;
        assert_eq!((&done["numberOfSuccessful"], &done["numberOfFailed"]), (&json!(0), &json!(1)), "{done}");
        assert!(done.to_string().contains("quota 'storedBytes'"), "{done}");
    }
    boss.put(&operation, &json!({"status": "EXECUTING"})).await.expect(200);
}

#[tokio::test]
async fn updates_that_leave_their_previous_content_in_the_database_count_with_it() {
    let (server, boss) = with_tenant("t7").await;
    let [old, new] = ["x", "y"].map(|letter| json!({"acme_Large": letter.repeat(100_000)}));
    let with = |more: Value| {
        let mut body = old.clone();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let agent = json!({"plat_IsDevice": {}, "com_platform_model_Agent": {}});
    let agent = boss.create(OBJECTS, &agent).await["id"].as_str().unwrap().to_owned();
    let alarm = crate::harness::alarm_of(&agent, "smoke");
    let alarm = link_of("/alarm/alarms", &boss.create("/alarm/alarms", &with(alarm)).await);
    let operation = link_of(OPERATIONS, &boss.create(OPERATIONS, &with(json!({"deviceId": agent}))).await);
    let rule = link_of(OBJECTS, &boss.create(OBJECTS, &with(json!({"type": "plat_SmartRule"}))).await);
    let asset = link_of(OBJECTS, &boss.create(OBJECTS, &old).await);
    let bulk = json!({"groupId": empty_group(&boss).await, "startDate": "2099-01-01T00:00:00Z", "creationRamp": 1,
        "operationPrototype": old});
    let waiting = link_of(BULK, &boss.create(BULK, &bulk).await);
    let ended = link_of(BULK, &boss.create(BULK, &bulk).await);
    server
        .database()
        .execute("UPDATE bulk_operations SET status = 'COMPLETED' WHERE id = $1", &[&id_of(&ended)])
        .await;
    let group = link_of(GROUPS, &boss.create(GROUPS, &json!({"name": "plumbers"})).await);
    boss.create("/user/t7/users", &json!({"userName": "joe", "password": "secret-1"})).await;
    measured(&server, 5000).await;
    set(&server, "t7", json!({"storedBytes": 5000})).await;

    let permission = |n: usize| format!("ALARM:x{n:01000}:READ");
    let permissions = json!({"devicePermissions": {"1": (0..70).map(permission).collect::<Vec<_>>()}});
    for (path, body) in [
        (&*alarm, new.clone()),
        (&*operation, json!({"status": "EXECUTING", "acme_Large": new["acme_Large"]})),
        (&*rule, new.clone()),
        (&*ended, json!({"operationPrototype": new})),
        (&*group, permissions.clone()),
        ("/user/t7/users/joe", permissions),
    ] {
        expect_refused(&boss, "PUT", path, &body).await;
    }
    for (path, body) in [
        (&*operation, new.clone()),
        (&*asset, new.clone()),
        (&*waiting, json!({"operationPrototype": new})),
        (&*alarm, json!({"status": "CLEARED"})),
        (&*rule, json!({"acme_Large": null})),
        (&*group, json!({"devicePermissions": {"1": ["ALARM:*:READ"]}})),
    ] {
        boss.put(path, &body).await.expect(200);
    }
}

/// Returns the id at the end of a path.
fn id_of(path: &str) -> i64 {
    path.rsplit('/').next().unwrap().parse().unwrap()
}

async fn empty_group(caller: &Caller) -> Value {
    caller.create(OBJECTS, &json!({"plat_IsDeviceGroup": {}})).await["id"].clone()
}

/// Sets the measured bytes of the tenant.
async fn measured(server: &TestServer, bytes: i64) {
    // A server measures at its start and would overwrite the value, so this waits for that measurement.
    until("the end of the first measurement", async || server.database().count("database_sizes").await > 0)
        .await;
    let row = "INSERT INTO tenant_usage (tenant, measured_at, devices, devices_with_children, stored_bytes, tables) \
        VALUES ('t7', now(), 0, 0, $1, '{}') \
        ON CONFLICT (tenant) DO UPDATE SET stored_bytes = excluded.stored_bytes";
    server.database().execute(row, &[&bytes]).await;
}
