//! Two server processes on one database stay correct.

use super::*;

async fn two_servers() -> [TestServer; 2] {
    let database = TestDatabase::create().await;
    [TestServer::start_on(&database, |_| {}).await, TestServer::start_on(&database, |_| {}).await]
}

#[tokio::test]
async fn operation_taken_up_at_both_at_once_changes_once() {
    let servers = two_servers().await;
    let callers = servers.each_ref().map(TestServer::admin);
    let agent = create_agent(&callers[0], "gateway").await;
    let sessions = [callers[0].listen("/operations/*").await, callers[1].listen("/operations/*").await];

    for _ in 0..5 {
        let operation = callers[0].create(OPERATIONS, &json!({"deviceId": agent})).await;
        let puts: Vec<_> = (0..20)
            .map(|n| {
                let (caller, operation) = (callers[n % 2].clone(), operation.clone());
                tokio::spawn(async move { change(&caller, &operation, json!({"status": "EXECUTING"})).await })
            })
            .collect();
        for put in puts {
            assert_eq!(put.await.unwrap()["status"], "EXECUTING");
        }
        assert_eq!(servers[0].audit_records(id_of(&operation)).await.len(), 1);
    }
    // The sessions of both servers receive what either of them writes.
    let last = queue(&callers[0], &agent).await;
    change(&callers[0], &last, json!({"plat_Last": 0})).await;
    change(&callers[1], &last, json!({"plat_Last": 1})).await;

    let mut changes = 0;
    for session in &sessions {
        loop {
            let told = session.receive(1).await;
            let executing = |told: &&Value| told["data"]["data"]["status"] == "EXECUTING";
            changes += told.iter().filter(executing).count();
            if told.iter().any(|told| told["data"]["data"].get("plat_Last").is_some()) {
                break;
            }
        }
    }
    assert_eq!(changes, 10, "each of the five changes is notified once at each server");
}

#[tokio::test]
async fn change_by_one_is_the_premise_of_the_other() {
    let servers = two_servers().await;
    let callers = servers.each_ref().map(TestServer::admin);
    let operation = queue(&callers[0], &create_agent(&callers[0], "gateway").await).await;

    let puts: Vec<_> = (0..10)
        .map(|n| {
            let (caller, path) = (callers[n % 2].clone(), path_of(&operation));
            tokio::spawn(async move { caller.put(&path, &json!({format!("plat_{n}"): n})).await })
        })
        .collect();
    let mut refused = 0;
    for put in puts {
        let answer = put.await.unwrap();
        assert!([200, 409].contains(&answer.status), "{}", answer.text);
        refused += usize::from(answer.status == 409);
    }

    let stored = callers[0].read(&path_of(&operation)).await;
    let kept = (0..10).filter(|n| stored[format!("plat_{n}")] == *n).count();
    assert_eq!(kept, 10 - refused, "what was answered 200 is there");
}

#[tokio::test]
async fn tree_that_one_changes_counts_at_the_other() {
    let servers = two_servers().await;
    let [a, b] = servers.each_ref().map(TestServer::admin);
    let agent = create_agent(&a, "gateway").await;
    let device = a.create_device("sensor").await;
    assert_eq!(b.post(OPERATIONS, &json!({"deviceId": device})).await.status, 422);

    super::place_below(&a, &agent, &device).await;
    let operation = queue(&b, &device).await;
    assert_eq!(found(&a, &format!("agentId={agent}&status=PENDING")).await, [id_of(&operation)]);
    a.delete(&format!("/inventory/managedObjects/{device}")).await;

    assert_eq!(b.post(OPERATIONS, &json!({"deviceId": device})).await.status, 422);
    assert_eq!(b.put(&path_of(&operation), &json!({"status": "FAILED"})).await.status, 404);
    create_below(&b, &agent, "next").await;
}
