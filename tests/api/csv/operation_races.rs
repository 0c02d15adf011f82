//! Rows that take operations at the same time: each operation is taken once (H-07).

use std::collections::HashMap;

use super::static_operations::{Gateway, path_of};
use super::*;

const OPERATIONS: usize = 24;

/// Sends a row `times` times at once, by the callers in turn, and counts the different responses.
async fn at_once(callers: &[Caller], row: &str, times: usize) -> HashMap<String, usize> {
    let answers = join_all((0..times).map(|n| {
        let (caller, row) = (callers[n % callers.len()].clone(), row.to_owned());
        async move { tokio::spawn(async move { send(&caller, &row).await }).await.unwrap() }
    }));
    let mut counts = HashMap::new();
    for answer in answers.await {
        *counts.entry(answer).or_default() += 1;
    }
    counts
}

async fn queue_many(gateway: &Gateway) -> Vec<String> {
    let mut ids = Vec::new();
    for n in 0..OPERATIONS {
        ids.push(gateway.queue(n % 3, json!({"plat_Restart": {}, "plat_Command": {"text": "ls"}})).await);
    }
    ids
}

/// Returns the number of times that an operation was moved to a status.
async fn moves(server: &TestServer, id: &str, status: &str) -> usize {
    let records = server.audit_records(id).await;
    let moved = |record: &&Value| record["changes"].to_string().contains(&format!("\"{status}\""));
    records.iter().filter(moved).count()
}

async fn rows_at_once_take_each_operation_once(server: &TestServer, gateway: &Gateway, callers: &[Caller]) {
    let ids = queue_many(gateway).await;
    let spare = 6;

    let begun = at_once(callers, "501,plat_Restart", OPERATIONS + spare).await;

    // Each operation was found by exactly one row; the other rows found none.
    assert_eq!(begun, [(String::new(), OPERATIONS), ("50,1,404\n".into(), spare)].into());
    for id in &ids {
        assert_eq!(moves(server, id, "EXECUTING").await, 1);
    }

    let done = at_once(callers, "503,plat_Command,ok", OPERATIONS / 2).await;
    assert_eq!(done, [(String::new(), OPERATIONS / 2)].into());
    let failed = at_once(callers, "502,plat_Restart,no", OPERATIONS).await;
    assert_eq!(failed, [(String::new(), OPERATIONS / 2), ("50,1,404\n".into(), OPERATIONS / 2)].into());
    let mut results = 0;
    for id in &ids {
        let operation = gateway.operation(id).await;
        let successful = operation["status"] == "SUCCESSFUL";
        assert_eq!(operation["plat_Command"].get("result").is_some(), successful, "{operation}");
        results += usize::from(successful);
        assert_eq!(server.audit_records(id).await.len(), 2, "{operation}");
    }
    assert_eq!(results, OPERATIONS / 2);
}

#[tokio::test]
async fn rows_of_one_agent_at_once_take_each_operation_once() {
    let server = TestServer::start_with(|settings| settings.workers = 2).await;
    let gateway = Gateway::create(&server).await;

    rows_at_once_take_each_operation_once(&server, &gateway, std::slice::from_ref(&gateway.device)).await;
}

#[tokio::test]
async fn rows_at_two_servers_at_once_take_each_operation_once() {
    let servers = TestServer::start_two().await;
    let gateway = Gateway::create(&servers[0]).await;
    let callers = [gateway.device.clone(), servers[1].caller("device_g1", ADMIN_PASSWORD)];

    rows_at_once_take_each_operation_once(&servers[0], &gateway, &callers).await;
}

#[tokio::test]
async fn row_and_a_clients_put_at_once_move_an_operation_once() {
    let server = TestServer::start_with(|settings| settings.workers = 2).await;
    let gateway = Gateway::create(&server).await;
    let operator =
        server.user_with("operator", &["ROLE_DEVICE_CONTROL_ADMIN", "ROLE_DEVICE_CONTROL_READ"]).await;

    for _ in 0..10 {
        let id = gateway.queue(1, json!({"plat_Restart": {}})).await;
        let body = json!({"status": "EXECUTING", "plat_Note": "by REST"});
        let path = path_of(&id);
        let (put, row) = tokio::join!(operator.put(&path, &body), send(&gateway.device, "501,plat_Restart"));

        // A client's PUT has no condition, so it succeeds in either order.
        assert_eq!(put.status, 200, "{}", put.text);
        assert!(["", "50,1,404\n"].contains(&&*row), "{row}");
        assert_eq!(gateway.operation(&id).await["plat_Note"], "by REST");
        assert_eq!(moves(&server, &id, "EXECUTING").await, 1);
    }
}
