//! Series by buckets (G-07).

use super::*;

async fn texts(caller: &Caller, device: &str, aggregation: &str) -> String {
    caller.read(&series_of(device, &format!("&aggregationType={aggregation}"))).await["values"].to_string()
}

#[tokio::test]
async fn buckets_hold_the_least_and_the_greatest_and_empty_ones_are_left_out() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for (time, value) in [
        ("2024-03-10T00:00:00Z", 3),
        ("2024-03-10T00:00:59.999Z", -1),
        ("2024-03-10T00:59:59Z", 2),
        ("2024-03-10T23:59:59Z", 8),
        ("2024-03-12T00:00:00Z", 5),
    ] {
        measure(&admin, &device, time, value).await;
    }

    assert_eq!(
        texts(&admin, &device, "DAILY").await,
        r#"{"2024-03-10T00:00:00.000Z":[{"min":-1,"max":8}],"2024-03-12T00:00:00.000Z":[{"min":5,"max":5}]}"#
    );
    assert_eq!(
        texts(&admin, &device, "HOURLY").await,
        concat!(
            r#"{"2024-03-10T00:00:00.000Z":[{"min":-1,"max":3}],"2024-03-10T23:00:00.000Z":[{"min":8,"max":8}],"#,
            r#""2024-03-12T00:00:00.000Z":[{"min":5,"max":5}]}"#
        )
    );
    assert_eq!(
        texts(&admin, &device, "MINUTELY").await,
        concat!(
            r#"{"2024-03-10T00:00:00.000Z":[{"min":-1,"max":3}],"2024-03-10T00:59:00.000Z":[{"min":2,"max":2}],"#,
            r#""2024-03-10T23:59:00.000Z":[{"min":8,"max":8}],"2024-03-12T00:00:00.000Z":[{"min":5,"max":5}]}"#
        )
    );
}

#[tokio::test]
async fn buckets_begin_where_the_clock_of_the_device_says() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    measure(&admin, &device, "2024-03-10T00:30:00+05:30", 1).await;
    measure(&admin, &device, "2024-03-10T23:30:00+05:30", 2).await;
    measure(&admin, &device, "2024-03-11T00:00:00+05:30", 3).await;

    assert_eq!(
        texts(&admin, &device, "DAILY").await,
        r#"{"2024-03-10T00:00:00.000+05:30":[{"min":1,"max":2}],"2024-03-11T00:00:00.000+05:30":[{"min":3,"max":3}]}"#
    );
}

#[tokio::test]
async fn bucket_of_several_offsets_has_that_of_its_first_measurement() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    measure(&admin, &device, "2024-03-31T12:00:00+02:00", 7).await;
    measure(&admin, &device, "2024-03-31T01:00:00+01:00", 4).await;

    assert_eq!(
        texts(&admin, &device, "DAILY").await,
        r#"{"2024-03-31T00:00:00.000+01:00":[{"min":4,"max":7}]}"#
    );
}

#[tokio::test]
async fn each_of_many_buckets_of_several_offsets_has_that_of_its_first_measurement() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    // In every second hour the clock is set back in the middle; the first ten hours begin with one offset, then they
    // vary.
    let mut expected = serde_json::Map::new();
    for hour in 0..20 {
        let offset = ["+02:00", "+05:30", "-03:00"][if hour < 10 { 0 } else { hour % 3 }];
        let day = format!("2024-03-{:02}T12", hour + 1);
        measure(&admin, &device, &format!("{day}:00:00{offset}"), 5).await;
        measure(&admin, &device, &format!("{day}:59:00{offset}"), 7).await;
        if hour % 2 == 0 {
            measure(&admin, &device, &format!("{day}:30:00-08:00"), hour as i64 * 10).await;
        }
        let (least, most) = match hour {
            0 => (0, 7),
            even if even % 2 == 0 => (5, even as i64 * 10),
            _ => (5, 7),
        };
        expected.insert(format!("{day}:00:00.000{offset}"), json!([{"min": least, "max": most}]));
    }

    let hourly = admin.read(&series_of(&device, "&aggregationType=HOURLY")).await;

    assert_eq!(hourly["values"], Value::Object(expected));
}

#[tokio::test]
async fn times_from_1970_to_9999_and_offsets_to_14_hours_have_buckets() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for time in [
        "1970-01-01T15:00:00+14:00",
        "1970-01-02T13:00:00+14:00",
        "1999-12-31T00:00:00Z",
        "9999-12-31T09:00:00-14:00",
        "9999-12-30T00:00:00Z",
    ] {
        measure(&admin, &device, time, 1).await;
    }
    let range = "dateFrom=1970-01-01&dateTo=9999-12-31T23:59:59.999Z&aggregationType=DAILY";

    let daily = admin.read(&format!("{MEASUREMENTS}/series?source={device}&{range}")).await;

    let keys: Vec<_> = daily["values"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        keys,
        [
            "1970-01-01T00:00:00.000+14:00",
            "1970-01-02T00:00:00.000+14:00",
            "1999-12-31T00:00:00.000Z",
            "9999-12-30T00:00:00.000Z",
            "9999-12-31T00:00:00.000-14:00",
        ]
    );
}

#[tokio::test]
async fn series_that_stand_in_other_places_of_other_kinds_are_one() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for (hour, members) in [
        (1, json!({"a": {"x": {"value": 1}}})),
        (2, json!({"a": {"y": {"value": 10}, "x": {"value": 2}}})),
        (3, json!({"b": {"z": {"value": 100}}, "a": {"x": {"value": 3, "unit": "m"}}})),
    ] {
        let time = format!("2024-03-10T0{hour}:00:00Z");
        admin.create(MEASUREMENTS, &measurement_with(&device, "t", &time, &members)).await;
    }

    let result = admin.read(&series_of(&device, "&aggregationType=DAILY")).await;
    let pair = |min: i64, max: i64| json!({"min": min, "max": max});
    assert_eq!(
        result,
        json!({
            "values": {"2024-03-10T00:00:00.000Z": [pair(1, 3), pair(10, 10), pair(100, 100)]},
            "series": [
                {"unit": "m", "name": "x", "type": "a"},
                {"unit": null, "name": "y", "type": "a"},
                {"unit": null, "name": "z", "type": "b"},
            ],
            "truncated": false,
        })
    );
}

#[tokio::test]
async fn more_series_than_one_statement_takes_are_aggregated() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let series: serde_json::Map<String, Value> =
        (0..250).map(|n| (format!("s{n:03}"), json!({"value": n}))).collect();
    let body = measurement_with(&device, "t", "2024-03-10T00:00:00Z", &json!({"many": series}));
    admin.create(MEASUREMENTS, &body).await;

    let result = admin.read(&series_of(&device, "&aggregationType=HOURLY")).await;

    let pairs = result["values"]["2024-03-10T00:00:00.000Z"].as_array().unwrap();
    assert_eq!(pairs.len(), 250);
    assert_eq!(pairs[249], json!({"min": 249, "max": 249}));
}
