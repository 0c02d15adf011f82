//! Granting a right ends no session; withdrawing a right ends exactly the sessions that depend on it (B-18b).

use super::*;
use crate::harness::issuer::{RSA_2048, upload};

const USERS: &str = "/user/main/users";
const GROUPS: &str = "/user/main/groups";

/// Waits until the other server has received the change, if the test runs at two servers.
async fn heard_at_the_other_server() {
    if runs_at_two_servers() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn give(admin: &Caller, holder: &str, role: &str) {
    admin.post(&format!("{holder}/roles"), &json!({"role": {"id": role}})).await.expect(201);
    heard_at_the_other_server().await;
}

async fn take(admin: &Caller, holder: &str, role: &str) {
    assert_eq!(admin.delete(&format!("{holder}/roles/{role}")).await.status, 204);
    heard_at_the_other_server().await;
}

/// Gives a user or a group these device permissions, and no others.
async fn permit(admin: &Caller, holder: &str, permissions: Value) {
    admin.put(holder, &json!({"devicePermissions": permissions})).await.expect(200);
    heard_at_the_other_server().await;
}

/// Creates a new group and returns its path.
async fn group(admin: &Caller, name: &str) -> String {
    let group = admin.create(GROUPS, &json!({"name": name})).await;
    format!("{GROUPS}/{}", group["id"])
}

async fn add(admin: &Caller, group: &str, user: &str) {
    admin.create(&format!("{group}/users"), &json!({"user": {"id": user}})).await;
    heard_at_the_other_server().await;
}

/// Expects that a session has ended. One that moves to another server meanwhile ends a little later.
async fn ended(session: &Session) {
    if runs_at_two_servers() {
        until("the end of the session", async || !session.is_known().await).await;
    }
    assert!(!session.is_known().await);
}

/// Returns the types of the next alarms that the session receives.
async fn told(session: &Session) -> Vec<Value> {
    let answer = session.glance_until_told().await;
    notifications(&answer).iter().map(|told| told["data"]["data"]["type"].clone()).collect()
}

#[tokio::test]
async fn change_of_a_group_leaves_sessions_and_queues_of_users_outside_it_alone() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let ann = server.user_with("ann", &["ROLE_ALARM_READ"]).await;
    server.user_with("joe", &[]).await;
    let (queued, polling) = (ann.listen("/alarms/*").await, ann.listen("/alarms/*").await);
    admin.raise_alarm(&device, "before").await;
    assert_eq!(told(&polling).await, ["before"]);
    let held = polling.hold().await;

    let group = group(&admin, "night shift").await;
    add(&admin, &group, "joe").await;
    give(&admin, &group, "ROLE_ALARM_READ").await;
    take(&admin, &group, "ROLE_ALARM_READ").await;
    permit(&admin, &group, json!({&device: ["ALARM:*:READ"]})).await;
    permit(&admin, &group, json!({})).await;
    give(&admin, &group, "ROLE_EVENT_READ").await;
    assert_eq!(admin.delete(&group).await.status, 204);

    admin.raise_alarm(&device, "after").await;
    let answer = soon("the answer of the held poll", held.answer()).await;
    assert_eq!(notifications(&answer)[0]["data"]["data"]["type"], "after", "{answer:?}");
    assert_eq!(told(&queued).await, ["before", "after"]);
}

#[tokio::test]
async fn right_that_is_given_ends_nothing() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let session = joe.listen("/alarms/*").await;
    admin.raise_alarm(&device, "before").await;
    let path = format!("{USERS}/joe");

    give(&admin, &path, "ROLE_EVENT_READ").await;
    permit(&admin, &path, json!({&device: ["MEASUREMENT:*:READ"]})).await;
    permit(&admin, &path, json!({&device: ["MEASUREMENT:*:*"]})).await;
    let group = group(&admin, "night shift").await;
    add(&admin, &group, "joe").await;
    give(&admin, &group, "ROLE_INVENTORY_READ").await;
    permit(&admin, &group, json!({&device: ["OPERATION:*:READ"]})).await;

    assert_eq!(told(&session).await, ["before"]);
    for channel in ["/events/*".into(), format!("/measurements/{device}"), "/managedobjects/*".into()] {
        assert_eq!(session.subscribe(&channel).await["successful"], true, "{channel}");
    }
}

#[tokio::test]
async fn role_that_is_taken_ends_the_session_that_rested_on_it_and_no_other_of_the_user() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ", "ROLE_EVENT_READ"]).await;
    let (alarms, events, fresh) =
        (joe.listen("/alarms/*").await, joe.listen("/events/*").await, joe.session().await);
    admin.create_event(&device, "door").await;
    let held = alarms.hold().await;

    take(&admin, &format!("{USERS}/joe"), "ROLE_ALARM_READ").await;

    // The session ended before the change got its response.
    ended(&alarms).await;
    let answer = soon("the answer of the held poll", held.answer()).await;
    let advice = json!({"reconnect": "handshake", "interval": 0});
    let expected = json!({"successful": false, "error": "402::Unknown client", "advice": advice});
    assert_eq!(reply(&answer), expected);
    assert_eq!(told(&events).await, ["door"]);
    assert!(fresh.is_known().await);
    assert_eq!(fresh.subscribe("/alarms/*").await["error"], "403::subscribe_denied");
}

#[tokio::test]
async fn role_that_is_held_twice_is_lost_when_it_is_taken_twice() {
    let (server, admin) = TestServer::start().await.with_admin();
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let group = group(&admin, "night shift").await;
    give(&admin, &group, "ROLE_ALARM_READ").await;
    add(&admin, &group, "joe").await;
    let session = joe.listen("/alarms/*").await;

    take(&admin, &format!("{USERS}/joe"), "ROLE_ALARM_READ").await;
    assert!(session.is_known().await, "the group has it");
    assert_eq!(admin.delete(&format!("{group}/users/joe")).await.status, 204);
    ended(&session).await;
}

#[tokio::test]
async fn subscription_by_a_device_permission_ends_with_it_and_one_by_ownership_stays() {
    let (server, admin) = TestServer::start().await.with_admin();
    let joe = server.user_with("joe", &["ROLE_INVENTORY_CREATE"]).await;
    let (own, other) = (joe.create_device("own").await, admin.create_device("other").await);
    let path = format!("{USERS}/joe");
    permit(&admin, &path, json!({&other: ["ALARM:*:READ"]})).await;
    let by_ownership = joe.listen(&format!("/alarms/{own}")).await;
    let by_permission = joe.listen(&format!("/alarms/{other}")).await;
    let of_deleted = joe.create_device("of a moment").await;
    let without_object = joe.listen(&format!("/alarms/{of_deleted}")).await;
    assert_eq!(admin.delete(&format!("/inventory/managedObjects/{of_deleted}")).await.status, 204);

    permit(&admin, &path, json!({&own: ["EVENT:*:READ"]})).await;

    ended(&by_permission).await;
    assert!(by_ownership.is_known().await);
    assert!(without_object.is_known().await, "what it listened to went, but no right of it");
}

#[tokio::test]
async fn members_of_a_large_group_lose_what_they_had_by_it_and_nobody_else_does() {
    let database = TestDatabase::create().await;
    upload(&database, "main", RSA_2048.name, RSA_2048.public).await;
    let (server, admin, device) = TestServer::start_on(&database, |_| {}).await.with_device("pump").await;
    for (members, name) in [(40, "some"), (1100, "very many")] {
        let group = group(&admin, name).await;
        give(&admin, &group, "ROLE_ALARM_READ").await;
        let insert = "INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at) \
            SELECT 'main', $1 || n, 'none', true, '{}', now() FROM generate_series(1, $2::int) n";
        database.execute(insert, &[&name, &members]).await;
        let join = "INSERT INTO group_members SELECT g.tenant, g.id, $1 || n \
            FROM groups g, generate_series(1, $2::int) n WHERE g.tenant = 'main' AND g.name = $1";
        database.execute(join, &[&name, &members]).await;
        let outsider = server.user_with(&format!("outside {name}"), &["ROLE_ALARM_READ"]).await;
        let outside = outsider.listen("/alarms/*").await;
        let mut inside = Vec::new();
        for n in 1..=30 {
            let member = server.stranger().with_token(&RSA_2048.token_of(&format!("{name}{n}")));
            inside.push((member.listen("/alarms/*").await, member.session().await));
        }

        take(&admin, &group, "ROLE_ALARM_READ").await;

        for (listening, idle) in &inside {
            ended(listening).await;
            assert!(idle.is_known().await, "{name}");
            assert_eq!(idle.subscribe("/alarms/*").await["error"], "403::subscribe_denied");
        }
        admin.raise_alarm(&device, name).await;
        assert_eq!(told(&outside).await, [name]);
    }
}

#[tokio::test]
async fn subscription_under_way_while_its_role_is_taken_does_not_outlive_it() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let joe = server.user_with("joe", &[]).await;
    let path = format!("{USERS}/joe");
    for n in 0..30 {
        give(&admin, &path, "ROLE_ALARM_READ").await;
        let session = joe.session().await;

        tokio::join!(session.subscribe("/alarms/*"), take(&admin, &path, "ROLE_ALARM_READ"));

        admin.raise_alarm(&device, &format!("type {n}")).await;
        assert!(notifications(&session.glance().await).is_empty(), "round {n}");
    }
}

#[tokio::test]
async fn other_servers_end_what_rested_on_a_lost_right() {
    let server = TestServer::start().await;
    let other = TestServer::start_on(&server.shared_database(), |_| {}).await;
    let (admin, group) = (server.admin(), group(&server.admin(), "night shift").await);
    give(&admin, &group, "ROLE_ALARM_READ").await;
    server.user_with("joe", &["ROLE_EVENT_READ"]).await;
    add(&admin, &group, "joe").await;
    let joe = other.caller("joe", crate::harness::ADMIN_PASSWORD);
    let (alarms, events) = (joe.listen("/alarms/*").await, joe.listen("/events/*").await);

    take(&admin, &group, "ROLE_ALARM_READ").await;

    until("the end of the session", async || !alarms.is_known().await).await;
    assert!(events.is_known().await);
}

#[tokio::test]
async fn right_that_was_taken_while_the_database_was_away_is_lost_afterwards() {
    let server = TestServer::start().await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ", "ROLE_EVENT_READ"]).await;
    let (alarms, events) = (joe.listen("/alarms/*").await, joe.listen("/events/*").await);

    let roles: &[&str] = &["ROLE_EVENT_READ"];
    server.database().execute("UPDATE users SET roles = $1 WHERE name = 'joe'", &[&roles]).await;
    let interruption = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name LIKE 'platform %'";
    server.database().execute(interruption, &[]).await;

    until("the end of the session", async || !alarms.is_known().await).await;
    // At two servers, the session may have missed a notification meanwhile; it then ends, too.
    assert!(runs_at_two_servers() || events.is_known().await);
}

#[tokio::test]
async fn socket_stays_open_when_the_rights_of_its_user_change_and_has_them_at_once() {
    let (server, admin) = TestServer::start().await.with_admin();
    let joe = server.user_with("joe", &["ROLE_EVENT_READ"]).await;
    let (mut socket, client) = Socket::listen(&joe, "/events/*").await;
    let path = format!("{USERS}/joe");

    give(&admin, &path, "ROLE_ALARM_READ").await;
    assert_eq!(socket.ask(subscribe(&client, "/alarms/7")).await["successful"], true);
    give(&admin, &path, "ROLE_INVENTORY_READ").await;
    take(&admin, &path, "ROLE_INVENTORY_READ").await;

    let denied = socket.ask(subscribe(&client, "/managedobjects/*")).await;
    assert_eq!(denied["error"], "403::subscribe_denied", "{denied}");
    let device = admin.create_device("pump").await;
    admin.create_event(&device, "door").await;
    assert_eq!(socket.message().await["channel"], format!("/events/{device}"));
}

#[tokio::test]
async fn session_of_a_user_that_was_deleted_and_created_again_stays() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    for n in 0..10 {
        let joe = json!({"userName": "joe", "password": "secret-1", "enabled": true});
        admin.create(USERS, &joe).await;
        give(&admin, &format!("{USERS}/joe"), "ROLE_ALARM_READ").await;
        let joe = server.caller("joe", "secret-1");

        let mut socket = Socket::open(&joe, REALTIME).await;
        let client = socket.ask(handshake(json!({}))).await["clientId"].as_str().unwrap().to_owned();
        assert_eq!(socket.ask(subscribe(&client, "/alarms/*")).await["successful"], true, "round {n}");
        socket.send(json!([connect(&client)]).to_string()).await;
        admin.raise_alarm(&device, &format!("type {n}")).await;
        let told = socket.message().await;
        assert_eq!(told["data"]["data"]["type"], format!("type {n}"), "round {n}: {told}");

        assert_eq!(admin.delete(&format!("{USERS}/joe")).await.status, 204);
    }
    // Only once, because each further wrong password is delayed longer.
    assert_eq!(server.caller("joe", "secret-1").get("/alarm/alarms").await.status, 401);
}
