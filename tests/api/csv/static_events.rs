//! Rows 400 to 407: events (H-14).

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::acting_device::{find, object_of};
use super::*;

const TIME: &str = "2024-03-10T02:30:00.000+01:00";

async fn device() -> (TestServer, Caller) {
    let (server, device) = with_device_user("sn-1").await;
    assert_eq!(send(&device, "100").await, "");
    (server, device)
}

/// Returns all events of the device, newest first, without members that contain the server's address.
async fn events(server: &TestServer) -> Vec<Value> {
    let source = find(server, "sn-1").await.unwrap();
    let page = server.admin().read(&format!("/event/events?source={source}&pageSize=2000")).await;
    let shown = |event: &Value| {
        let id = event["id"].as_str().unwrap();
        redacted(event, &[(&source, "<device>"), (id, "<id>"), (server.base(), "")])
    };
    page["events"].as_array().unwrap().iter().map(shown).collect()
}

fn of(type_: &str, text: &str, fragments: &Value) -> Value {
    let mut event = json!({
        "self": "/event/events/<id>", "id": "<id>", "creationTime": "<time>", "type": type_, "time": TIME,
        "text": text, "source": {"id": "<device>", "self": "/inventory/managedObjects/<device>",
            "name": "Device sn-1", "type": "plat_Device"},
    });
    event.as_object_mut().unwrap().extend(fragments.as_object().unwrap().clone());
    event
}

#[tokio::test]
async fn rows_are_events() {
    for (row, type_, text, fragments) in [
        ("400,door,\"Door \"\"1\"\", open\\n\",TIME", "door", "Door \"1\", open\\n", json!({})),
        (
            "401,1.5,-2,3,4,TIME",
            "plat_LocationUpdate",
            "Location updated",
            json!({"plat_Position": {"lat": 1.5, "lng": -2, "alt": 3, "accuracy": 4}}),
        ),
        (
            "401,1,2,,,TIME,",
            "plat_LocationUpdate",
            "Location updated",
            json!({"plat_Position": {"lat": 1, "lng": 2}}),
        ),
    ] {
        let (server, device) = device().await;
        assert_eq!(send(&device, &row.replace("TIME", TIME)).await, "", "{row}");
        assert_eq!(events(&server).await, [of(type_, text, &fragments)], "{row}");
        assert_eq!(object_of(&server, "sn-1").await.get("plat_Position"), None, "{row}");
    }
}

#[tokio::test]
async fn row_402_also_updates_the_position_of_the_device() {
    let (server, device) = device().await;

    assert_eq!(send(&device, &format!("112,9,9,9\n402,1.5,-2,,4,{TIME}")).await, "");

    let position = json!({"lat": 1.5, "lng": -2, "accuracy": 4});
    let event = of("plat_LocationUpdate", "Location updated", &json!({"plat_Position": position}));
    assert_eq!(events(&server).await, [event]);
    assert_eq!(object_of(&server, "sn-1").await["plat_Position"], position);
}

#[tokio::test]
async fn time_of_a_row_without_one_is_the_servers() {
    let (server, device) = device().await;

    let before = OffsetDateTime::now_utc() - Duration::SECOND;
    assert_eq!(send(&device, "400,a,b\n401,1,2\n402\n400,a,b,").await, "");

    let found = events(&server).await;
    assert_eq!(found.len(), 4);
    for event in found {
        let time = OffsetDateTime::parse(event["time"].as_str().unwrap(), &Rfc3339).unwrap();
        assert!(before < time && time <= OffsetDateTime::now_utc(), "{event}");
    }
}

#[tokio::test]
async fn fragments_of_the_newest_event_of_the_type_are_removed() {
    let (server, device) = device().await;
    let source = find(&server, "sn-1").await.unwrap();
    for (type_, time) in
        [("a", "2024-03-10T00:00:02Z"), ("a", "2024-03-10T00:00:01Z"), ("b", "2024-03-10T00:00:03Z")]
    {
        let mut body = event_of(&source, type_);
        let members = json!({"time": time, "acme_X": 1, "acme_Y": {"z": 2}});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        device.create("/event/events", &body).await;
    }

    assert_eq!(send(&device, "407,a,acme_X,,acme_Unknown\n407,a").await, "");

    let left: Vec<Value> =
        events(&server).await.iter().map(|e| json!([e["type"], e["acme_X"], e["acme_Y"]])).collect();
    assert_eq!(left, [json!(["b", 1, {"z": 2}]), json!(["a", null, {"z": 2}]), json!(["a", 1, {"z": 2}])]);
    assert_eq!(send(&device, "407,c,acme_X\n407,\"a\0\",acme_X").await, "50,1,404\n50,2,404\n");
}

#[tokio::test]
async fn wrong_arguments_are_reported_with_their_line() {
    let (server, device) = device().await;
    let number = "Wrong number of arguments";
    for (row, text) in [
        ("400", number),
        ("400,a", number),
        ("400,,b", number),
        ("400,a,b,2024-03-10T00:00:00Z,c", number),
        ("400,a,b,soon", "Value is not a DATE: soon"),
        ("400,a,b,2020-07-22", "Value is not a DATE: 2020-07-22"),
        ("400,a,b,2020-07-22T17:03:14", "Value is not a DATE: 2020-07-22T17:03:14"),
        ("401,x", "Value is not a NUMBER: x"),
        ("401,1,2,3,4,2024-03-10T00:00:00Z,x", number),
        ("401,1,2,3,4,x", "Value is not a DATE: x"),
        ("402,1,x", "Value is not a NUMBER: x"),
        ("402,1,2,3,4,2024-03-10T00:00:00Z,x", number),
        ("407", number),
        ("407,,a", number),
    ] {
        assert_eq!(send(&device, &format!("\n{row}\n")).await, format!("45,2,{text}\n"), "{row}");
    }
    assert!(events(&server).await.is_empty());
}

#[tokio::test]
async fn times_of_the_years_1_to_9999_are_kept() {
    let (server, device) = device().await;
    // Oldest first.
    let times = [
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00.000+14:00"),
        ("1900-01-01T00:00:00Z", "1900-01-01T00:00:00.000Z"),
        ("1970-01-01T00:00:00+01:00", "1970-01-01T00:00:00.000+01:00"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
    ];

    for (sent, _) in times {
        assert_eq!(send(&device, &format!("400,old,old,{sent}\n200,c,s,1,m,{sent}")).await, "", "{sent}");
    }
    let refused = send(&device, "400,old,old,0000-12-31T23:59:59Z").await;

    let shown: Vec<Value> = events(&server).await.iter().rev().map(|event| event["time"].clone()).collect();
    assert_eq!(shown, times.map(|(_, shown)| json!(shown)));
    assert!(refused.starts_with("45,1,"), "{refused}");
}
