//! The fragments that the server itself adds to managed objects.

use super::*;

async fn raise(caller: &Caller, source: &str, kind: &str, severity: &str) -> String {
    let mut alarm = alarm_of(source, kind);
    alarm["severity"] = json!(severity);
    let raised = caller.create(ALARMS, &alarm).await;
    format!("{ALARMS}/{}", raised["id"].as_str().unwrap())
}

fn counts(critical: i64, major: i64, minor: i64, warning: i64) -> Value {
    json!({"critical": critical, "major": major, "minor": minor, "warning": warning})
}

#[tokio::test]
async fn device_shows_how_many_alarms_are_active_or_acknowledged() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    assert_eq!(admin.read(&object(&device)).await["plat_ActiveAlarmsStatus"], counts(0, 0, 0, 0));

    let acknowledged = raise(&admin, &device, "a", "CRITICAL").await;
    admin.put(&acknowledged, &json!({"status": "ACKNOWLEDGED"})).await;
    raise(&admin, &device, "b", "MAJOR").await;
    raise(&admin, &device, "c", "MAJOR").await;
    raise(&admin, &device, "c", "MAJOR").await;
    let cleared = raise(&admin, &device, "d", "WARNING").await;
    admin.put(&cleared, &json!({"status": "CLEARED"})).await;

    let expected = counts(1, 2, 0, 0);
    assert_eq!(admin.read(&object(&device)).await["plat_ActiveAlarmsStatus"], expected);
    let list = admin.read(OBJECTS).await;
    assert_eq!(list["managedObjects"][0]["plat_ActiveAlarmsStatus"], expected);
    let bare = admin.read(&format!("{OBJECTS}?withChildren=false")).await;
    assert_eq!(bare["managedObjects"][0]["plat_ActiveAlarmsStatus"], expected);
}

#[tokio::test]
async fn child_in_a_list_of_children_shows_its_alarms() {
    let (_server, admin, parent) = TestServer::shared().await.with_device("gateway").await;
    let body = json!({"name": "pump", "plat_IsDevice": {}});
    let child = admin.create(&format!("{}/childDevices", object(&parent)), &body).await;
    raise(&admin, child["id"].as_str().unwrap(), "a", "MINOR").await;

    let list = admin.read(&format!("{}/childDevices", object(&parent))).await;

    let shown = &list["references"][0]["managedObject"];
    assert_eq!(shown["plat_ActiveAlarmsStatus"], counts(0, 0, 1, 0), "{list}");
    let read = admin.read(&object(child["id"].as_str().unwrap())).await;
    assert_eq!(read["plat_ActiveAlarmsStatus"], counts(0, 0, 1, 0));
}

#[tokio::test]
async fn object_that_is_not_a_device_shows_alarms_as_long_as_one_is_open() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let created = admin.create(OBJECTS, &json!({"name": "building"})).await;
    let id = created["id"].as_str().unwrap();
    assert_eq!(created.get("plat_ActiveAlarmsStatus"), None);

    let alarm = raise(&admin, id, "a", "WARNING").await;
    assert_eq!(admin.read(&object(id)).await["plat_ActiveAlarmsStatus"], counts(0, 0, 0, 1));
    admin.put(&alarm, &json!({"status": "CLEARED"})).await;

    assert_eq!(admin.read(&object(id)).await.get("plat_ActiveAlarmsStatus"), None);
}

#[tokio::test]
async fn availability_is_shown_on_objects_that_ask_for_it_only() {
    let (_server, admin) = server().await.with_admin();
    let body = json!({"name": "pump", "plat_RequiredAvailability": {"responseInterval": 10}});

    let created = admin.create(OBJECTS, &body).await;

    let expected = json!({"lastMessage": created["creationTime"], "status": "AVAILABLE"});
    assert_eq!(created["plat_Availability"], expected);
    assert_eq!(created.get("plat_Connection"), None, "before the interval has passed once");
    assert_eq!(admin.read(created["self"].as_str().unwrap()).await, created);
    let other = admin.create_device("motor").await;
    let other = admin.read(&object(&other)).await;
    assert_eq!((other.get("plat_Availability"), other.get("plat_Connection")), (None, None));
}

#[tokio::test]
async fn clients_cannot_write_what_the_server_writes() {
    let (server, admin) = server().await.with_admin();
    let forged = json!({
        "plat_IsDevice": {},
        "plat_ActiveAlarmsStatus": {"critical": 9},
        "plat_Availability": {"status": "forged"},
        "plat_Connection": null,
        "other": 1,
    });
    let honest = |object: &Value| {
        assert_eq!(object["plat_ActiveAlarmsStatus"], counts(0, 0, 0, 0));
        assert_eq!((object.get("plat_Availability"), object.get("plat_Connection")), (None, None));
        assert_eq!(object["other"], 1);
    };

    let created = admin.create(OBJECTS, &forged).await;
    honest(&created);
    let path = created["self"].as_str().unwrap();
    honest(&admin.put(path, &forged).await.json());
    honest(&admin.read(path).await);

    let only = json!({"plat_Availability": {"status": "forged"}});
    let unchanged = admin.put(path, &only).await.json();
    assert_eq!(unchanged["lastUpdated"], admin.read(path).await["lastUpdated"]);
    let stored = server.database().query("SELECT fragments::text FROM managed_objects", &[]).await;
    assert!(stored.iter().all(|row| !row.get::<_, &str>(0).contains("forged")));
}

#[tokio::test]
async fn interval_is_clamped_to_16_bits_and_must_be_a_number() {
    let (_server, admin) = server().await.with_admin();
    for (given, stored, status) in [
        (json!(40000), json!(32767), json!("AVAILABLE")),
        (json!(-40000), json!(-32768), json!("MAINTENANCE")),
        (json!(0.5), json!(0.5), json!("AVAILABLE")),
        (json!("10"), json!("10"), Value::Null),
        (json!({"deep": []}), json!({"deep": []}), Value::Null),
    ] {
        let body = json!({"plat_RequiredAvailability": {"responseInterval": given}});
        let created = admin.create(OBJECTS, &body).await;
        let changed = admin.create(OBJECTS, &json!({})).await;
        admin.put(changed["self"].as_str().unwrap(), &body).await;

        for path in [&created["self"], &changed["self"]] {
            let shown = admin.read(path.as_str().unwrap()).await;
            assert_eq!(shown["plat_RequiredAvailability"]["responseInterval"], stored, "{given}");
            assert_eq!(shown["plat_Availability"]["status"], status, "{given}");
        }
    }
    for body in [json!({"plat_RequiredAvailability": 7}), json!({"plat_RequiredAvailability": [null]})] {
        assert_eq!(admin.create(OBJECTS, &body).await.get("plat_Availability"), None);
    }
}

#[tokio::test]
async fn object_is_watched_from_the_put_that_asks_for_it_to_the_one_that_removes_it() {
    let (server, admin) = server().await.with_admin();
    let path = object(&admin.create_device("pump").await);

    let body = json!({"plat_RequiredAvailability": {"responseInterval": 3}});
    let watched = admin.put(&path, &body).await.json();
    assert_eq!(watched["plat_Availability"]["status"], "AVAILABLE");
    assert_eq!(watched["plat_Availability"]["lastMessage"], watched["lastUpdated"]);
    admin.put(&path, &json!({"name": "motor"})).await;
    assert_eq!(admin.read(&path).await["plat_Availability"], watched["plat_Availability"]);

    admin.put(&path, &json!({"plat_RequiredAvailability": null})).await;
    assert_eq!(admin.read(&path).await.get("plat_Availability"), None);
    assert_eq!(server.count("availability").await, 0);
}

#[tokio::test]
async fn children_and_deleted_objects_are_watched_and_forgotten_too() {
    let (server, admin, parent) = server().await.with_device("gateway").await;
    let body = json!({"plat_RequiredAvailability": {"responseInterval": 3}});

    let child = admin.create(&format!("{}/childDevices", object(&parent)), &body).await;
    assert_eq!(status(&admin, child["id"].as_str().unwrap()).await, "AVAILABLE");
    admin.delete(&object(child["id"].as_str().unwrap())).await;

    assert_eq!(server.count("availability").await, 0);
}

#[tokio::test]
async fn active_critical_alarm_makes_a_watched_device_unavailable() {
    let (_server, admin) = server().await.with_admin();
    let device = watched(&admin, 10).await;
    let alarm = raise(&admin, &device, "fire", "CRITICAL").await;
    raise(&admin, &device, "smoke", "MAJOR").await;
    assert_eq!(status(&admin, &device).await, "UNAVAILABLE");

    admin.put(&alarm, &json!({"status": "ACKNOWLEDGED"})).await;
    assert_eq!(status(&admin, &device).await, "AVAILABLE");
    admin.put(&alarm, &json!({"status": "ACTIVE"})).await;
    assert_eq!(status(&admin, &device).await, "UNAVAILABLE");
    admin.put(&alarm, &json!({"status": "CLEARED"})).await;

    assert_eq!(status(&admin, &device).await, "AVAILABLE");
    assert_eq!(super::unavailability_alarms(&admin, &device).await, Vec::<Value>::new());
}

#[tokio::test]
async fn silent_device_is_unavailable_and_disconnected() {
    let (server, admin) = server().await.with_admin();
    let device = watched(&admin, 10).await;

    silence(server.database(), &device, 9).await;
    assert_eq!(status(&admin, &device).await, "AVAILABLE");
    silence(server.database(), &device, 2).await;

    let shown = admin.read(&object(&device)).await;
    assert_eq!(shown["plat_Availability"]["status"], "UNAVAILABLE");
    assert_eq!(shown["plat_Connection"], json!({"status": "DISCONNECTED"}));
}

#[tokio::test]
async fn notifications_have_what_the_server_writes() {
    let (_server, admin) = server().await.with_admin();
    let session = admin.listen("/managedobjects/*").await;
    let device = watched(&admin, 10).await;
    raise(&admin, &device, "fire", "CRITICAL").await;
    admin.put(&object(&device), &json!({"name": "motor"})).await;

    let told = session.receive(2).await;

    let shown = |n: usize| &told[n]["data"]["data"];
    assert_eq!(shown(0)["plat_ActiveAlarmsStatus"], counts(0, 0, 0, 0));
    assert_eq!(shown(0)["plat_Availability"]["status"], "AVAILABLE");
    assert_eq!(shown(1)["plat_ActiveAlarmsStatus"], counts(1, 0, 0, 0));
    assert_eq!(shown(1)["plat_Availability"]["status"], "UNAVAILABLE");
}
