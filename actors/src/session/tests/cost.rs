//! The memory that a session needs. Run this alone, with `--ignored --nocapture`.

use super::*;

const SESSIONS: usize = 20_000;

fn resident() -> usize {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux");
    let line = rollup.lines().find(|line| line.starts_with("Pss:")).expect("a line of it");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<usize>().ok()).expect("a number") * 1024
}

#[actix::test]
#[ignore = "measures"]
async fn session_with_one_subscription_and_a_parked_connect_in_bytes() {
    println!(
        "SessionActor {} Parked {} Answer {} Connect {} Pattern {} Queue {}",
        size_of::<SessionActor>(),
        size_of::<Parked>(),
        size_of::<ConnectResponse>(),
        size_of::<Connect>(),
        size_of::<Pattern>(),
        size_of::<Queue>(),
    );
    println!("SessionTask {}", size_of::<SessionTask>());
    let bench = start(Limits::default());
    let dispatcher = SessionDispatcher::here();
    let mut clients = Vec::with_capacity(SESSIONS);
    let mut answers = Vec::with_capacity(SESSIONS);
    let mut last = resident();
    let mut step = |what: &str| {
        let now = resident();
        println!("{what}: {} bytes each", (now as isize - last as isize) / SESSIONS as isize);
        last = now;
    };
    for _ in 0..SESSIONS {
        let started = bench.environment.start_session(new_session(), &[], &dispatcher);
        clients.push(started.expect("no quota").expect("as many as wished"));
    }
    settle().await;
    step("started");
    for (n, client) in clients.iter().enumerate() {
        let channel = Channel { resource: Resource::Alarms, id: ManagedObjectId(n as i64) };
        let patterns = vec![Pattern::Exact(channel)];
        let session = bench.sessions.find(client).expect("lives");
        let subscribe = Subscribe { user: USER.into(), patterns, filter: None, templates: None };
        assert_eq!(session.send(subscribe).await.expect("alive"), Subscribed::Done);
    }
    step("subscribed");
    for client in &clients {
        let (connect, answer) = new_connect();
        bench.sessions.find(client).expect("lives").do_send(connect);
        answers.push(answer);
        tokio::task::yield_now().await;
    }
    settle().await;
    step("parked");
    assert!(answers.iter_mut().all(|answer| answer.try_recv().is_err()));
}
