//! POST of one measurement (docs/rules.md#measurements; G-03, G-11, E-05, C-08, C-09).

use super::*;

const TIME: &str = "2024-03-10T02:30:00+01:00";

/// Sends a body as it is.
async fn post_text(caller: &Caller, text: &str) -> crate::harness::Response {
    let request = caller.request("POST", MEASUREMENTS).accepting_json();
    request.header("Content-Type", "application/json").body(text).send().await
}

#[tokio::test]
async fn measurement_gets_201_with_its_location_and_the_stored_object() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;

    let answer = admin.post(MEASUREMENTS, &measurement_of(&device, TIME, 23)).await.expect(201);

    let created = answer.json();
    let id = created["id"].as_str().unwrap();
    assert_eq!(answer.header("Location"), Some(&*format!("{}{MEASUREMENTS}/{id}", server.base())));
    assert_eq!(
        redacted(&created, &[(id, "<id>"), (&device, "<device>"), (server.base(), "<base>")]),
        json!({
            "self": "<base>/measurement/measurements/<id>",
            "id": "<id>",
            "type": "env",
            "time": "2024-03-10T02:30:00.000+01:00",
            "source": {"id": "<device>", "self": "<base>/inventory/managedObjects/<device>"},
            "env": {"t": {"value": 23, "unit": "C"}},
        })
    );
    assert_eq!(admin.read(answer.header("Location").unwrap()).await, created);
}

#[tokio::test]
async fn missing_members_are_listed() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.post(MEASUREMENTS, &json!({"env": {"t": {"value": 1}}})).await.expect(422);
    assert!(answer.message().ends_with("type,time,source"), "{}", answer.text);
    let answer = admin.post(MEASUREMENTS, &json!({"type": null, "time": TIME, "source": {"id": "1"}})).await;
    assert!(answer.message().ends_with(": type"), "{}", answer.text);
}

#[tokio::test]
async fn source_may_be_a_number_and_must_exist() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut body = measurement_of(&device, TIME, 1);
    body["source"]["id"] = json!(device.parse::<i64>().unwrap());
    assert_eq!(admin.post(MEASUREMENTS, &body).await.status, 201);

    for source in [json!({"id": "4711"}), json!({"id": "x"}), json!({}), json!("4711"), json!({"id": {}})] {
        body["source"] = source.clone();
        admin.post(MEASUREMENTS, &body).await.expect(422);
    }
    assert_eq!(server.count("measurements").await, 1);
}

#[tokio::test]
async fn names_values_and_units_are_checked() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for (members, named) in [
        (json!({"env": {"t": {"value": "1"}}}), "env.t.value"),
        (json!({"env": {"t": {"value": null}}}), "env.t.value"),
        (json!({"env": {"t": {"value": true}}}), "env.t.value"),
        (json!({"env": {"t": {"value": {}}}}), "env.t.value"),
        (json!({"env": {"t": {"value": 1, "unit": 3}}}), "env.t.unit"),
        (json!({"env": {"t": {"value": 1, "unit": "x".repeat(257)}}}), "env.t.unit"),
        (json!({"env.x": {"t": {"value": 1}}}), "env.x"),
        (json!({"en v": {"t": {"value": 1}}}), "en v"),
        (json!({"env": {"a,b": {"value": 1}}}), "a,b"),
        (json!({"env": {"a*": {"value": 1}}}), "a*"),
        (json!({"env": {"a[": {"value": 1}}}), "a["),
        (json!({"env": {"a]": {"value": 1}}}), "a]"),
        (json!({"env": {"(": {"value": 1}}}), "("),
        (json!({"env": {")": {"value": 1}}}), ")"),
        (json!({"env": {"@": {"value": 1}}}), "@"),
        (json!({"env": {"$": {"value": 1}}}), "$"),
        (json!({"": {"t": {"value": 1}}}), ""),
    ] {
        let body = measurement_with(&device, "t", TIME, &members);
        let answer = admin.post(MEASUREMENTS, &body).await.expect(422);
        assert!(answer.message().contains(named), "{members}: {}", answer.text);
    }
    assert_eq!(server.count("measurements").await, 0);
}

#[tokio::test]
async fn measurement_without_series_and_with_other_members_is_accepted() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let members = json!({"note": "text", "list": [1, {"a": null}], "odd name": {"x": 1}, "empty": {}});

    let created = admin.create(MEASUREMENTS, &measurement_with(&device, "t", TIME, &members)).await;

    for (name, value) in members.as_object().unwrap() {
        assert_eq!(&created[name], value);
    }
    assert_eq!(admin.read(created["self"].as_str().unwrap()).await, created);
    admin.create(MEASUREMENTS, &measurement_with(&device, "t", TIME, &json!({}))).await;
}

#[tokio::test]
async fn hostile_bodies_are_refused_and_store_nothing() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let start = format!(r#"{{"time":"{TIME}","source":{{"id":"{device}"}}"#);
    let long = "x".repeat(2000);

    for body in [
        String::new(),
        "[]".into(),
        "null".into(),
        "{".into(),
        "\"text\"".into(),
        format!(r#"{start},"type":"a\u0000b"}}"#),
        format!(r#"{start},"type":"t","a\u0000":{{"x":{{"value":1}}}}}}"#),
        format!(r#"{start},"type":"t","a":{{"x\u0000":{{"value":1}}}}}}"#),
        format!(r#"{start},"type":"t","a":{{"x":{{"value":1,"unit":"\u0000"}}}}}}"#),
        format!(r#"{start},"type":"t","a":"\u0000"}}"#),
        format!(r#"{start},"type":"{long}"}}"#),
        format!(r#"{start},"type":7}}"#),
        format!(r#"{start},"type":"t","{long}":{{"x":{{"value":1}}}}}}"#),
        format!(r#"{start},"type":"t","a":{{"x":{{"value":1e400}}}}}}"#),
        format!(r#"{start},"type":"t","a":{{"x":{{"value":-1e309}}}}}}"#),
        format!(r#"{start},"type":"t","a":{{"x":{{"value":{}}}}}}}"#, "9".repeat(400)),
        format!(r#"{start},"type":"t","a":{{"x":{{"value":NaN}}}}}}"#),
        format!(r#"{start},"type":"t","a":{}1{}}}"#, "[".repeat(200), "]".repeat(200)),
        format!(r#"{start},"type":"t","a":"\ud800"}}"#),
        r#"{"measurements":{}}"#.into(),
        r#"{"measurements":[1]}"#.into(),
        r#"{"measurements":[[]]}"#.into(),
        r#"{"measurements":null,"type":"t"}"#.into(),
    ] {
        let answer = post_text(&admin, &body).await;
        assert!((400..500).contains(&answer.status), "{body:.200}: {} {}", answer.status, answer.text);
    }
    assert_eq!(server.count("measurements").await, 0);
    assert_eq!(server.count("measurement_shapes").await, 0);
}

#[tokio::test]
async fn content_types_of_one_and_of_many_are_taken_and_others_are_not() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let one = measurement_of(&device, TIME, 1).to_string();
    let many = json!({"measurements": [measurement_of(&device, TIME, 1)]}).to_string();
    let vendor = |name: &str| format!("{MEDIA}{name}+json;ver=0.9;charset=UTF-8");

    for (body, content_type, accept, expected) in [
        (&one, Some(vendor("measurement")), vendor("measurement"), 201),
        (&one, Some("application/json".into()), "*/*".into(), 201),
        (&one, None, "application/json".into(), 201),
        (&many, Some(vendor("measurementCollection")), vendor("measurementCollection"), 201),
        // The member determines whether it is a measurement or a collection (C-08).
        (&many, Some(vendor("measurement")), vendor("measurement"), 201),
        (&many, Some("application/json".into()), "application/json".into(), 201),
        (&one, Some(vendor("measurementCollection")), vendor("measurementCollection"), 201),
        (&one, Some(vendor("alarm")), "*/*".into(), 415),
        (&one, Some("text/plain".into()), "*/*".into(), 415),
        (&one, Some("application/json".into()), "text/html".into(), 406),
        (&one, Some("application/json".into()), format!("{MEDIA}measurement+json;ver=1.0"), 406),
    ] {
        let mut request = admin.request("POST", MEASUREMENTS).header("Accept", &accept);
        if let Some(content_type) = &content_type {
            request = request.header("Content-Type", content_type);
        }
        let answer = request.body(&**body).send().await.expect(expected);
        if expected == 201 {
            assert_eq!(answer.json()["measurements"].is_array(), body.contains("measurements"), "{accept}");
        }
    }
}

#[tokio::test]
async fn times_from_the_year_1_to_9999_and_offsets_to_14_hours_are_kept() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;

    for (time, shown) in [
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00.000+14:00"),
        ("1970-01-01T00:00:00+00:01", "1970-01-01T00:00:00.000+00:01"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("9999-12-31T23:59:59+14:00", "9999-12-31T23:59:59.000+14:00"),
        ("9999-12-31T09:59:59-14:00", "9999-12-31T09:59:59.000-14:00"),
        ("2024-03-10T02:30:00.123456789-0930", "2024-03-10T02:30:00.123-09:30"),
    ] {
        let created = admin.create(MEASUREMENTS, &measurement_of(&device, time, 1)).await;
        assert_eq!(created["time"], shown);
        assert_eq!(admin.read(created["self"].as_str().unwrap()).await, created, "{time}");
    }
    for time in [
        "0000-12-31T23:59:59Z",
        "9999-12-31T23:59:59-00:01",
        "10000-01-01T00:00:00Z",
        "2024-03-10T00:00:00+14:01",
        "2024-03-10T00:00:00",
        "2024-02-30T00:00:00Z",
        "",
    ] {
        admin.post(MEASUREMENTS, &measurement_of(&device, time, 1)).await.expect_message(422, "time");
    }
    let partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'measurements'::regclass";
    let count: i64 = server.database().query(partitions, &[]).await[0].get(0);
    assert!(count <= 5, "times of devices make no partitions: {count}");
}

#[tokio::test]
async fn more_series_than_an_index_entry_holds_are_kept() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for count in [256, 257, 3000] {
        let series: serde_json::Map<String, Value> =
            (0..count).map(|n| (format!("s{n:04}"), json!({"value": n, "unit": "m"}))).collect();
        let body = measurement_with(&device, "wide", TIME, &json!({"many": series}));
        let created = admin.create(MEASUREMENTS, &body).await;
        assert_eq!(created["many"], body["many"]);
        assert_eq!(admin.read(created["self"].as_str().unwrap()).await, created);
    }
    let series = admin.read(&format!("/inventory/managedObjects/{device}/supportedSeries")).await;
    assert_eq!(series["plat_SupportedSeries"].as_array().unwrap().len(), 3000);
    assert_eq!(series["plat_SupportedSeries"][0], "many.s0000");
}

#[tokio::test]
async fn what_the_server_sets_is_ignored_in_the_body() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let members = json!({"id": "4711", "self": "http://x", "creationTime": "x", "env": {"t": {"value": 1}}});

    let created = admin.create(MEASUREMENTS, &measurement_with(&device, "t", TIME, &members)).await;

    assert_ne!(created["id"], "4711");
    assert!(created["self"].as_str().unwrap().starts_with(server.base()));
    assert!(created["creationTime"].is_null());
}
