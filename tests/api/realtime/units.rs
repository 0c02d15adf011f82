//! `systemOfUnits` of a session (B-20, G-10).

use super::*;

async fn measure(caller: &Caller, device: &str, value: f64) -> Value {
    let measurement = json!({
        "type": "t",
        "time": "2024-03-10T02:30:00.000+01:00",
        "source": {"id": device},
        "plat_Heat": {"T": {"value": value, "unit": "°C"}, "H": {"value": 40, "unit": "%"}},
    });
    caller.create("/measurement/measurements", &measurement).await
}

async fn listen_in(caller: &Caller, units: Value, channel: &str) -> Session {
    let session = caller.session_with(json!({"ext": {"systemOfUnits": units}})).await;
    assert_eq!(session.subscribe(channel).await["successful"], true);
    session
}

#[tokio::test]
async fn each_session_is_notified_in_its_units() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let channel = format!("/measurements/{device}");
    let mut sessions = vec![(admin.listen(&channel).await, 100.0, "°C")];
    for (units, value, unit) in [
        (json!("imperial"), 212.0, "°F"),
        (json!("metric"), 100.0, "°C"),
        (json!("Imperial"), 212.0, "°F"),
        (Value::Null, 100.0, "°C"),
    ] {
        sessions.push((listen_in(&admin, units, &channel).await, value, unit));
    }

    let stored = measure(&admin, &device, 100.0).await;

    for (session, value, unit) in sessions {
        let told = session.receive(1).await;
        let data = &told[0]["data"];
        assert_eq!(told[0]["channel"], channel);
        assert_eq!(data["realtimeAction"], "CREATE");
        let heat = &data["data"]["plat_Heat"];
        assert_eq!((heat["T"]["value"].as_f64(), heat["T"]["unit"].as_str()), (Some(value), Some(unit)));
        assert_eq!(heat["H"], json!({"value": 40, "unit": "%"}));
        assert_eq!(without(&data["data"], &["plat_Heat"]), without(&stored, &["plat_Heat"]));
    }
}

#[tokio::test]
async fn units_hold_for_the_session_whatever_it_subscribes_to() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = listen_in(&admin, json!("imperial"), "/measurements/*").await;
    session.subscribe(&format!("/measurements/{device}")).await;
    session.subscribe("/alarms/*").await;

    measure(&admin, &device, 0.0).await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    session.unsubscribe("/measurements/*").await;
    measure(&admin, &device, -40.0).await;

    let mut values = Vec::new();
    for message in session.receive(3).await {
        if message["channel"].as_str().unwrap().starts_with("/alarms/") {
            assert_eq!(message["data"]["data"], alarm)
        } else {
            values.push(message["data"]["data"]["plat_Heat"]["T"].clone())
        }
    }
    assert_eq!(values, [json!({"value": 32, "unit": "°F"}), json!({"value": -40, "unit": "°F"})]);
}

#[tokio::test]
async fn other_systems_of_units_are_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for units in [json!("nautical"), json!(""), json!(5), json!({}), json!(["metric"]), json!(true)] {
        let reply = admin.handshake(json!({"ext": {"systemOfUnits": units}})).await;
        assert_eq!(
            (&reply["successful"], &reply["error"], &reply["advice"]["reconnect"]),
            (&json!(false), &json!("403::Handshake denied"), &json!("none")),
            "{units}"
        );
        assert_eq!(reply.get("clientId"), None);
    }
}
