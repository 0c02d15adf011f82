//! Two servers on one database apply the same limits within five seconds.

use super::*;

const AGREED: Duration = Duration::from_secs(5);

async fn two() -> [TestServer; 2] {
    let database = TestDatabase::create().await;
    [TestServer::start_on(&database, |_| {}).await, TestServer::start_on(&database, |_| {}).await]
}

#[tokio::test]
async fn limit_that_is_set_at_one_server_is_in_force_at_the_other() {
    let [one, other] = two().await;
    create_tenant(&one, "t7").await;
    let boss = other.caller("t7/boss", ADMIN_PASSWORD);
    boss.get(OWN).await.expect(200);
    let begun = Instant::now();

    set(&one, "t7", json!({"sessions": 0})).await;

    let handshake = json!([{"channel": "/meta/handshake", "version": "1.0"}]);
    until("a refusal at the other server", async || boss.bayeux(REALTIME, &handshake).await.status == 403)
        .await;
    assert!(begun.elapsed() < AGREED, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn sessions_at_both_servers_count_together() {
    let [one, other] = two().await;
    let at_one = create_tenant(&one, "t7").await;
    let at_other = other.caller("t7/boss", ADMIN_PASSWORD);
    set(&one, "t7", json!({"sessions": 2})).await;
    let (_first, second) = (at_one.session().await, at_one.session().await);
    let begun = Instant::now();

    until("the count of the first server at the second", async || {
        limit(&at_other, "sessions").await["usage"] == 2
    })
    .await;
    assert!(begun.elapsed() < AGREED, "{:?}", begun.elapsed());
    let handshake = json!([{"channel": "/meta/handshake", "version": "1.0"}]);
    at_other.bayeux(REALTIME, &handshake).await.expect_message(403, "2 of 2");

    second.ask("/meta/disconnect", json!({})).await;
    until("room at the second server", async || at_other.bayeux(REALTIME, &handshake).await.status == 200)
        .await;
}

#[tokio::test]
async fn polls_that_both_servers_hold_count_together() {
    let [one, other] = two().await;
    let at_one = create_tenant(&one, "t7").await;
    let at_other = other.caller("t7/boss", ADMIN_PASSWORD);
    set(&one, "t7", json!({"heldPolls": 1})).await;
    // The sessions of a tenant end when the server is notified that it was created.
    one.database().until_applied().await;
    let (held, refused) = (at_one.listen("/alarms/*").await, at_other.listen("/alarms/*").await);
    let _held = held.hold().await;
    let begun = Instant::now();

    until("the poll of the first server at the second", async || {
        limit(&at_other, "heldPolls").await["usage"] == 1
    })
    .await;

    assert!(begun.elapsed() < AGREED, "{:?}", begun.elapsed());
    let error = refused.connect().await[0]["error"].to_string();
    assert!(error.contains("quota 'heldPolls' of the tenant is used up: 1 of 1"), "{error}");
}

/// Repeats a request at both servers in turn, and returns how often it was successful.
async fn accepted_in_turn<T>(
    callers: &[Caller; 2],
    times: usize,
    one: impl AsyncFn(&Caller) -> Option<T>,
) -> Vec<T> {
    let mut accepted = Vec::new();
    for n in 0..times {
        accepted.extend(one(&callers[n % 2]).await);
    }
    accepted
}

#[tokio::test]
async fn sessions_and_sockets_that_both_servers_open_at_once_exceed_the_limit_by_one_at_most() {
    let [one, other] = two().await;
    let callers = [create_tenant(&one, "t7").await, other.caller("t7/boss", ADMIN_PASSWORD)];
    callers[1].get(OWN).await.expect(200);
    set(&one, "t7", json!({"sessions": 6, "webSockets": 6})).await;
    for caller in &callers {
        until("the limits", async || limit(caller, "webSockets").await["value"] == 6).await;
    }
    let handshake = json!([{"channel": "/meta/handshake", "version": "1.0"}]);
    // A server shares the limit as soon as it knows the counts of the other.
    for caller in &callers {
        assert_eq!(caller.bayeux(REALTIME, &handshake).await.status, 200);
    }
    for caller in &callers {
        until("the sessions of both", async || limit(caller, "sessions").await["usage"] == 2).await;
    }

    let sessions = accepted_in_turn(&callers, 40, async |caller| {
        (caller.bayeux(REALTIME, &handshake).await.status == 200).then_some(())
    })
    .await;
    let sockets =
        accepted_in_turn(&callers, 40, async |caller| Socket::try_open(caller, REALTIME).await.ok()).await;

    assert!((4..=5).contains(&sessions.len()), "{} more sessions", sessions.len());
    assert!((6..=7).contains(&sockets.len()), "{} sockets", sockets.len());
}

#[tokio::test]
async fn devices_that_both_servers_create_exceed_the_quota_by_what_was_left_at_most() {
    let [one, other] = two().await;
    let callers = [create_tenant(&one, "t7").await, other.caller("t7/boss", ADMIN_PASSWORD)];
    set(&one, "t7", json!({"devices": 12})).await;
    for caller in &callers {
        until("the quota", async || limit(caller, "devices").await["value"] == 12).await;
    }
    let device = json!({"name": "pump", "plat_IsDevice": {}});
    let create = async |caller: &Caller| caller.post(OBJECTS, &device).await.status == 201;
    // The second server has counted one device, and then the first one creates most of the others.
    assert!(create(&callers[1]).await);
    // A server counts again in the second after it has created a device.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for _ in 0..9 {
        assert!(create(&callers[0]).await);
    }
    tokio::time::sleep(Duration::from_millis(1100)).await;

    let created = futures_util::future::join_all((0..30).map(async |n| create(&callers[n % 2]).await)).await;

    let created = created.into_iter().filter(|created| *created).count();
    assert!((2..=4).contains(&created), "{created} where 2 were left");
}

#[tokio::test]
async fn each_server_has_its_share_of_the_rate() {
    let [one, other] = two().await;
    let boss = create_tenant(&one, "t7").await;
    let callers = [boss, other.caller("t7/boss", ADMIN_PASSWORD)];
    for caller in &callers {
        caller.get(OWN).await.expect(200);
    }
    set(&one, "t7", json!({"requestsPerSecond": 2, "requestBurst": 20})).await;

    // Each server admits a burst of ten, and the requests that the rate allows during the test.
    until("shares of the rate", async || {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let begun = Instant::now();
        let mut admitted = 0;
        for caller in &callers {
            for _ in 0..40 {
                admitted += usize::from(caller.get(OBJECTS).await.status == 200);
            }
        }
        admitted <= 20 + 2 * (begun.elapsed().as_secs() as usize + 1)
    })
    .await;
}
