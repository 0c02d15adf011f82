//! `DELETE /event/events` with and without filters.

use std::collections::HashSet;

use super::*;

/// Creates `count` events of a device, every hundredth of them with a fragment.
async fn fill(server: &TestServer, device: &str, count: i32) {
    let device: i64 = device.parse().unwrap();
    let statement = "INSERT INTO events (tenant, id, source, type, time, time_offset, text, created_at, fragments) \
        SELECT $1, n, $2, 'many', now() - make_interval(secs => n), 0, 'x', now(), \
            CASE n % 100 WHEN 0 THEN '{\"plat_Rare\":{}}' ELSE '{}' END::json FROM generate_series(1, $3::int) n";
    server.execute(statement, &[&device, &count]).await;
}

#[tokio::test]
async fn filters_delete_what_they_find_and_nothing_else() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);

    for (query, left) in [
        (format!("source={pump}"), "de"),
        ("type=a".into(), "bcde"),
        ("fragmentType=plat_X".into(), "acde"),
        ("dateFrom=2024-03-10T03:00:00Z".into(), "ab"),
        ("dateTo=2024-03-10T02:00:00Z&revert=true".into(), "cde"),
        (format!("source={motor}&type=d"), "abce"),
        ("source=4711".into(), "abcde"),
        ("source=abc".into(), "abcde"),
        ("type=none".into(), "abcde"),
        (String::new(), ""),
    ] {
        server.database().execute("DELETE FROM events", &[]).await;
        for (kind, hour, source) in
            [("a", 1, &pump), ("b", 2, &pump), ("c", 3, &pump), ("d", 4, &motor), ("e", 5, &motor)]
        {
            let mut body = event_of(source, kind);
            body["time"] = json!(format!("2024-03-10T0{hour}:00:00Z"));
            if kind == "b" {
                body["plat_X"] = json!({});
            }
            admin.create(EVENTS, &body).await;
        }
        let answer = admin.delete(&format!("{EVENTS}?{query}")).await;
        assert_eq!((answer.status, &*answer.text), (204, ""), "{query}");
        let found = member_texts(&admin.read(&format!("{EVENTS}?revert=true")).await, "events", "type");
        assert_eq!(found.concat(), left, "{query}");
    }
}

#[tokio::test]
async fn more_than_one_statement_takes_are_deleted_with_their_files() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    fill(&server, &device, 9001).await;
    let binary = "INSERT INTO binaries (tenant, id, event, name, content_type, length, created_at) \
        SELECT 'main', n, n, 'x', 'x/y', 1, now() FROM generate_series(1, 9001) n WHERE n % 100 = 0";
    server.database().execute(binary, &[]).await;
    let chunk = "INSERT INTO binary_chunks SELECT tenant, id, 0, 'x' FROM binaries";
    server.database().execute(chunk, &[]).await;

    assert_eq!(admin.delete(&format!("{EVENTS}?fragmentType=plat_Rare")).await.status, 204);
    assert_eq!(server.count("events").await, 9001 - 90);
    assert_eq!(server.count("binaries").await, 0);
    assert_eq!(server.count("binary_chunks").await, 0);

    assert_eq!(admin.delete(EVENTS).await.status, 204);
    assert_eq!(server.count("events").await, 0);
}

#[tokio::test]
async fn other_tenants_keep_their_events() {
    let server = TestServer::start().await;
    server.database().insert_tenant("plant7", "plant7.example.com").await;
    let (admin, other) = (server.admin(), server.caller("plant7/admin", crate::harness::ADMIN_PASSWORD));
    for caller in [&admin, &other] {
        let device = caller.create_device("pump").await;
        caller.create_event(&device, "t").await;
    }

    assert_eq!(admin.delete(EVENTS).await.status, 204);

    assert_eq!(other.read(EVENTS).await["events"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_thousand_deletions_are_published_and_none_beyond() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    fill(&server, &device, 2500).await;
    let session = admin.listen(&format!("/events/{device}")).await;

    assert_eq!(admin.delete(EVENTS).await.status, 204);
    admin.create_event(&device, "last").await;

    let told = session.receive(1001).await;
    let (last, deletions) = told.split_last().unwrap();
    let ids: HashSet<_> = deletions
        .iter()
        .map(|told| {
            assert_eq!(told["data"]["realtimeAction"], "DELETE");
            told["data"]["data"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(ids.len(), 1000);
    assert_eq!(last["data"]["realtimeAction"], "CREATE");
}

#[tokio::test]
async fn quiescent_deletion_notifies_nobody_and_transient_deletes_nothing() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.listen(&format!("/events/{device}")).await;
    fill(&server, &device, 10).await;
    let delete = async |mode: &str| {
        admin.request("DELETE", EVENTS).header("X-Platform-Processing-Mode", mode).send().await.status
    };

    assert_eq!((delete("TRANSIENT").await, delete("CEP").await), (204, 204));
    assert_eq!(server.count("events").await, 10);
    assert_eq!(delete("quiescent").await, 204);
    assert_eq!(server.count("events").await, 0);
    assert_eq!(delete("whatever").await, 422);

    admin.create_event(&device, "next").await;
    assert_eq!(session.receive(1).await[0]["data"]["realtimeAction"], "CREATE");
}

#[tokio::test]
async fn deletion_of_many_needs_the_role() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    admin.create_event(&device, "t").await;

    let reader = server.user_with("reader", &["ROLE_EVENT_READ"]).await;
    let permitted = server.user_permitted("permitted", &device, &["EVENT:*:*"]).await;
    for caller in [&reader, &permitted] {
        assert_eq!(caller.delete(EVENTS).await.status, 403);
        assert_eq!(caller.delete(&format!("{EVENTS}?source={device}")).await.status, 403);
    }
    for filter in ["dateFrom=never", "typ=none", "source=4711&fragmenttype=x"] {
        assert_eq!(admin.delete(&format!("{EVENTS}?{filter}")).await.status, 422, "{filter}");
    }
    assert_eq!(server.count("events").await, 1);
}
