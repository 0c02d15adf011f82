//! Series as they were measured (G-06, G-08).

use super::*;

async fn send(server: &TestServer, source: &str, time: &str, members: Value) {
    server.admin().create(MEASUREMENTS, &measurement_with(source, "t", time, &members)).await;
}

fn one(value: i64) -> Value {
    json!({"min": value, "max": value})
}

fn keys(result: &Value) -> Vec<String> {
    result["values"].as_object().unwrap().keys().cloned().collect()
}

#[tokio::test]
async fn source_and_range_are_mandatory_and_all_missing_ones_are_named() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = format!("{MEASUREMENTS}/series");

    admin.get(&path).await.expect_message(422, "source,dateFrom,dateTo");
    let answer = admin.get(&format!("{path}?dateFrom=2024-01-01")).await;
    assert!(answer.message().ends_with("source,dateTo"), "{}", answer.text);
    for (more, named) in [
        ("&aggregationType=WEEKLY", "aggregationType"),
        ("&aggregationType=daily", "aggregationType"),
        ("&series=abc", "series"),
        ("&series=a.b.c", "series"),
        ("&series=", "series"),
        ("&revert=x", "revert"),
    ] {
        admin.get(&series_of("1", more)).await.expect_message(422, named);
    }
}

#[tokio::test]
async fn series_are_in_the_order_they_were_first_sent_and_each_is_given_for_each_time() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    send(&server, &device, "2024-01-02T00:00:00Z", json!({"b": {"y": {"value": 2, "unit": "%"}}})).await;
    send(&server, &device, "2024-01-01T00:00:00+01:00", json!({"a": {"x": {"value": 1}, "w": {"value": 3}}}))
        .await;

    let answer = admin.get(&series_of(&device, "")).await;

    assert_eq!(answer.header("Content-Type"), Some("application/json;charset=UTF-8"));
    assert_eq!(
        answer.json(),
        json!({
            "values": {
                "2024-01-01T00:00:00.000+01:00": [null, one(1), one(3)],
                "2024-01-02T00:00:00.000Z": [one(2), null, null],
            },
            "series": [
                {"unit": "%", "name": "y", "type": "b"},
                {"unit": null, "name": "x", "type": "a"},
                {"unit": null, "name": "w", "type": "a"},
            ],
            "truncated": false,
        })
    );
    assert_eq!(keys(&answer.json()), ["2024-01-01T00:00:00.000+01:00", "2024-01-02T00:00:00.000Z"]);
}

#[tokio::test]
async fn named_series_come_in_the_order_they_are_named() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    send(&server, &device, "2024-01-01T00:00:00Z", json!({"a": {"x": {"value": 1}, "y": {"value": 2}}}))
        .await;
    send(&server, &device, "2024-01-02T00:00:00Z", json!({"b": {"z": {"value": 3}}})).await;

    let result = admin.read(&series_of(&device, "&series=a.y&series=none.q&series=a.x&series=a.y")).await;

    assert_eq!(result["values"], json!({"2024-01-01T00:00:00.000Z": [one(2), null, one(1)]}));
    let names: Vec<_> =
        result["series"].as_array().unwrap().iter().map(|head| head["name"].clone()).collect();
    assert_eq!(names, ["y", "q", "x"]);
    let only = admin.read(&series_of(&device, "&series=b.z")).await;
    assert_eq!(keys(&only), ["2024-01-02T00:00:00.000Z"]);
}

#[tokio::test]
async fn measurements_of_one_instant_merge_by_least_and_greatest() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    measure(&admin, &device, "2024-01-01T02:00:00+02:00", 5).await;
    measure(&admin, &device, "2024-01-01T00:00:00Z", 3).await;
    measure(&admin, &device, "2024-01-01T00:00:00.0004Z", 9).await;

    for more in ["", "&revert=true"] {
        let result = admin.read(&series_of(&device, more)).await;
        let text = result["values"].to_string();
        assert_eq!(text, r#"{"2024-01-01T02:00:00.000+02:00":[{"min":3,"max":9}]}"#);
    }
}

#[tokio::test]
async fn range_includes_its_ends() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for hour in 0..5 {
        measure(&admin, &device, &format!("2024-01-01T0{hour}:00:00Z"), hour).await;
    }
    let range = "dateFrom=2024-01-01T01:00:00Z&dateTo=2024-01-01T04:00:00%2B01:00";

    let result = admin.read(&format!("{MEASUREMENTS}/series?source={device}&{range}")).await;

    let expected = ["2024-01-01T01:00:00.000Z", "2024-01-01T02:00:00.000Z", "2024-01-01T03:00:00.000Z"];
    assert_eq!(keys(&result), expected);
}

#[tokio::test]
async fn large_whole_numbers_are_given_back_with_all_their_digits() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for value in ["9007199254740993", "9007199254740995", "1.50"] {
        super::round_trip(&admin, &device, &format!(r#""a":{{"x":{{"value":{value}}}}}"#)).await;
    }

    let result = admin.get(&series_of(&device, "")).await;

    let expected = r#"{"values":{"2024-01-01T00:00:00.000Z":[{"min":1.50,"max":9007199254740995}]},"#;
    assert!(result.text.starts_with(expected), "{}", result.text);
}

#[tokio::test]
async fn wide_and_irregular_measurements_are_part_of_a_series() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let wide: serde_json::Map<String, Value> =
        (0..300).map(|n| (format!("s{n:03}"), json!({"value": n}))).collect();
    send(&server, &device, "2024-01-01T00:00:00Z", json!({"env": wide})).await;
    send(&server, &device, "2024-01-01T00:00:01Z", json!({"env": {"s299": {"value": 7, "note": 1}}})).await;

    for (more, slots) in [("", 2), ("&aggregationType=DAILY", 1)] {
        let result = admin.read(&series_of(&device, &format!("&series=env.s299{more}"))).await;
        assert_eq!(keys(&result).len(), slots);
        let first = &result["values"].as_object().unwrap().values().next().unwrap()[0];
        assert_eq!(first["max"], 299, "{result}");
    }
}

#[tokio::test]
async fn source_that_has_measured_nothing_has_an_empty_result() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for source in [&*device, "4711", "none"] {
        for more in ["", "&aggregationType=HOURLY"] {
            let result = admin.read(&series_of(source, more)).await;
            assert_eq!(result, json!({"values": {}, "series": [], "truncated": false}), "{source}");
        }
    }
}

/// Sends `count` measurements with times one second apart.
async fn send_many(server: &TestServer, device: &str, count: i64) {
    for start in (0..count).step_by(2000) {
        let measurements: Vec<Value> = (start..count.min(start + 2000))
            .map(|n| {
                let time = format!("2024-01-01T{:02}:{:02}:{:02}Z", n / 3600, n / 60 % 60, n % 60);
                measurement_of(device, &time, n)
            })
            .collect();
        let body = json!({"measurements": measurements});
        let request = server.admin().request("POST", MEASUREMENTS).json(&body);
        assert_eq!(request.send().await.status, 201);
    }
}

#[tokio::test]
async fn more_than_5000_values_are_cut_at_the_far_end() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    send_many(&server, &device, 5000).await;
    let all = admin.read(&series_of(&device, "")).await;
    assert_eq!((keys(&all).len(), &all["truncated"]), (5000, &json!(false)));
    measure(&admin, &device, "2024-01-02T00:00:00Z", -1).await;

    let oldest = admin.read(&series_of(&device, "")).await;
    assert_eq!((keys(&oldest).len(), &oldest["truncated"]), (5000, &json!(true)));
    assert_eq!(keys(&oldest).last().unwrap(), "2024-01-01T01:23:19.000Z");

    let newest = admin.read(&series_of(&device, "&revert=true")).await;
    assert_eq!((keys(&newest).len(), &newest["truncated"]), (5000, &json!(true)));
    assert_eq!(keys(&newest).first().unwrap(), "2024-01-01T00:00:01.000Z");
    assert_eq!(keys(&newest).last().unwrap(), "2024-01-02T00:00:00.000Z");

    let aggregated = admin.read(&series_of(&device, "&aggregationType=MINUTELY")).await;
    assert_eq!((keys(&aggregated).len(), &aggregated["truncated"]), (85, &json!(false)));
}

#[tokio::test]
async fn truncation_counts_values_and_not_times() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let many: Vec<Value> = (0..1700)
        .map(|n| {
            let time = format!("2024-01-01T00:{:02}:{:02}Z", n / 60, n % 60);
            let members = json!({"a": {"x": {"value": n}, "y": {"value": n}, "z": {"value": n}}});
            measurement_with(&device, "t", &time, &members)
        })
        .collect();
    admin.create(MEASUREMENTS, &json!({"measurements": many})).await;

    for more in ["", "&revert=true"] {
        let result = admin.read(&series_of(&device, more)).await;
        let slots = result["values"].as_object().unwrap();
        let values =
            slots.values().flat_map(|pairs| pairs.as_array().unwrap()).filter(|pair| !pair.is_null());
        assert_eq!((values.count(), slots.len(), &result["truncated"]), (5000, 1667, &json!(true)), "{more}");
    }
}

#[tokio::test]
async fn result_that_fits_no_memory_is_refused() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    send_many(&server, &device, 5000).await;
    let series: String = (0..1001).map(|n| format!("&series=a.{n}")).collect();

    let answer = admin.get(&series_of(&device, &format!("&series=env.t{series}"))).await.expect(422);

    assert!(answer.message().contains("5000000 values"), "{}", answer.text);
}

#[tokio::test]
async fn supported_series_are_sorted_as_they_are_spelt() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for members in
        [json!({"a": {"x": {"value": 1}}, "B": {"z": {"value": 1}}}), json!({"a-b": {"x": {"value": 1}}})]
    {
        send(&server, &device, "2024-01-01T00:00:00Z", members).await;
    }

    let read = async |what: &str| admin.read(&format!("/inventory/managedObjects/{device}/{what}")).await;
    let series = read("supportedSeries").await;
    assert_eq!(series["plat_SupportedSeries"], json!(["B.z", "a-b.x", "a.x"]));
    let measurements = read("supportedMeasurements").await;
    assert_eq!(measurements["plat_SupportedMeasurements"], json!(["B", "a", "a-b"]));
}
