//! The collection, one of it, and its filters (G-01, G-04, G-05, P-01 to P-06, R-12).

use super::*;

/// Two devices with five measurements whose types name them, sent out of order.
async fn populated() -> (TestServer, Caller, String, String) {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);
    for (device, type_, time, members) in [
        (&pump, "c", "2024-03-10T03:00:00Z", json!({"env": {"t": {"value": 1}, "h": {"value": 2}}})),
        (&pump, "a", "2024-03-10T01:00:00Z", json!({"env": {"t": {"value": 1}}})),
        (&motor, "e", "2024-03-10T05:00:00Z", json!({"note": "text"})),
        (&pump, "b", "2024-03-10T02:00:00Z", json!({"power": {"p": {"value": 1}}, "env": {"x": 1}})),
        (&motor, "d", "2024-03-10T06:00:00+02:00", json!({"env": {"t": {"value": 1, "unit": "C"}}})),
    ] {
        admin.create(MEASUREMENTS, &measurement_with(device, type_, time, &members)).await;
    }
    (server, admin, pump, motor)
}

async fn types(caller: &Caller, query: &str) -> String {
    member_texts(&caller.read(&format!("{MEASUREMENTS}?{query}")).await, "measurements", "type").concat()
}

#[tokio::test]
async fn measurements_are_listed_oldest_first_and_reverted_newest_first() {
    let (_server, admin, pump, _) = populated().await;

    assert_eq!(types(&admin, "").await, "abcde");
    assert_eq!(types(&admin, "revert=false").await, "abcde");
    assert_eq!(types(&admin, "revert=true").await, "edcba");
    assert_eq!(types(&admin, &format!("revert=true&source={pump}")).await, "cba");
    assert_eq!(types(&admin, "revert=true&dateFrom=2024-03-10T04:00:00Z").await, "ed");
}

#[tokio::test]
async fn measurements_of_one_instant_are_in_the_order_of_their_ids() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut sent = Vec::new();
    for time in ["2024-03-10T02:00:00+02:00", "2024-03-10T00:00:00Z", "2024-03-09T23:00:00-01:00"] {
        sent.push(measure(&admin, &device, time, 1).await["id"].as_str().unwrap().to_owned());
    }

    assert_eq!(ids(&admin.read(MEASUREMENTS).await, "measurements"), sent);
    sent.reverse();
    assert_eq!(ids(&admin.read(&format!("{MEASUREMENTS}?revert=true")).await, "measurements"), sent);
}

#[tokio::test]
async fn each_filter_finds_what_it_names() {
    let (_server, admin, pump, motor) = populated().await;

    for (query, expected) in [
        ("type=a", "a"),
        ("type=none", ""),
        ("fragmentType=env", "abcd"),
        ("fragmentType=note", "e"),
        ("fragmentType=time", ""),
        ("valueFragmentType=env", "acd"),
        ("valueFragmentType=note", ""),
        ("valueFragmentType=env&valueFragmentSeries=t", "acd"),
        ("valueFragmentType=env&valueFragmentSeries=h", "c"),
        ("valueFragmentType=power&valueFragmentSeries=t", ""),
        ("valueFragmentSeries=t", "acd"),
        ("valueFragmentSeries=p", "b"),
        ("valueFragmentSeries=env", ""),
        ("valueFragmentSeries=env.t", ""),
        ("type=a&valueFragmentSeries=t", "a"),
        (&*format!("source={motor}&valueFragmentSeries=t"), "d"),
        ("type=c&fragmentType=env", "c"),
        ("type=b&valueFragmentType=env", ""),
        ("dateFrom=2024-03-10T03:00:00Z", "cde"),
        ("dateTo=2024-03-10T03:00:00Z", "abc"),
        ("dateFrom=2024-03-10T02:00:00Z&dateTo=2024-03-10T04:00:00Z", "bcd"),
        ("dateFrom=2024-03-10T04:00:00Z&dateTo=2024-03-10T02:00:00Z", ""),
        ("dateFrom=2024-03-10&dateTo=2024-03-11&fragmentType=env", "abcd"),
        ("dateTo=2024-03-10", ""),
        (&*format!("source={pump}"), "abc"),
        (&*format!("source={motor}&fragmentType=env"), "d"),
        (&*format!("source={pump}&type=d"), ""),
        (&*format!("source={pump}&valueFragmentType=env&revert=true"), "ca"),
        ("source=4711", ""),
        ("source=none", ""),
    ] {
        assert_eq!(types(&admin, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn wrong_values_are_refused_by_name() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (query, named) in [
        ("revert=yes", "revert"),
        ("dateFrom=yesterday", "dateFrom"),
        ("dateTo=2024-03-10T00:00:00", "dateTo"),
        ("pageSize=0", "pageSize"),
        ("currentPage=x", "currentPage"),
    ] {
        admin.get(&format!("{MEASUREMENTS}?{query}")).await.expect_message(422, named);
    }
}

#[tokio::test]
async fn hostile_values_of_filters_find_nothing_or_are_refused() {
    let (_server, admin, ..) = populated().await;
    let long = "x".repeat(5000);

    for value in ["%00", "'%3B--", "%25", "%F0%9F%98%80", "%FF", "{}", &long] {
        for name in ["type", "fragmentType", "valueFragmentType", "source", "dateFrom"] {
            let answer = admin.get(&format!("{MEASUREMENTS}?{name}={value}")).await;
            assert!(matches!(answer.status, 200 | 422), "{name}={value}: {}", answer.text);
            assert!(answer.status == 422 || answer.json()["measurements"] == json!([]), "{name}={value}");
        }
    }
}

#[tokio::test]
async fn pages_are_linked_in_both_directions_and_counted_when_asked() {
    let (_server, admin, ..) = populated().await;

    for more in ["", "&fragmentType=env", "&revert=true"] {
        let first = admin.read(&format!("{MEASUREMENTS}?pageSize=2&withTotalPages=true{more}")).await;
        let count: usize = if more.contains("env") { 4 } else { 5 };
        let pages = count.div_ceil(2);
        assert_eq!(first["statistics"], json!({"totalPages": pages, "pageSize": 2, "currentPage": 1}));
        assert!(first["prev"].is_null());
        let (mut seen, mut page) = (0, first);
        loop {
            seen += page["measurements"].as_array().unwrap().len();
            match page["next"].as_str() {
                Some(next) => page = admin.read(next).await,
                None => break,
            }
        }
        assert_eq!(seen, count, "{more}");
        assert!(page["prev"].is_string());
    }
    let beyond = admin.read(&format!("{MEASUREMENTS}?pageSize=2&currentPage=9")).await;
    assert_eq!(beyond["measurements"], json!([]));
    assert!(beyond["prev"].is_string() && beyond["next"].is_null());
}

#[tokio::test]
async fn measurement_is_given_by_its_id_as_it_is_listed() {
    let (server, admin, pump, _) = populated().await;

    let listed = admin.read(&format!("{MEASUREMENTS}?type=c")).await["measurements"][0].clone();
    let answer = admin.get(listed["self"].as_str().unwrap()).await;

    assert_eq!(answer.json(), listed);
    let media_type = format!("{MEDIA}measurement+json;ver=0.9;charset=UTF-8");
    assert_eq!(answer.header("Content-Type"), Some(&*media_type));
    let object = format!("{}/inventory/managedObjects/{pump}", server.base());
    assert_eq!(listed["source"], json!({"id": pump, "self": object}));
    assert_eq!(listed["time"], "2024-03-10T03:00:00.000Z");
    for id in ["4711", "x", "-1", "99999999999999999999"] {
        admin.get(&format!("{MEASUREMENTS}/{id}")).await.expect_error(404, "measurement/Not Found");
    }
}

#[tokio::test]
async fn wide_and_irregular_measurements_are_listed_among_the_others() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let wide: serde_json::Map<String, Value> =
        (0..300).map(|n| (format!("s{n:03}"), json!({"value": n}))).collect();
    for (type_, members) in [
        ("a", json!({"env": {"t": {"value": 1}}})),
        ("b", json!({"env": wide})),
        ("c", json!({"env": {"t": {"value": 1, "note": "x"}}, "more": [1, {"a": null}]})),
        ("d", json!({})),
    ] {
        let body = measurement_with(&device, type_, "2024-01-01T00:00:00Z", &members);
        admin.create(MEASUREMENTS, &body).await;
    }

    for query in [format!("source={device}"), "revert=false".into(), "fragmentType=env".into()] {
        let page = admin.read(&format!("{MEASUREMENTS}?{query}")).await;
        assert_eq!(page["measurements"][0]["env"], json!({"t": {"value": 1}}), "{query}");
        assert_eq!(page["measurements"][1]["env"], json!(wide), "{query}");
        assert_eq!(page["measurements"][2]["env"], json!({"t": {"value": 1, "note": "x"}}), "{query}");
        assert_eq!(page["measurements"][2]["more"], json!([1, {"a": null}]), "{query}");
    }
}
