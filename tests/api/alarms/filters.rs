//! The collection and its filters (A-01, P-06, X-08).

use super::*;

/// Creates two devices with five alarms, whose types identify them.
async fn populated() -> (TestServer, Caller, String, String) {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);
    for (device, kind, severity, status, time) in [
        (&pump, "a", "CRITICAL", "ACTIVE", "2024-03-10T01:00:00Z"),
        (&pump, "b", "MAJOR", "ACKNOWLEDGED", "2024-03-10T02:00:00Z"),
        (&pump, "c", "MINOR", "CLEARED", "2024-03-10T03:00:00Z"),
        (&motor, "d", "WARNING", "ACTIVE", "2024-03-10T04:00:00Z"),
        (&motor, "e", "MAJOR", "CLEARED", "2024-03-10T05:00:00Z"),
    ] {
        let mut alarm = alarm_of(device, kind);
        alarm["severity"] = json!(severity);
        alarm["status"] = json!(status);
        alarm["time"] = json!(time);
        admin.create("/alarm/alarms", &alarm).await;
    }
    (server, admin, pump, motor)
}

async fn types(caller: &Caller, query: &str) -> String {
    member_texts(&caller.read(&format!("/alarm/alarms?{query}")).await, "alarms", "type").concat()
}

#[tokio::test]
async fn alarms_are_listed_newest_first_and_reverted_oldest_first() {
    let (_server, admin, ..) = populated().await;

    assert_eq!(types(&admin, "").await, "edcba");
    assert_eq!(types(&admin, "revert=false").await, "edcba");
    assert_eq!(types(&admin, "revert=true").await, "abcde");
}

#[tokio::test]
async fn reverted_list_is_paged_in_its_order() {
    let (_server, admin, ..) = populated().await;

    let first = admin.read("/alarm/alarms?revert=true&pageSize=2").await;
    let second = admin.read(first["next"].as_str().unwrap()).await;
    let third = admin.read(second["next"].as_str().unwrap()).await;

    let seen = [first, second, third].map(|page| member_texts(&page, "alarms", "type").concat());
    assert_eq!(seen, ["ab", "cd", "e"]);
}

#[tokio::test]
async fn each_filter_finds_what_it_names() {
    let (_server, admin, pump, motor) = populated().await;

    for (query, expected) in [
        ("status=ACTIVE", "da"),
        ("status=ACTIVE,ACKNOWLEDGED", "dba"),
        ("status=CLEARED", "ec"),
        ("resolved=true", "ec"),
        ("resolved=false", "dba"),
        ("resolved=false&status=ACTIVE", "da"),
        ("resolved=true&status=ACTIVE", ""),
        ("severity=MAJOR", "eb"),
        ("severity=CRITICAL,WARNING", "da"),
        ("type=a", "a"),
        ("type=a,c,unknown", "ca"),
        ("dateFrom=2024-03-10T03:00:00Z", "edc"),
        ("dateTo=2024-03-10T03:00:00Z", "cba"),
        ("dateFrom=2024-03-10T02:00:00Z&dateTo=2024-03-10T04:00:00Z", "dcb"),
        ("dateFrom=2024-03-10T04:00:00Z&dateTo=2024-03-10T02:00:00Z", ""),
        (&*format!("source={pump}"), "cba"),
        (&*format!("source={motor}&severity=MAJOR"), "e"),
        ("source=4711", ""),
    ] {
        assert_eq!(types(&admin, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn filters_are_counted() {
    let (_server, admin, ..) = populated().await;

    let page = admin.read("/alarm/alarms?severity=MAJOR&pageSize=1&withTotalPages=true").await;

    assert_eq!(page["statistics"], json!({"totalPages": 2, "pageSize": 1, "currentPage": 1}));
}

#[tokio::test]
async fn source_with_its_descendants_includes_the_source() {
    let (_server, admin, pump, _) = populated().await;

    for parameter in ["withSourceDevices", "withSourceAssets", "withDevices", "withAssets"] {
        assert_eq!(types(&admin, &format!("source={pump}&{parameter}=true")).await, "cba", "{parameter}");
    }
}

#[tokio::test]
async fn descendants_of_a_source_are_those_below_the_links_that_are_asked_for() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut ids = Vec::new();
    for name in ["group", "gateway", "sensor", "note", "other"] {
        ids.push(admin.create_device(name).await);
        admin.raise_alarm(ids.last().unwrap(), name).await;
    }
    for (parent, block, child) in
        [(0, "childAssets", 1), (1, "childDevices", 2), (0, "childAdditions", 3), (4, "childAssets", 1)]
    {
        let path = format!("/inventory/managedObjects/{}/{block}", ids[parent]);
        admin.create(&path, &json!({"managedObject": {"id": ids[child]}})).await;
    }

    let found = async |source: usize, flags: &str| {
        let parameters = format!("pageSize=2&revert=true&withTotalPages=true&source={}{flags}", ids[source]);
        let pages = admin.pages(&format!("/alarm/alarms?{parameters}")).await;
        let found: Vec<_> = pages.iter().flat_map(|page| member_texts(page, "alarms", "type")).collect();
        (found, pages.last().unwrap()["statistics"]["totalPages"].clone())
    };

    let (assets, devices) = ("&withSourceAssets=true", "&withDevices=true");
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(found(0, "").await.0, names(&["group"]));
    assert_eq!(found(0, assets).await.0, names(&["group", "gateway"]));
    assert_eq!(found(0, devices).await.0, names(&["group"]));
    assert_eq!(found(1, devices).await.0, names(&["gateway", "sensor"]));
    assert_eq!(
        found(0, &format!("{assets}{devices}")).await,
        (names(&["group", "gateway", "sensor"]), json!(2))
    );
    assert_eq!(found(0, &format!("{assets}{devices}&type=sensor")).await.0, names(&["sensor"]));
}

#[tokio::test]
async fn descendants_without_a_source_are_422() {
    let (_server, admin, ..) = populated().await;

    for parameter in ["withSourceDevices", "withSourceAssets", "withDevices", "withAssets"] {
        admin.get(&format!("/alarm/alarms?{parameter}=true")).await.expect(422);
    }
}

#[tokio::test]
async fn wrong_words_in_filters_are_422_and_named() {
    let (_server, admin, ..) = populated().await;

    for (parameter, value) in [
        ("status", "active"),
        ("status", "ACTIVE,OPEN"),
        ("severity", "BAD"),
        ("resolved", "maybe"),
        ("revert", "yes"),
        ("dateFrom", "yesterday"),
    ] {
        admin.get(&format!("/alarm/alarms?{parameter}={value}")).await.expect_message(422, parameter);
    }
}

#[tokio::test]
async fn booleans_are_taken_in_upper_and_lower_case() {
    let (_server, admin, ..) = populated().await;

    for (query, expected) in [
        ("resolved=TRUE", "ec"),
        ("resolved=False", "dba"),
        ("revert=True", "abcde"),
        ("revert=FALSE", "edcba"),
    ] {
        assert_eq!(types(&admin, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn number_of_alarms_is_returned_as_text() {
    let (_server, admin, pump, motor) = populated().await;

    for (query, expected) in [
        (String::new(), "5"),
        ("status=ACTIVE".into(), "2"),
        ("resolved=True&severity=MAJOR".into(), "1"),
        (format!("source={pump}"), "3"),
        (format!("source={motor}&dateFrom=2024-03-10T05:00:00Z"), "1"),
        ("source=nobody".into(), "0"),
        ("unknown=1".into(), "5"),
    ] {
        let answer = admin.get(&format!("/alarm/alarms/count?{query}")).await;
        assert_eq!((answer.status, &*answer.text), (200, expected), "{query}");
        assert!(answer.header("Content-Type").unwrap().starts_with("text/plain"), "{query}");
    }
    assert_eq!(admin.get("/alarm/alarms/count?status=open").await.status, 422);
}

#[tokio::test]
async fn only_alarms_that_the_caller_may_read_are_counted() {
    let (server, _, pump, _) = populated().await;
    let watcher = server.user_with("watcher", &[]).await;
    let permissions = json!({"devicePermissions": {&*pump: ["ALARM:*:READ"]}});
    assert_eq!(server.admin().put("/user/<tenant>/users/watcher", &permissions).await.status, 200);

    let counted = async || watcher.get("/alarm/alarms/count").await;
    crate::harness::until("the permission", async || counted().await.status == 200).await;

    assert_eq!(counted().await.text, "3");
    assert_eq!(watcher.get("/alarm/alarms/count?status=ACTIVE").await.text, "1");
}

#[tokio::test]
async fn alarms_at_one_time_are_ordered_by_descending_id() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for kind in ["a", "b", "c"] {
        admin.raise_alarm(&device, kind).await;
    }

    assert_eq!(types(&admin, "").await, "cba");
    assert_eq!(types(&admin, "revert=true").await, "abc");
}

#[tokio::test]
async fn collection_has_the_documents_members() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let page: Value = admin.read("/alarm/alarms").await;

    let members: Vec<&String> = page.as_object().unwrap().keys().collect();
    assert_eq!(members.len(), 3, "{members:?}");
    assert_eq!(
        (&page["alarms"], &page["statistics"]),
        (&json!([]), &json!({"currentPage": 1, "pageSize": 5}))
    );
    assert!(page["self"].as_str().unwrap().starts_with(&format!("{}/alarm/alarms?", server.base())));
}

#[tokio::test]
async fn few_alarms_among_many_are_found_on_every_page() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let device: i64 = admin.create_device("pump").await.parse().unwrap();
    let statement = "INSERT INTO alarms (tenant, id, source, type, time, time_offset, text, status, severity, count, \
            first_time, first_offset, created_at, fragments) \
        SELECT $1, n, $2, CASE n % 5000 WHEN 0 THEN 'rare' ELSE 'often' END, now() - make_interval(secs => n), \
            0, 'x', 'CLEARED', 'MAJOR', 1, now(), 0, now(), '{}' FROM generate_series(1, 20001) n";
    server.execute(statement, &[&device]).await;

    for (order, expected) in
        [("", ["5000", "10000", "15000", "20000"]), ("&revert=true", ["20000", "15000", "10000", "5000"])]
    {
        for filter in [
            "type=rare",
            &format!("type=rare&source={device}"),
            "type=rare&resolved=true&dateFrom=2020-01-01",
        ] {
            let path = format!("/alarm/alarms?pageSize=3&{filter}{order}");
            assert_eq!(admin.ids_of_pages(&path, "alarms").await, expected, "{filter}{order}");
            let numbered = format!("/alarm/alarms?pageSize=2&currentPage=2&{filter}{order}");
            assert_eq!(crate::harness::ids(&admin.read(&numbered).await, "alarms"), expected[2..]);
        }
    }
}
