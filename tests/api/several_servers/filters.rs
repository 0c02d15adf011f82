//! Filters of subscriptions go with their session from server to server (B-35).

use super::*;

const FILTER: &str = "type eq 'wanted*'";

async fn listen(caller: &Caller) -> Session {
    let session = caller.session().await;
    let message = json!({"subscription": "/alarms/*", "ext": {"com.platform.filter": FILTER}});
    let reply = session.ask("/meta/subscribe", message).await;
    assert_eq!(reply["successful"], true, "{reply}");
    session
}

/// Raises an alarm that nobody wants at each server, and then one that the filter matches. Returns its id.
async fn raise(callers: &[Caller], device: &str, round: usize) -> String {
    for (n, caller) in callers.iter().enumerate() {
        caller.raise_alarm(device, &format!("other{round}.{n}")).await;
    }
    id(&callers[0].raise_alarm(device, &format!("wanted{round}")).await)
}

#[tokio::test]
async fn session_that_moves_keeps_its_filter() {
    let [a, b] = TestServer::start_two().await;
    let callers = [a.admin(), b.admin()];
    let device = callers[0].create_device("pump").await;
    let at_a = listen(&callers[0]).await;
    let at_b = callers[1].resume(&at_a.client);

    for (round, session) in [&at_a, &at_b, &at_b, &at_a].into_iter().enumerate() {
        let wanted = raise(&callers, &device, round).await;
        assert_eq!(told(&session.connect().await), [wanted], "round {round}");
    }
    let shown = callers[1].read("/tenant/sessions").await;
    assert_eq!(shown["sessions"][0]["filters"], json!({"/alarms/*": FILTER}));
}

#[tokio::test]
async fn filter_survives_the_stop_of_its_server_and_a_restart_of_all() {
    let [a, b] = TestServer::start_two().await;
    let (database, device) = (a.shared_database(), a.admin().create_device("pump").await);
    let session = listen(&a.admin()).await;

    a.stop().await;
    let wanted = raise(&[b.admin()], &device, 1).await;
    assert_eq!(told(&b.admin().resume(&session.client).connect().await), [wanted]);

    b.stop().await;
    let c = TestServer::start_on(&database, |_| {}).await;
    let wanted = raise(&[c.admin()], &device, 2).await;
    assert_eq!(told(&c.admin().resume(&session.client).connect().await), [wanted]);
}
