//! The collection of events (V-01, P-06).

use super::*;

/// Events `a` to `e` at hours 1 to 5: the first three of a pump, the others of a motor; `b` and `d` have a fragment.
async fn populated() -> (TestServer, Caller, String, String) {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);
    for (kind, hour, source) in
        [("a", 1, &pump), ("b", 2, &pump), ("c", 3, &pump), ("d", 4, &motor), ("e", 5, &motor)]
    {
        let mut body = event_of(source, kind);
        body["time"] = json!(format!("2024-03-10T0{hour}:00:00Z"));
        if ["b", "d"].contains(&kind) {
            body["plat_X"] = json!({"y": 1});
        }
        admin.create(EVENTS, &body).await;
    }
    (server, admin, pump, motor)
}

async fn types(caller: &Caller, query: &str) -> String {
    member_texts(&caller.read(&format!("{EVENTS}?{query}")).await, "events", "type").concat()
}

#[tokio::test]
async fn events_are_listed_newest_first_and_reverted_oldest_first() {
    let (_server, admin, ..) = populated().await;

    assert_eq!(types(&admin, "").await, "edcba");
    assert_eq!(types(&admin, "revert=false").await, "edcba");
    assert_eq!(types(&admin, "revert=true").await, "abcde");
    assert_eq!(types(&admin, "dateFrom=2024-03-10&dateTo=2024-03-11").await, "edcba");
    assert_eq!(types(&admin, "dateFrom=2024-03-10&dateTo=2024-03-11&revert=true").await, "abcde");
}

#[tokio::test]
async fn events_at_one_time_are_ordered_by_descending_id() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    for kind in ["a", "b", "c"] {
        admin.create_event(&device, kind).await;
    }

    assert_eq!(types(&admin, "").await, "cba");
    assert_eq!(types(&admin, "revert=true").await, "abc");
}

#[tokio::test]
async fn each_filter_finds_what_it_names() {
    let (_server, admin, pump, motor) = populated().await;

    for (query, expected) in [
        ("type=a", "a"),
        ("type=a,c", ""),
        ("type=", ""),
        ("fragmentType=plat_X", "db"),
        ("fragmentType=plat_X&type=b", "b"),
        ("fragmentType=y", ""),
        ("fragmentType=0", ""),
        ("dateFrom=2024-03-10T03:00:00Z", "edc"),
        ("dateTo=2024-03-10T03:00:00Z", "cba"),
        ("dateFrom=2024-03-10T02:00:00Z&dateTo=2024-03-10T04:00:00Z", "dcb"),
        ("dateFrom=2024-03-10T04:00:00Z&dateTo=2024-03-10T02:00:00Z", ""),
        ("dateFrom=2024-03-10T05:00:00%2B02:00", "edc"),
        (&*format!("source={pump}"), "cba"),
        (&*format!("source={motor}&fragmentType=plat_X"), "d"),
        (&*format!("source={pump}&type=a&dateTo=2024-03-10T01:00:00Z&fragmentType=plat_X"), ""),
        (&*format!("source={pump}&revert=true&dateFrom=2024-03-10T02:00:00Z"), "bc"),
        ("source=4711", ""),
        ("source=abc", ""),
        ("unknown=1", "edcba"),
    ] {
        assert_eq!(types(&admin, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn pages_follow_each_other_and_are_counted() {
    let (_server, admin, ..) = populated().await;

    for (order, expected) in [("", ["ed", "cb", "a"]), ("&revert=true", ["ab", "cd", "e"])] {
        let first = admin.read(&format!("{EVENTS}?pageSize=2&withTotalPages=true{order}")).await;
        let second = admin.read(first["next"].as_str().unwrap()).await;
        let third = admin.read(second["next"].as_str().unwrap()).await;
        assert_eq!(first["statistics"], json!({"totalPages": 3, "pageSize": 2, "currentPage": 1}));
        assert_eq!((first.get("prev"), third.get("next")), (None, None));
        let seen = [&first, &second, &third].map(|page| member_texts(page, "events", "type").concat());
        assert_eq!(seen, expected);
        assert_eq!(admin.read(third["prev"].as_str().unwrap()).await["events"], second["events"]);
    }
    let beyond = admin.read(&format!("{EVENTS}?currentPage=9")).await;
    assert_eq!((&beyond["events"], beyond.get("next")), (&json!([]), None));
}

#[tokio::test]
async fn descendants_of_a_source_are_those_below_the_links_that_are_asked_for() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut devices = Vec::new();
    for name in ["g", "w", "s", "o"] {
        devices.push(admin.create_device(name).await);
        admin.create_event(devices.last().unwrap(), name).await;
    }
    for (parent, block, child) in [(0, "childAssets", 1), (1, "childDevices", 2), (0, "childAdditions", 3)] {
        let path = format!("/inventory/managedObjects/{}/{block}", devices[parent]);
        admin.create(&path, &json!({"managedObject": {"id": devices[child]}})).await;
    }
    let group = &devices[0];

    assert_eq!(types(&admin, &format!("source={group}")).await, "g");
    assert_eq!(types(&admin, &format!("source={group}&withSourceAssets=true")).await, "wg");
    assert_eq!(types(&admin, &format!("source={group}&withSourceDevices=true")).await, "g");
    let both = format!("source={group}&withSourceAssets=true&withSourceDevices=true");
    assert_eq!(types(&admin, &both).await, "swg");
    assert_eq!(types(&admin, &format!("{both}&type=s&revert=true")).await, "s");
    assert_eq!(admin.get(&format!("{EVENTS}?withSourceAssets=true")).await.status, 422);
}

#[tokio::test]
async fn wrong_parameters_are_422_and_named() {
    let (_server, admin, ..) = populated().await;

    for (parameter, value) in [
        ("revert", "yes"),
        ("dateFrom", "yesterday"),
        ("dateTo", "2024-13-01"),
        ("withSourceDevices", "1"),
        ("pageSize", "0"),
        ("currentPage", "x"),
    ] {
        admin.get(&format!("{EVENTS}?{parameter}={value}")).await.expect_message(422, parameter);
    }
    for query in ["type=%00", "fragmentType=a%00b", "source=%FF"] {
        assert!(admin.get(&format!("{EVENTS}?{query}")).await.status < 500, "{query}");
    }
}

#[tokio::test]
async fn few_events_among_many_are_found_on_every_page() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let device: i64 = admin.create_device("door").await.parse().unwrap();
    let statement = "INSERT INTO events (tenant, id, source, type, time, time_offset, text, created_at, fragments) \
        SELECT $1, n, $2, 'often', now() - make_interval(secs => n), 0, 'x', now(), \
            CASE n % 5000 WHEN 0 THEN '{\"plat_Rare\":{}}' ELSE '{}' END::json FROM generate_series(1, 20001) n";
    server.execute(statement, &[&device]).await;

    for (order, expected) in
        [("", ["5000", "10000", "15000", "20000"]), ("&revert=true", ["20000", "15000", "10000", "5000"])]
    {
        for filter in ["fragmentType=plat_Rare", &format!("fragmentType=plat_Rare&source={device}")] {
            let path = format!("{EVENTS}?pageSize=3&{filter}{order}");
            assert_eq!(admin.ids_of_pages(&path, "events").await, expected, "{filter}{order}");
        }
    }
}
