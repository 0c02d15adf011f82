//! Devices in maintenance.

use super::*;

/// Sets the interval within which a device must send a message.
async fn set_interval(caller: &Caller, device: &str, minutes: i64) {
    let body = json!({"plat_RequiredAvailability": {"responseInterval": minutes}});
    assert_eq!(caller.put(&object(device), &body).await.status, 200);
}

async fn alarms(caller: &Caller) -> Vec<Value> {
    caller.read(ALARMS).await["alarms"].as_array().unwrap().clone()
}

#[tokio::test]
async fn both_statuses_are_maintenance_whatever_else_is_so() {
    let (server, admin) = server().await.with_admin();
    for minutes in [0, -1, -32768] {
        let device = watched(&admin, minutes).await;
        silence(server.database(), &device, 1000).await;

        let shown = admin.read(&object(&device)).await;

        assert_eq!(shown["plat_Availability"]["status"], "MAINTENANCE");
        assert_eq!(shown["plat_Connection"], json!({"status": "MAINTENANCE"}));
    }
}

#[tokio::test]
async fn new_alarm_is_returned_as_it_was_sent_and_neither_stored_nor_published() {
    let (server, admin) = server().await.with_admin();
    let session = admin.listen("/alarms/*").await;
    let device = watched(&admin, 0).await;
    let body = alarm_of(&device, "hot");

    let answer = admin.post(ALARMS, &body).await.expect(201);

    let location = format!("{}/alarm/alarms/null", server.base());
    assert_eq!(answer.header("Location"), Some(&*location));
    let alarm = answer.json();
    assert_eq!((&alarm["self"], alarm.get("id")), (&json!(location), None));
    for member in ["type", "time", "text", "severity"] {
        assert_eq!(alarm[member], body[member]);
    }
    assert_eq!(alarm["source"]["id"], json!(device));
    assert_eq!(alarms(&admin).await, Vec::<Value>::new());
    let other = admin.create_device("motor").await;
    admin.raise_alarm(&other, "cold").await;
    assert_eq!(session.receive(1).await[0]["data"]["data"]["type"], "cold", "told of the other alone");
}

#[tokio::test]
async fn open_alarms_stay_and_are_not_counted_but_may_be_changed() {
    let (_server, admin) = server().await.with_admin();
    let device = watched(&admin, 10).await;
    let open = admin.raise_alarm(&device, "hot").await;
    set_interval(&admin, &device, 0).await;

    let repeated = admin.raise_alarm(&device, "hot").await;
    let mut cleared = alarm_of(&device, "hot");
    cleared["status"] = json!("CLEARED");
    let cleared = admin.create(ALARMS, &cleared).await;

    assert_eq!((repeated.get("id"), cleared.get("id")), (None, None));
    let path = open["self"].as_str().unwrap();
    assert_eq!(redacted(&admin.read(path).await, &[]), redacted(&open, &[]));
    assert_eq!(admin.put(path, &json!({"status": "CLEARED"})).await.status, 200);
    assert_eq!(alarms(&admin).await[0]["status"], "CLEARED");
}

#[tokio::test]
async fn transient_alarm_is_suppressed_too() {
    let (_server, admin) = server().await.with_admin();
    let session = admin.listen("/alarms/*").await;
    let (device, other) = (watched(&admin, 0).await, admin.create_device("motor").await);
    let send = async |source: &str, kind: &str| {
        let request = admin.request("POST", ALARMS).header("X-Platform-Processing-Mode", "TRANSIENT");
        request.json(&alarm_of(source, kind)).send().await.status
    };

    assert_eq!(send(&device, "hot").await, 201);
    assert_eq!(send(&other, "cold").await, 201);

    assert_eq!(session.receive(1).await[0]["data"]["data"]["type"], "cold");
}

#[tokio::test]
async fn who_may_not_raise_alarms_may_not_in_maintenance() {
    let (server, admin) = server().await.with_admin();
    let device = watched(&admin, 0).await;
    let stranger = server.user_with("stranger", &[]).await;

    assert_eq!(stranger.post(ALARMS, &alarm_of(&device, "hot")).await.status, 403);
    assert_eq!(admin.post(ALARMS, &alarm_of("4711", "hot")).await.status, 422);
}

#[tokio::test]
async fn owner_gets_the_same_response_as_everybody() {
    let server = server().await;
    let owner = server.user_with("owner", &["ROLE_INVENTORY_CREATE"]).await;
    let device = watched(&owner, 0).await;

    let alarm = owner.raise_alarm(&device, "hot").await;

    assert_eq!(alarm.get("id"), None);
    assert_eq!(server.count("alarms").await, 0);
}

#[tokio::test]
async fn silent_device_in_maintenance_gets_no_alarm_until_it_ends() {
    let (server, admin) = server().await.with_admin();
    listened_for_long(server.database()).await;
    let device = watched(&admin, 0).await;
    silence(server.database(), &device, 1000).await;
    sweeps_went_by(&server).await;
    assert_eq!(unavailability_alarms(&admin, &device).await, Vec::<Value>::new());

    set_interval(&admin, &device, 10).await;

    assert_eq!(status(&admin, &device).await, "UNAVAILABLE", "recomputed at once");
    super::until_alarm_is(&admin, &device, "ACTIVE").await;
}

#[tokio::test]
async fn device_that_has_sent_is_available_when_maintenance_ends() {
    let (_server, admin) = server().await.with_admin();
    let device = watched(&admin, 0).await;

    set_interval(&admin, &device, 10).await;

    assert_eq!(status(&admin, &device).await, "AVAILABLE");
    admin.raise_alarm(&device, "hot").await;
    assert_eq!(alarms(&admin).await.len(), 1);
}

#[tokio::test]
async fn change_of_another_server_counts_at_once() {
    let [a, b] = TestServer::start_two().await;
    let device = watched(&a.admin(), 10).await;
    b.admin().raise_alarm(&device, "hot").await;

    for (minutes, expected) in [(0, false), (10, true), (-5, false)] {
        set_interval(&a.admin(), &device, minutes).await;
        let raised = b.admin().raise_alarm(&device, &format!("after {minutes}")).await;
        assert_eq!(raised.get("id").is_some(), expected, "{minutes}");
    }
}

#[tokio::test]
async fn neighbours_in_a_batch_are_not_concerned() {
    let (server, admin) = server().await.with_admin();
    let mut devices = Vec::new();
    for n in 0..20 {
        devices.push(watched(&admin, n % 2).await);
    }

    let posts: Vec<_> = devices
        .iter()
        .map(|device| {
            let (admin, body) = (admin.clone(), alarm_of(device, "hot"));
            tokio::spawn(async move { admin.create(ALARMS, &body).await })
        })
        .collect();

    for (n, post) in posts.into_iter().enumerate() {
        assert_eq!(post.await.unwrap().get("id").is_some(), n % 2 == 1, "{n}");
    }
    assert_eq!(server.count("alarms").await, 10);
}

#[tokio::test]
async fn object_without_the_fragment_raises_alarms_as_ever() {
    let (_server, admin) = server().await.with_admin();
    let id = admin.create(OBJECTS, &json!({"plat_RequiredAvailability": {"responseInterval": "0"}})).await;

    let alarm = admin.raise_alarm(id["id"].as_str().unwrap(), "hot").await;

    assert!(alarm["id"].is_string());
}
