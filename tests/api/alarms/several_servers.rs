//! Two server processes on one database stay correct.

use std::collections::BTreeSet;

use super::*;

async fn two_servers() -> (TestServer, TestServer) {
    let database = TestDatabase::create().await;
    (TestServer::start_on(&database, |_| {}).await, TestServer::start_on(&database, |_| {}).await)
}

async fn raise_in_parallel(callers: &[Caller], device: &str, kind: &str, each: usize) -> Vec<Value> {
    let posts: Vec<_> = (0..each * callers.len())
        .map(|n| {
            let (caller, body) = (callers[n % callers.len()].clone(), alarm_of(device, kind));
            tokio::spawn(async move { caller.create("/alarm/alarms", &body).await })
        })
        .collect();
    let mut raised = Vec::new();
    for post in posts {
        raised.push(post.await.unwrap());
    }
    raised
}

#[tokio::test]
async fn alarms_posted_to_both_are_one_with_the_full_count() {
    let (a, b) = two_servers().await;
    let callers = [a.admin(), b.admin()];
    let device = callers[0].create_device("pump").await;

    let raised = raise_in_parallel(&callers, &device, "hot", 10).await;

    let counts: BTreeSet<_> = raised.iter().map(|alarm| alarm["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, (1..=20).collect(), "each answer has a count of its own");
    let list = callers[1].read("/alarm/alarms").await;
    assert_eq!((list["alarms"].as_array().unwrap().len(), &list["alarms"][0]["count"]), (1, &json!(20)));
}

#[tokio::test]
async fn races_for_many_types_leave_one_alarm_each() {
    let (a, b) = two_servers().await;
    let callers = [a.admin(), b.admin()];
    let device = callers[0].create_device("pump").await;

    for n in 0..10 {
        raise_in_parallel(&callers, &device, &format!("type {n}"), 1).await;
    }

    let list = callers[0].read("/alarm/alarms?pageSize=100").await;
    let counts: Vec<_> = list["alarms"].as_array().unwrap().iter().map(|alarm| &alarm["count"]).collect();
    assert_eq!(counts, vec![&json!(2); 10]);
}

#[tokio::test]
async fn alarm_cleared_by_one_is_raised_anew_by_the_other() {
    let (a, b) = two_servers().await;
    let (on_a, on_b) = (a.admin(), b.admin());
    let device = on_a.create_device("pump").await;
    let first = on_a.raise_alarm(&device, "hot").await;
    on_b.raise_alarm(&device, "hot").await;
    let path = format!("/alarm/alarms/{}", first["id"].as_str().unwrap());
    on_b.put(&path, &json!({"status": "CLEARED"})).await;

    let second = on_a.raise_alarm(&device, "hot").await;

    assert_ne!(second["id"], first["id"]);
    assert_eq!(second["count"], 1);
    assert_eq!(on_a.read(&path).await["count"], 2);
}

#[tokio::test]
async fn alarm_sent_as_cleared_counts_when_the_other_has_raised_it() {
    let (a, b) = two_servers().await;
    let (on_a, on_b) = (a.admin(), b.admin());
    let device = on_a.create_device("pump").await;
    on_a.raise_alarm(&device, "other").await;
    let open = on_b.raise_alarm(&device, "hot").await;
    let mut cleared = alarm_of(&device, "hot");
    cleared["status"] = json!("CLEARED");

    let again = on_a.create("/alarm/alarms", &cleared).await;

    assert_eq!(again["id"], open["id"]);
    assert_eq!((&again["count"], &again["status"]), (&json!(2), &json!("ACTIVE")));
}

#[tokio::test]
async fn change_by_one_is_the_premise_of_the_other() {
    let (a, b) = two_servers().await;
    let (on_a, on_b) = (a.admin(), b.admin());
    let alarm = on_a.raise_alarm(&on_a.create_device("pump").await, "hot").await;
    let path = format!("/alarm/alarms/{}", alarm["id"].as_str().unwrap());

    let changes: Vec<_> = (0..10)
        .map(|n| {
            let (caller, path) = (if n % 2 == 0 { on_a.clone() } else { on_b.clone() }, path.clone());
            tokio::spawn(async move { caller.put(&path, &json!({format!("plat_{n}"): n})).await })
        })
        .collect();
    let mut refused = 0;
    for (n, change) in changes.into_iter().enumerate() {
        let answer = change.await.unwrap();
        assert!([200, 409].contains(&answer.status), "{n}: {}", answer.text);
        refused += usize::from(answer.status == 409);
    }

    let stored = on_a.read(&path).await;
    let kept = (0..10).filter(|n| stored[format!("plat_{n}")] == *n).count();
    assert_eq!(kept, 10 - refused, "what was answered 200 is there");
    let records = a.database().audit_records(alarm["id"].as_str().unwrap()).await;
    assert_eq!(records.len(), 10 - refused);
}

#[tokio::test]
async fn device_deleted_by_one_is_unknown_to_the_other() {
    let (a, b) = two_servers().await;
    let (on_a, on_b) = (a.admin(), b.admin());
    let device = on_a.create_device("pump").await;
    on_a.raise_alarm(&device, "hot").await;
    on_b.delete(&format!("/inventory/managedObjects/{device}")).await;

    for kind in ["hot", "cold"] {
        on_a.post("/alarm/alarms", &alarm_of(&device, kind)).await.expect(422);
    }
    on_a.put(&format!("/inventory/managedObjects/{device}"), &json!({"name": "motor"})).await.expect(404);
}

#[tokio::test]
async fn owner_changed_by_one_counts_at_the_other() {
    let (a, b) = two_servers().await;
    let owner_on_a = a.user_with("owner", &["ROLE_INVENTORY_CREATE"]).await;
    let device = owner_on_a.create_device("pump").await;
    owner_on_a.raise_alarm(&device, "hot").await;
    let change = json!({"owner": "admin"});
    b.admin().put(&format!("/inventory/managedObjects/{device}"), &change).await;

    owner_on_a.post("/alarm/alarms", &alarm_of(&device, "hot")).await.expect(403);
}
