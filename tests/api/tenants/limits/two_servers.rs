//! Two servers on one database apply the same limits within five seconds.

use std::time::{Duration, Instant};

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
    eventually("a refusal at the other server", async || {
        (boss.bayeux(REALTIME, &handshake).await.status == 403).then_some(())
    })
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

    eventually("the count of the first server at the second", async || {
        (limit(&at_other, "sessions").await["usage"] == 2).then_some(())
    })
    .await;
    assert!(begun.elapsed() < AGREED, "{:?}", begun.elapsed());
    let handshake = json!([{"channel": "/meta/handshake", "version": "1.0"}]);
    let refused = at_other.bayeux(REALTIME, &handshake).await.expect(403);
    assert!(refused.message().contains("2 of 2"), "{}", refused.text);

    second.ask("/meta/disconnect", json!({})).await;
    eventually("room at the second server", async || {
        (at_other.bayeux(REALTIME, &handshake).await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn polls_that_both_servers_hold_count_together() {
    let [one, other] = two().await;
    let at_one = create_tenant(&one, "t7").await;
    let at_other = other.caller("t7/boss", ADMIN_PASSWORD);
    set(&one, "t7", json!({"heldPolls": 1})).await;
    let (held, refused) = (at_one.listen("/alarms/*").await, at_other.listen("/alarms/*").await);
    let _held = held.hold().await;
    let begun = Instant::now();

    eventually("the poll of the first server at the second", async || {
        (limit(&at_other, "heldPolls").await["usage"] == 1).then_some(())
    })
    .await;

    assert!(begun.elapsed() < AGREED, "{:?}", begun.elapsed());
    let error = refused.connect().await[0]["error"].to_string();
    assert!(error.contains("quota 'heldPolls' of the tenant is used up: 1 of 1"), "{error}");
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
    eventually("shares of the rate", async || {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let begun = Instant::now();
        let mut admitted = 0;
        for caller in &callers {
            for _ in 0..40 {
                admitted += usize::from(caller.get(OBJECTS).await.status == 200);
            }
        }
        (admitted <= 20 + 2 * (begun.elapsed().as_secs() as usize + 1)).then_some(())
    })
    .await;
}
