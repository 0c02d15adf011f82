//! A pause that one server advised is taken back by the next reply, at whichever server (B-09a), and replies that end a
//! connect early have numbers (B-22b).

use platform_store::realtime::servers::State;

use super::*;

/// Returns the pause that the reply to a connect advises.
fn interval(answer: &[Value]) -> Option<u64> {
    reply(answer)["advice"]["interval"].as_u64()
}

/// Connects beyond the limit of held polls. The reply advises a pause.
async fn be_refused(session: &Session) {
    let refused = session.connect().await;
    assert!(reply(&refused)["error"].as_str().unwrap().starts_with("403::"), "{refused:?}");
    assert!(interval(&refused) > Some(0), "{refused:?}");
}

#[tokio::test]
async fn pause_is_taken_back_at_another_server_and_after_a_restart() {
    let database = TestDatabase::create().await;
    // The clients of this server may hold no poll.
    let full = TestServer::start_on(&database, |settings| settings.limits.tenant_held_polls = Some(0)).await;
    let device = full.admin().create_device("pump").await;
    let [moved, stored] = [full.admin().listen("/alarms/*").await, full.admin().listen("/alarms/*").await];
    be_refused(&moved).await;
    be_refused(&stored).await;
    let other = TestServer::start_on(&database, |_| {}).await;

    let alarm = id(&other.admin().raise_alarm(&device, "hot").await);
    let at_other = other.admin().resume(&moved.client);
    let first = at_other.connect().await;
    let next = id(&other.admin().raise_alarm(&device, "hotter").await);
    let second = at_other.connect().await;

    assert_eq!((told(&first), interval(&first)), (vec![alarm.clone()], Some(0)));
    assert_eq!((told(&second), interval(&second)), (vec![next.clone()], None), "once is enough");
    tokio::join!(full.stop(), other.stop());
    let again = TestServer::start_on(&database, |_| {}).await;
    let answer = again.admin().resume(&stored.client).connect().await;
    assert_eq!((told(&answer), interval(&answer)), (vec![alarm, next], Some(0)));
}

#[tokio::test]
async fn replies_that_end_early_have_numbers() {
    let [a, b] = TestServer::start_two().await;
    let session = a.admin().session_with(json!({"ext": {"ack": true}})).await;
    let hold = async |session: &Session| session.hold_with(json!({"ext": {"ack": 0}})).await;

    let replaced = hold(&session).await;
    let moved = hold(&session).await;
    let at_b = b.admin().resume(&session.client);
    let drained = hold(&at_b).await;
    set_state_of(&b, State::Draining).await;
    let mut answers = vec![replaced.answer().await, moved.answer().await];
    answers.push(soon("the reply of the server that drains", drained.answer()).await);
    let stopped = hold(&session).await;
    let (answer, ()) = tokio::join!(stopped.answer(), a.stop());
    answers.push(answer);
    let ended = hold(&at_b).await;
    assert_eq!(at_b.ask("/meta/disconnect", json!({})).await["successful"], true);
    answers.push(ended.answer().await);

    for answer in answers {
        assert_eq!(reply(&answer)["successful"], true, "{answer:?}");
        assert!(notifications(&answer).is_empty() && reply(&answer)["ext"]["ack"].is_i64(), "{answer:?}");
    }
}
