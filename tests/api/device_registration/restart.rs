//! Credentials across the end of a server, orderly or not (N-08).

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::{CREDENTIALS, REQUESTS, accept, device, gets_in, password, poll, register, request_of};
use crate::harness::{Caller, Program, TestDatabase, TestServer, scratch};

#[tokio::test]
async fn same_credentials_are_answered_after_a_restart() {
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
async fn credentials_answered_before_kill_9_are_those_after_the_restart() {
    let directory = scratch();
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
    // Some are being made this moment.
    let under_way = async {
        let mut told = Vec::new();
        for n in 10..20 {
            told.push(collect(&program, &format!("sn-{n}")).await);
        }
        told
    };
    let killing = async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        program.signal(Signal::KILL);
    };
    let (rest, ()) = futures_util::future::join(under_way, killing).await;
    program.ended_within(Duration::from_secs(5)).await;
    let restarted = serve(directory.path());

    for (n, before) in told.into_iter().map(Some).chain(rest).enumerate() {
        let after = collect(&restarted, &format!("sn-{n}")).await.unwrap();
        assert!(before.is_none_or(|before| before == after), "sn-{n}");
        let user = format!("main/device_sn-{n}");
        assert!(gets_in(&Caller::new(restarted.base(), Some((&user, &after)))).await, "sn-{n}");
    }
}
