//! Times of the years 0001 to 9999 (C-12b), wherever a time can be sent: devices whose clock was never set begin at
//! 1970 or at the year 1 of their own zone, and people ask "since 1900".

use super::*;

/// Each time as it is sent, and as it is shown.
const TIMES: [(&str, &str); 6] = [
    ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00.000+14:00"),
    ("1900-01-01T00:00:00.5-03:00", "1900-01-01T00:00:00.500-03:00"),
    ("1970-01-01T00:00:00+01:00", "1970-01-01T00:00:00.000+01:00"),
    ("1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999Z"),
    ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
];

/// Creates a record at each time, and returns the collection since the first year, in its own order.
async fn records(caller: &Caller, path: &str, body: impl Fn(&str) -> Value) -> Value {
    for (sent, shown) in TIMES {
        let record = caller.create(path, &body(sent)).await;
        assert_eq!(record["time"], shown, "{path}: {sent}");
        assert_eq!(caller.read(record["self"].as_str().unwrap()).await["time"], shown, "{path}: {sent}");
    }
    caller.read(&format!("{path}?dateFrom=0001-01-01&dateTo=9999-12-31T23:59:59-05:00&pageSize=100")).await
}

fn at(mut body: Value, time: &str) -> Value {
    body["time"] = json!(time);
    body
}

#[tokio::test]
async fn record_of_any_year_is_stored_shown_found_and_deleted() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    let events = records(&admin, "/event/events", |time| at(event_of(&device, "t"), time)).await;
    let alarms = records(&admin, "/alarm/alarms", |time| at(alarm_of(&device, time), time)).await;
    let of_measurement = |time: &str| measurement_of(&device, time, 1);
    let measurements = records(&admin, "/measurement/measurements", of_measurement).await;
    let audit = |time: &str| {
        json!({"type": "t", "text": "t", "activity": "t", "severity": "information", "time": time,
            "source": {"id": device}})
    };
    let audits = records(&admin, "/audit/auditRecords", audit).await;

    // 0001-01-01T00:00+14:00 lies before the first instant of the year 1 in UTC, which the date alone means.
    let found: Vec<&str> =
        TIMES.iter().map(|(_, shown)| *shown).filter(|time| !time.ends_with("14:00")).collect();
    let reversed: Vec<&str> = found.iter().rev().copied().collect();
    assert_eq!(member_texts(&events, "events", "time"), reversed);
    assert_eq!(member_texts(&alarms, "alarms", "time"), reversed);
    assert_eq!(member_texts(&measurements, "measurements", "time"), found);
    let old = audits["auditRecords"].as_array().unwrap().iter().filter(|record| record["type"] == "t");
    assert_eq!(old.count(), found.len());
    for (path, member) in [("/event/events", "events"), ("/measurement/measurements", "measurements")] {
        let before = "dateFrom=0001-01-01T00:00:00%2B14:00&dateTo=1970-01-01T00:00:00Z";
        let source = format!("source={device}&{before}");
        admin.delete(&format!("{path}?{source}")).await.expect(204);
        let left = admin.read(&format!("{path}?source={device}")).await;
        assert_eq!(member_texts(&left, member, "time"), [TIMES[5].1], "{path}");
    }
}

#[tokio::test]
async fn pages_of_records_of_any_year_follow_each_other() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for (sent, _) in TIMES {
        admin.create("/event/events", &at(event_of(&device, "t"), sent)).await;
    }

    let pages = admin.pages(&format!("/event/events?source={device}&pageSize=1")).await;

    let mut shown: Vec<_> = pages.iter().flat_map(|page| member_texts(page, "events", "time")).collect();
    // The second time is 14 hours before the first one in UTC.
    let oldest_first = [1, 0, 2, 3, 4, 5].map(|at| TIMES[at].1);
    shown.reverse();
    assert_eq!(shown, oldest_first);
}

#[tokio::test]
async fn series_of_any_year_have_values_and_buckets() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for (sent, _) in TIMES {
        admin.create("/measurement/measurements", &measurement_of(&device, sent, 1)).await;
    }
    let keys = async |more: &str| -> Vec<String> {
        let range = "dateFrom=0001-01-01T00:00:00%2B14:00&dateTo=9999-12-31T23:59:59.999Z";
        let path = format!("/measurement/measurements/series?source={device}&{range}{more}");
        let mut keys: Vec<_> =
            admin.read(&path).await["values"].as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    let mut exact: Vec<&str> = TIMES.iter().map(|(_, shown)| *shown).collect();
    exact.sort_unstable();

    assert_eq!(keys("").await, exact);
    let hours = [
        // Two measurements of one hour of the device's clock.
        "0001-01-01T00:00:00.000+14:00",
        "1900-01-01T00:00:00.000-03:00",
        "1969-12-31T23:00:00.000Z",
        "1970-01-01T00:00:00.000+01:00",
        "9999-12-31T23:00:00.000Z",
    ];
    assert_eq!(keys("&aggregationType=HOURLY").await, hours);
    let days = hours.map(|hour| hour.replace("T23", "T00"));
    assert_eq!(keys("&aggregationType=DAILY").await, days);
    let minutes = hours.map(|hour| hour.replace("T23:00", "T23:59"));
    assert_eq!(keys("&aggregationType=MINUTELY").await, minutes);
}

#[tokio::test]
async fn inventory_is_queried_by_times_of_any_year() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for (sent, _) in TIMES {
        admin.create(OBJECTS, &json!({"name": sent, "acme_Since": {"at": sent}})).await;
    }
    admin.create(OBJECTS, &json!({"name": "no time", "acme_Since": {"at": "0000-12-31T00:00:00Z"}})).await;

    for (query, expected) in [
        ("acme_Since.at.date lt '1970-01-01'", &TIMES[..5]),
        ("acme_Since.at.date ge '0001-01-01' and acme_Since.at.date lt '1950-01-01'", &[TIMES[0], TIMES[2]]),
        ("acme_Since.at.date gt '9999-01-01T00:00:00Z'", &TIMES[5..]),
    ] {
        let found = admin.read(&format!("{OBJECTS}?pageSize=100&query={}", query.replace(' ', "%20"))).await;
        let names: Vec<&str> = expected.iter().map(|(sent, _)| *sent).collect();
        assert_eq!(member_texts(&found, "managedObjects", "name"), names, "{query}");
    }
}

#[tokio::test]
async fn bulk_operation_may_have_begun_in_any_year() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let group = admin.create(OBJECTS, &json!({"plat_IsDeviceGroup": {}})).await["id"].clone();

    for (sent, shown) in [
        ("1970-01-01T00:00:00+01:00", "1969-12-31T23:00:00.000Z"),
        ("0001-01-01T00:00:00", "0001-01-01T00:00:00.000Z"),
        ("0001-01-01T00:00:00+01:00", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
    ] {
        let body = json!({
            "groupId": group, "startDate": sent, "creationRamp": 1, "operationPrototype": {"plat_Restart": {}}
        });
        let bulk = admin.create("/devicecontrol/bulkoperations", &body).await;
        assert_eq!(bulk["startDate"], shown, "{sent}");
    }
}

#[tokio::test]
async fn year_outside_is_422_and_the_text_says_which_years_there_are() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for time in ["0000-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "9999-12-31T23:59:59-00:01"] {
        let answer = admin.post("/event/events", &at(event_of(&device, "t"), time)).await.expect(422);
        assert!(
            answer.message().ends_with("of the years 0001 to 9999, in UTC at most 9999"),
            "{}",
            answer.text
        );
    }
    for date in ["0000-01-01", "2023-02-29"] {
        let answer = admin.get(&format!("/event/events?dateFrom={date}")).await.expect(422);
        assert!(answer.message().contains("a date YYYY-MM-DD of the calendar"), "{}", answer.text);
    }
    // A position in a page that no link of this server has.
    for after in ["-377705116800000000", "9223372036854775807", "-9223372036854775808"] {
        let answer =
            admin.get(&format!("/event/events?source={device}&currentPage=2&after=2_{after}_1")).await;
        assert!(answer.status < 500, "{after}: {}", answer.text);
    }
}
