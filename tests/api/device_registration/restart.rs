//! Credentials across the end of a server, orderly or not (N-08).

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join;
use rustix::process::Signal;

use super::*;

#[tokio::test]
async fn same_credentials_are_returned_after_a_restart() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    register(&server, "waiting").await;
    let secret = super::admit(&server, "sn-1").await;
    server.stop().await;

    let server = TestServer::start_on(&database, |_| {}).await;

    assert_eq!(password(&poll(&server, "sn-1").await), secret);
    assert!(gets_in(&device(&server, "sn-1", &secret)).await);
    accept(&server, "waiting").await;
    assert_eq!(poll(&server, "waiting").await.status, 201);
}

fn serve(directory: &std::path::Path) -> Program {
    let mut command = Program::command(directory, &[]);
    command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
    command.env("PLATFORM_BOOTSTRAP_PASSWORD", "bootstrap-secret");
    Program::serve_with(command)
}

#[tokio::test]
async fn credentials_returned_before_kill_9_are_the_same_after_the_restart() {
    let directory = scratch_with_data();
    let mut program = serve(directory.path());
    let admin = Caller::new(program.base(), Some(("admin", "admin-secret")));
    for n in 0..20 {
        admin.create(REQUESTS, &json!({"id": format!("sn-{n}")})).await;
        admin.put(&request_of(&format!("sn-{n}")), &json!({"status": "ACCEPTED"})).await;
    }
    let collect = async |program: &Program, id: &str| {
        let bootstrap = Caller::new(program.base(), Some(("management/devicebootstrap", "bootstrap-secret")));
        let request = bootstrap.request("POST", CREDENTIALS).json(&json!({"id": id}));
        request.try_send().await.map(|answer| password(&answer))
    };
    let mut told = Vec::new();
    for n in 0..10 {
        told.push(collect(&program, &format!("sn-{n}")).await.unwrap());
    }
    // Further requests are in progress when the server dies: they were sent before the first response.
    let answered = AtomicUsize::new(0);
    let under_way = join_all((10..20).map(|n| {
        let (program, answered) = (&program, &answered);
        async move {
            let told = collect(program, &format!("sn-{n}")).await;
            answered.fetch_add(1, Ordering::Relaxed);
            told
        }
    }));
    let killing = async {
        until("an answer", async || answered.load(Ordering::Relaxed) > 0).await;
        program.signal(Signal::KILL);
    };
    let (rest, ()) = join(under_way, killing).await;
    program.ended_within(Duration::from_secs(5)).await;
    let restarted = serve(directory.path());

    for (n, before) in told.into_iter().map(Some).chain(rest).enumerate() {
        let after = collect(&restarted, &format!("sn-{n}")).await.unwrap();
        assert!(before.is_none_or(|before| before == after), "sn-{n}");
        let user = format!("main/device_sn-{n}");
        assert!(gets_in(&Caller::new(restarted.base(), Some((&user, &after)))).await, "sn-{n}");
    }
}
