//! Quotas: 403 with the name of the quota, its value and the usage.

use super::*;
use crate::harness::modules::{deploy, measure};

const HANDSHAKE: &str = r#"[{"channel": "/meta/handshake", "version": "1.0"}]"#;

fn handshake() -> Value {
    serde_json::from_str(HANDSHAKE).unwrap()
}

#[tokio::test]
async fn sessions_beyond_the_quota_are_403_until_one_ends() {
    let (server, boss) = with_tenant("t7").await;
    set(&server, "t7", json!({"sessions": 2})).await;
    let (first, _second) = (boss.session().await, boss.session().await);

    let refused = boss.bayeux(REALTIME, &handshake()).await.expect(403);

    assert_eq!(refused.error(), "tenants/Quota Exceeded");
    assert!(
        refused.message().contains("quota 'sessions' of the tenant is used up: 2 of 2"),
        "{}",
        refused.text
    );
    assert_eq!(limit(&boss, "sessions").await, json!({"value": 2, "from": "tenant", "usage": 2}));
    management(&server).session().await;
    first.ask("/meta/disconnect", json!({})).await;
    until("room for another session", async || boss.bayeux(REALTIME, &handshake()).await.status == 200).await;
}

#[tokio::test]
async fn poll_beyond_the_quota_is_not_held_and_its_session_stays() {
    let (server, boss) = with_tenant("t7").await;
    let device = boss.create_device("pump").await;
    let (one, other) = (boss.listen("/alarms/*").await, boss.listen("/alarms/*").await);
    set(&server, "t7", json!({"heldPolls": 1})).await;
    let held = one.hold().await;
    until("a poll that is held", async || limit(&boss, "heldPolls").await["usage"] == 1).await;

    let refused = other.connect().await;

    let reply = &refused[0];
    assert_eq!((&reply["successful"], refused.len()), (&json!(false), 1));
    let error = reply["error"].as_str().unwrap();
    assert!(
        error.starts_with("403::") && error.contains("quota 'heldPolls' of the tenant is used up: 1 of 1"),
        "{error}"
    );
    assert_eq!(reply["advice"]["reconnect"], "retry");
    assert_eq!(reply["advice"]["interval"], 5000);
    boss.raise_alarm(&device, "smoke").await;
    assert_eq!(crate::harness::notifications(&held.answer().await).len(), 1);
    assert_eq!(crate::harness::notifications(&other.connect().await).len(), 1, "what is queued is delivered");
    assert_eq!(limit(&boss, "heldPolls").await["usage"], 0);
}

#[tokio::test]
async fn newer_poll_of_a_session_takes_the_place_of_its_older_one() {
    let (server, boss) = with_tenant("t7").await;
    let device = boss.create_device("pump").await;
    let session = boss.listen("/alarms/*").await;
    set(&server, "t7", json!({"heldPolls": 1})).await;
    let older = session.hold().await;

    let newer = session.hold().await;

    assert_eq!(older.answer().await[0]["successful"], true);
    boss.raise_alarm(&device, "smoke").await;
    assert_eq!(crate::harness::notifications(&newer.answer().await).len(), 1);
}

#[tokio::test]
async fn web_sockets_beyond_the_quota_are_403() {
    let (server, boss) = with_tenant("t7").await;
    set(&server, "t7", json!({"webSockets": 1})).await;
    let (mut first, client) = Socket::session(&boss).await;

    let refused = Socket::try_open(&boss, "/notification/realtime").await;

    let Err(refused) = refused else { panic!("the socket is open") };
    let text = format!("{refused:?}");
    assert!(text.contains("403"), "{text}");
    assert_eq!(limit(&boss, "webSockets").await, json!({"value": 1, "from": "tenant", "usage": 1}));
    first.ask(json!({"channel": "/meta/disconnect", "clientId": client})).await;
    drop(first);
    eventually("room for another socket", async || {
        Socket::try_open(&boss, "/notification/realtime").await.ok()
    })
    .await;
}

#[tokio::test]
async fn socket_without_credentials_counts_when_its_handshake_names_the_tenant() {
    let (server, boss) = with_tenant("t7").await;
    set(&server, "t7", json!({"webSockets": 0})).await;
    let mut socket = Socket::open(&server.stranger(), "/notification/realtime").await;

    let token = crate::harness::token("t7/boss", ADMIN_PASSWORD);
    let ext = json!({"ext": {"com.platform.authn": {"token": token}}});
    socket.send(json!([crate::harness::handshake(ext)]).to_string()).await;

    assert!(socket.closed().await.is_some());
    until("no socket that counts", async || limit(&boss, "webSockets").await["usage"] == 0).await;
}

#[tokio::test]
async fn modules_beyond_the_quota_are_403() {
    let (server, boss) = with_tenant("t7").await;
    set(&server, "t7", json!({"modules": 1})).await;
    deploy(&boss, &crate::harness::modules::counting("first")).await;

    let text = crate::harness::modules::counting("second");
    let request = boss.request("POST", "/cep/modules").header("Content-Type", "text/plain").body(text);
    request.send().await.expect_message(403, "quota 'modules' of the tenant is used up: 1 of 1");
    assert_eq!(limit(&boss, "modules").await["usage"], 1);
}

#[tokio::test]
async fn devices_beyond_the_quota_are_403_however_they_are_created() {
    let (server, boss) = with_tenant("t7").await;
    let (first, _second) = (boss.create_device("one").await, boss.create_device("two").await);
    let asset = boss.create(OBJECTS, &json!({"name": "asset"})).await["id"].as_str().unwrap().to_owned();
    set(&server, "t7", json!({"devices": 2})).await;
    let device = json!({"name": "three", "plat_IsDevice": {}});

    let refused = boss.post(OBJECTS, &device).await.expect(403);
    let child = boss.post(&format!("{OBJECTS}/{first}/childDevices"), &device).await.expect(403);
    let turned = boss.put(&format!("{OBJECTS}/{asset}"), &json!({"plat_IsDevice": {}})).await.expect(403);

    for answer in [&refused, &child, &turned] {
        assert!(
            answer.message().contains("quota 'devices' of the tenant is used up: 2 of 2"),
            "{}",
            answer.text
        );
    }
    assert_eq!(limit(&boss, "devices").await, json!({"value": 2, "from": "tenant", "usage": 2}));
    boss.create(OBJECTS, &json!({"name": "another asset"})).await;
    let again = json!({"name": "renamed", "plat_IsDevice": {}});
    boss.put(&format!("{OBJECTS}/{first}"), &again).await.expect(200);
    boss.delete(&format!("{OBJECTS}/{first}")).await.expect(204);
    until("room for another device", async || boss.post(OBJECTS, &device).await.status == 201).await;
}

#[tokio::test]
async fn rows_of_a_file_beyond_the_quota_of_devices_fail_alone() {
    let (server, boss) = with_tenant("t7").await;
    set(&server, "t7", json!({"devices": 2})).await;
    let rows: String = (0..4).map(|n| format!("sn{n};secret-of-a-machine;pump;Pump {n}\n")).collect();

    let done = register(&boss, &format!("ID;CREDENTIALS;TYPE;NAME\n{rows}")).await;

    assert_eq!((&done["numberOfAll"], &done["numberOfSuccessful"]), (&json!(4), &json!(2)), "{done}");
    assert!(done.to_string().contains("quota 'devices' of the tenant is used up: 2 of 2"), "{done}");
}

#[tokio::test]
async fn tenant_creates_as_many_tenants_as_its_limit_allows() {
    let server = TestServer::start().await;
    let reseller = create_reseller(&server, "r1").await;
    set(&server, "r1", json!({"subTenants": 2})).await;
    let body = |id: String| super::super::tenant_of(&id);

    // Creations that wait for each other begin before the first one has ended.
    let database = server.database();
    let (holder, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    holder.batch_execute("BEGIN; SELECT FROM tenants WHERE id = 'r1' FOR UPDATE").await.unwrap();
    let all = (0..6).map(|n| {
        let (reseller, body) = (reseller.clone(), body(format!("sub{n}")));
        // A creation that waits for more than a second is 503, and may be repeated.
        async move {
            let attempt = async || reseller.post("/tenant/tenants", &body).await.status;
            eventually("an end", async || Some(attempt().await).filter(|status| *status != 503)).await
        }
    });
    let release = async {
        database.until_statements_wait(2).await;
        holder.batch_execute("COMMIT").await.unwrap();
    };

    let (statuses, ()) = tokio::join!(futures_util::future::join_all(all), release);

    let created = statuses.iter().filter(|status| **status == 201).count();
    assert_eq!((created, statuses.iter().filter(|status| **status == 403).count()), (2, 4), "{statuses:?}");
    reseller
        .post("/tenant/tenants", &body("one-more".into()))
        .await
        .expect_message(403, "quota 'subTenants' of the tenant is used up: 2 of 2");
    assert_eq!(limit(&reseller, "subTenants").await, json!({"value": 2, "from": "tenant", "usage": 2}));
    create_tenant(&server, "another").await;
}

#[tokio::test]
async fn responses_that_nobody_reads_fill_the_quota_of_unread_bytes() {
    let (server, boss) = with_tenant("t7").await;
    let object = json!({"name": "large", "text": "x".repeat(2_000_000)});
    let large = format!("{OBJECTS}/{}", boss.create(OBJECTS, &object).await["id"].as_str().unwrap());
    set(&server, "t7", json!({"unreadBytes": 100_000})).await;
    let mut unread = RawConnection::open_narrow(server.address()).await;
    let token = crate::harness::token("t7/boss", ADMIN_PASSWORD);
    let head = [&*format!("GET {large} HTTP/1.1"), "Host: t7", &*format!("Authorization: Basic {token}")];
    unread.request(&head, "").await;
    assert_eq!(unread.read_at_most(12).await, b"HTTP/1.1 200");

    let refused = eventually("a refusal", async || {
        let answer = boss.get(&large).await;
        (answer.status == 429).then_some(answer)
    })
    .await;

    assert!(refused.message().contains("limit unreadBytes"), "{}", refused.text);
    assert!(refused.header("Retry-After").is_some());
    assert_eq!(management(&server).get(OBJECTS).await.status, 200, "others have their own bytes");
    drop(unread);
    until("room for another response", async || boss.get(&large).await.status == 200).await;
}

#[tokio::test]
async fn modules_over_their_computing_time_wait_and_lose_nothing() {
    const MEASUREMENTS: i64 = 100;
    let (server, boss) = with_tenant("t7").await;
    let device = boss.create_device("pump").await;
    set(&server, "t7", json!({"moduleMillisPerSecond": 1})).await;
    let sum: Vec<String> = (1..=50).map(|n| format!("getNumber(m, 'env.t.value') * {n}")).collect();
    let heavy = format!(
        "module heavy;\ninsert into CreateEvent\nselect 'heavy' as type, cast({}, string) as text, \
         m.measurement.time as time, m.measurement.source.value as source\nfrom MeasurementCreated m;\n",
        sum.join(" + ")
    );
    deploy(&boss, &heavy).await;
    let events = async || {
        let page = boss.read("/event/events?type=heavy&pageSize=1&withTotalPages=true").await;
        page["statistics"]["totalPages"].as_i64().unwrap()
    };

    for n in 0..MEASUREMENTS {
        measure(&boss, &device, n).await;
    }

    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let done = events().await;
    assert!(done < MEASUREMENTS, "{done} events in time that was not there");
    set(&server, "t7", json!({"moduleMillisPerSecond": null})).await;
    until("the events that waited", async || events().await == MEASUREMENTS).await;
}
