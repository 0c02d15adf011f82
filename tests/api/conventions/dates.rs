//! Dates in bodies and parameters (docs/rules.md#bodies-and-media-types; C-11, C-12).

use super::*;

async fn raise_at(caller: &Caller, device: &str, kind: &str, time: &str) -> crate::harness::Response {
    let mut alarm = alarm_of(device, kind);
    alarm["time"] = json!(time);
    caller.post("/alarm/alarms", &alarm).await
}

#[tokio::test]
async fn time_is_shown_with_milliseconds_and_the_offset_it_came_with() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for (n, (given, shown)) in [
        ("2024-03-10T02:30:00+01:00", "2024-03-10T02:30:00.000+01:00"),
        ("2024-03-10T02:30:00.5Z", "2024-03-10T02:30:00.500Z"),
        ("2024-03-10T02:30:00.123456789-0530", "2024-03-10T02:30:00.123-05:30"),
        ("2024-02-29T23:59:59.999+14:00", "2024-02-29T23:59:59.999+14:00"),
        ("2024-03-10T02:30:00+00:00", "2024-03-10T02:30:00.000Z"),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = raise_at(&admin, &device, &format!("type {n}"), given).await;
        assert_eq!(answer.json()["time"], shown, "{given}");
        let stored = admin.read(answer.header("Location").unwrap()).await;
        assert_eq!(
            (&stored["time"], &stored["firstOccurrenceTime"]),
            (&json!(shown), &json!(shown)),
            "{given}"
        );
    }
}

#[tokio::test]
async fn server_times_are_shown_in_utc() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let object = admin.create("/inventory/managedObjects", &json!({})).await;

    for member in ["creationTime", "lastUpdated"] {
        let time = object[member].as_str().unwrap();
        assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[19] == b'.', "{member}: {time}");
    }
}

#[tokio::test]
async fn time_without_zone_or_out_of_the_calendar_is_422() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for time in [
        "2024-03-10T02:30:00",
        "2024-03-10",
        "2024-02-30T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2024-03-10T24:00:00Z",
        "2024-03-10T02:30:00+25:00",
        "2024-03-10T02:30:00.0123456789Z",
        "99999-03-10T02:30:00Z",
        "-2024-03-10T02:30:00Z",
        "１０24-03-10T02:30:00Z",
        "now",
        "",
    ] {
        let answer = raise_at(&admin, &device, "hot", time).await.expect(422);
        assert!(answer.message().contains("time"), "{time}: {}", answer.message());
    }
}

#[tokio::test]
async fn instants_compare_in_utc() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    raise_at(&admin, &device, "earlier", "2024-03-10T10:00:00+09:00").await;
    raise_at(&admin, &device, "later", "2024-03-10T02:00:00Z").await;

    let both = admin.read("/alarm/alarms").await;
    let after = admin.read("/alarm/alarms?dateFrom=2024-03-10T02:30:00%2B01:00").await;

    assert_eq!(member_texts(&both, "alarms", "type"), ["later", "earlier"]);
    assert_eq!(member_texts(&after, "alarms", "type"), ["later"]);
}

#[tokio::test]
async fn date_alone_means_its_first_instant_in_utc_at_both_ends() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for (kind, time) in [
        ("day before", "2024-03-09T23:59:59.999Z"),
        ("first instant", "2024-03-10T00:00:00.000Z"),
        ("noon", "2024-03-10T12:00:00Z"),
        ("next day", "2024-03-11T00:00:00.000Z"),
        ("next noon", "2024-03-11T12:00:00Z"),
    ] {
        raise_at(&admin, &device, kind, time).await;
    }

    let found = admin.read("/alarm/alarms?dateFrom=2024-03-10&dateTo=2024-03-11").await;

    assert_eq!(member_texts(&found, "alarms", "type"), ["next day", "noon", "first instant"]);
}

#[tokio::test]
async fn raw_blank_in_a_parameter_is_read_as_plus() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    raise_at(&admin, &device, "hot", "2024-03-10T02:30:00+01:00").await;

    for encoded in ["+01:00", "%2B01:00", "%2B0100", "%2001:00", "%2B01%3A00"] {
        let from = format!("dateFrom=2024-03-10T02:30:00{encoded}");
        let to = format!("dateTo=2024-03-10T02:30:00{encoded}");
        let found = admin.read(&format!("/alarm/alarms?{from}&{to}")).await;
        assert_eq!(found["alarms"].as_array().unwrap().len(), 1, "{encoded}");
    }
}

#[tokio::test]
async fn unreadable_date_parameter_is_422_and_named() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (parameter, value) in
        [("dateFrom", "yesterday"), ("dateTo", "2024-03-10T02:30:00"), ("dateTo", "2024-13-01")]
    {
        admin.get(&format!("/alarm/alarms?{parameter}={value}")).await.expect_message(422, parameter);
    }
}
