//! Lists of sessions, their filters and pages.

use super::*;

#[tokio::test]
async fn session_shows_who_since_when_how_and_what_waits() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mia = server.user_with("mia", &["ROLE_ALARM_READ", "ROLE_EVENT_READ"]).await;
    let session = mia.listen("/alarms/*").await;
    let filtered =
        json!({"subscription": format!("/events/{device}"), "ext": {"com.platform.filter": "type eq 'x'"}});
    assert_eq!(session.ask("/meta/subscribe", filtered).await["successful"], true);
    admin.raise_alarm(&device, "hot").await;

    let shown = eventually("a waiting notification", async || {
        let shown = only(&admin, "user=mia").await;
        (shown["queuedNotificationCount"] == 1).then_some(shown)
    })
    .await;

    assert_eq!((&shown["user"], &shown["transport"]), (&json!("mia"), &json!("LONG_POLLING")));
    assert_eq!(shown["subscriptions"], json!(["/alarms/*", format!("/events/{device}")]));
    assert_eq!(shown["filters"], json!({format!("/events/{device}"): "type eq 'x'"}));
    assert_eq!((&shown["holdsConnect"], shown.get("lastDeliveryTime")), (&json!(false), None));
    assert_eq!(shown["address"], "127.0.0.1");
    assert!(shown["creationTime"].as_str().unwrap().starts_with("20"), "{shown}");
    assert!(!shown.to_string().contains(&session.client), "a clientId is a credential");
    session.receive(1).await;
    let _held = session.hold().await;
    let waiting = eventually("a held connect", async || {
        let shown = only(&admin, "user=mia").await;
        (shown["holdsConnect"] == true).then_some(shown)
    })
    .await;
    assert_eq!(waiting["queuedNotificationCount"], 0);
    assert!(waiting["lastDeliveryTime"].as_str() >= waiting["creationTime"].as_str(), "{waiting}");
    assert_eq!(admin.read(waiting["self"].as_str().unwrap()).await["id"], shown["id"]);
}

#[tokio::test]
async fn sockets_are_distinguished_from_polls() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (_socket, _) = Socket::listen(&admin, "/alarms/*").await;
    assert_eq!(only(&admin, "user=admin").await["transport"], "WEBSOCKET");
    drop(server);
}

#[tokio::test]
async fn filters_select_by_user_channel_and_device() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ", "ROLE_EVENT_READ"]).await;
    for (caller, channel) in [
        (&joe, "/alarms/*"),
        (&joe, &*format!("/alarms/{device}")),
        (&admin, "/events/*"),
        (&admin, "/alarms/7"),
    ] {
        caller.listen(channel).await;
    }

    for (query, count) in [
        (String::new(), 4),
        ("user=joe".into(), 2),
        ("user=nobody".into(), 0),
        (format!("channel=/alarms/{device}"), 2),
        ("channel=/alarms/*".into(), 1),
        ("channel=/events/9".into(), 1),
        (format!("device={device}"), 3),
        (format!("device={device}&user=joe&channel=/alarms/{device}"), 2),
    ] {
        let list = admin.read(&format!("{SESSIONS}?{query}")).await;
        assert_eq!(list["sessions"].as_array().unwrap().len(), count, "{query}: {list:#}");
        assert_eq!(list["missingServers"], json!([]));
    }
    admin.get(&format!("{SESSIONS}?device=pump")).await.expect(422);
}

#[tokio::test]
async fn pages_lead_through_all_sessions_once() {
    let (server, admin) = TestServer::shared().await.with_admin();
    for _ in 0..7 {
        admin.session().await;
    }

    let mut seen = Vec::new();
    let mut link = Some(format!("{SESSIONS}?pageSize=3&withTotalPages=true"));
    while let Some(path) = link {
        let answer = admin.get(&path).await.expect(200);
        let media_type = answer.header("Content-Type").unwrap().to_owned();
        assert!(media_type.starts_with(&format!("{MEDIA}clientSessionCollection+json")), "{media_type}");
        let page = answer.json();
        assert_eq!(page["statistics"]["totalPages"], 3);
        seen.extend(ids(&page, "sessions"));
        link = page["next"].as_str().map(ToOwned::to_owned);
    }
    let second = ids(&admin.read(&format!("{SESSIONS}?pageSize=3&currentPage=2")).await, "sessions");

    assert_eq!((seen.len(), &seen[3..6]), (7, &second[..]));
    let mut sorted = seen.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted, seen);
    admin.get(&format!("{SESSIONS}?currentPage=100000")).await.expect(422);
    drop(server);
}

#[tokio::test]
async fn sessions_of_all_servers_are_listed_and_moving_keeps_what_they_are() {
    let servers = TestServer::north_and_south().await;
    let admins = servers.each_ref().map(TestServer::admin);
    let sessions = [admins[0].session().await, admins[1].session().await];

    let list = admins[0].read(SESSIONS).await;

    let mut of: Vec<&str> =
        list["sessions"].as_array().unwrap().iter().map(|one| one["server"].as_str().unwrap()).collect();
    of.sort_unstable();
    assert_eq!(of, ["north", "south"], "{list:#}");
    let northern = list["sessions"].as_array().unwrap().iter().find(|one| one["server"] == "north").unwrap();
    // The client uses the other server from now on.
    admins[1].resume(&sessions[0].client).glance().await;
    let moved = eventually("the move", async || {
        let moved = admins[0].read(northern["self"].as_str().unwrap()).await;
        (moved["server"] == "south").then_some(moved)
    })
    .await;
    for member in ["id", "user", "creationTime", "address"] {
        assert_eq!(moved[member], northern[member], "{member}");
    }
}

#[tokio::test]
async fn server_that_does_not_respond_is_named() {
    let (server, admin) = TestServer::start().await.with_admin();
    admin.session().await;
    let silent = "INSERT INTO servers (slot, incarnation, name, version, address, state, started_at, leased_until, \
            ids_until, connections) \
        VALUES (250, 999999, 'silent', '1', 'http://nowhere', 'UP', now(), now() + interval '1 hour', 0, 1)";
    server.database().execute(silent, &[]).await;
    let begun = Instant::now();

    let list = admin.read(SESSIONS).await;

    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(list["missingServers"], json!(["silent"]));
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    // The server that does not respond may have this session, which is unknown here.
    for method in ["GET", "DELETE"] {
        admin.request(method, &format!("{SESSIONS}/{}", "0".repeat(32))).send().await.expect(503);
    }
}

#[tokio::test]
async fn tenants_do_not_see_each_other_and_roles_are_required() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let other = crate::harness::tenants::create_tenant(&server, "plant7").await;
    admin.session().await;
    let own = only(&admin, "").await;

    assert_eq!(other.read(SESSIONS).await["sessions"], json!([]));
    let path = own["self"].as_str().unwrap();
    for method in ["GET", "DELETE"] {
        other.request(method, path).send().await.expect(404);
    }
    let reader = server.user_with("reader", &["ROLE_USER_MANAGEMENT_READ"]).await;
    let writer = server.user_with("writer", &["ROLE_USER_MANAGEMENT_ADMIN"]).await;
    assert_eq!((reader.get(path).await.status, reader.delete(path).await.status), (200, 403));
    assert_eq!((writer.get(path).await.status, writer.get(SESSIONS).await.status), (403, 403));
    for id in ["x", "%00", &"g".repeat(32), &"0".repeat(33)] {
        let answer = admin.get(&format!("{SESSIONS}/{id}")).await;
        answer.expect_error(404, "notification/Not Found");
    }
    drop(Value::Null);
}
