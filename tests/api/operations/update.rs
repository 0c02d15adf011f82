//! PUT of an operation and its audit record (O-02, O-03, O-05, O-09).

use super::*;

/// A server with an agent and an operation for it.
async fn queued() -> (TestServer, Caller, Value) {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let operation = queue(&admin, &agent).await;
    (server, admin, operation)
}

#[tokio::test]
async fn any_status_may_follow_any_other() {
    let (_server, admin, operation) = queued().await;
    let statuses = [
        "EXECUTING",
        "PENDING",
        "SUCCESSFUL",
        "EXECUTING",
        "FAILED",
        "PENDING",
        "FAILED",
        "SUCCESSFUL",
        "PENDING",
    ];

    for status in statuses {
        assert_eq!(change(&admin, &operation, json!({"status": status})).await["status"], status);
        assert_eq!(admin.read(&path_of(&operation)).await["status"], status);
    }
}

#[tokio::test]
async fn unknown_status_is_422_and_changes_nothing() {
    let (server, admin, operation) = queued().await;

    for status in [json!("SUCCESS"), json!("executing"), json!(""), json!(5), json!({})] {
        let answer = admin.put(&path_of(&operation), &json!({"status": status, "plat_New": 1})).await;
        assert_eq!((answer.status, &*answer.error()), (422, "undefined/validationError"), "{}", answer.text);
        assert!(answer.message().contains("status"), "{}", answer.text);
    }
    assert_eq!(admin.read(&path_of(&operation)).await, operation);
    assert_eq!(server.audit_records(id_of(&operation)).await, [json!(null); 0]);
}

#[tokio::test]
async fn reason_is_kept_while_failed_and_cleared_when_the_status_leaves_it() {
    let (_server, admin, operation) = queued().await;
    let reason = async |patch: Value| change(&admin, &operation, patch).await.get("failureReason").cloned();

    assert_eq!(reason(json!({"status": "EXECUTING", "failureReason": "early"})).await, None);
    assert_eq!(
        reason(json!({"status": "FAILED", "failureReason": "no power"})).await,
        Some(json!("no power"))
    );
    assert_eq!(reason(json!({"failureReason": null})).await, Some(json!("no power")));
    assert_eq!(reason(json!({"failureReason": "no fuel"})).await, Some(json!("no fuel")));
    assert_eq!(reason(json!({"failureReason": ""})).await, None);
    assert_eq!(reason(json!({"failureReason": "again"})).await, Some(json!("again")));
    assert_eq!(reason(json!({"status": "PENDING"})).await, None);
    assert_eq!(reason(json!({"status": "FAILED"})).await, None, "it does not come back");
}

#[tokio::test]
async fn fragments_change_and_go_and_what_the_server_sets_is_ignored() {
    let (_server, admin, operation) = queued().await;
    let other = create_agent(&admin, "other").await;

    let body = json!({"plat_Restart": null, "plat_Command": {"text": "ls", "result": "a b"}, "deviceId": other,
        "id": "1", "self": "x", "creationTime": "x", "bulkOperationId": "9", "deviceName": "x",
            "deviceExternalIDs": []});
    let changed = change(&admin, &operation, body).await;

    let mut expected = without(&operation, &["plat_Restart"]);
    expected["plat_Command"] = json!({"text": "ls", "result": "a b"});
    assert_eq!(changed, expected);
    assert_eq!(admin.read(&path_of(&operation)).await, expected);
}

#[tokio::test]
async fn each_change_of_status_writes_one_audit_record() {
    let (server, admin, operation) = queued().await;
    let agent = server.user_with("joe", &["ROLE_DEVICE_CONTROL_ADMIN"]).await;

    change(&admin, &operation, json!({"plat_Progress": 5})).await;
    change(&agent, &operation, json!({"status": "EXECUTING"})).await;
    change(&agent, &operation, json!({"status": "EXECUTING"})).await;
    change(
        &agent,
        &operation,
        json!({"status": "FAILED", "failureReason": "no power", "plat_Restart": null}),
    )
    .await;
    change(&admin, &operation, json!({"failureReason": "no fuel"})).await;

    let replaced = |attribute: &str, previous: &str, new: &str| {
        json!({"attribute": attribute, "type": "String", "previousValue": previous, "newValue": new,
            "changeType": "REPLACED"})
    };
    let record = |changes: Value| {
        json!({"type": "Operation", "activity": "Operation updated", "user": "joe", "severity": "warning",
            "changes": changes})
    };
    let removed = json!({"attribute": "plat_Restart", "type": "Object", "previousValue": {}, "newValue": null,
        "changeType": "REMOVED"});
    let failed = json!([
        replaced("status", "EXECUTING", "FAILED"),
        replaced("failureReason", "", "no power"),
        removed
    ]);
    assert_eq!(
        server.audit_records(id_of(&operation)).await,
        [record(json!([replaced("status", "PENDING", "EXECUTING")])), record(failed)]
    );
}

#[tokio::test]
async fn audit_record_links_to_its_operation() {
    let (server, admin, operation) = queued().await;
    change(&admin, &operation, json!({"status": "EXECUTING"})).await;

    let page = admin.read(&format!("/audit/auditRecords?source={}&type=Operation", id_of(&operation))).await;

    let source = json!({"id": operation["id"], "self": format!("{}{}", server.base(), path_of(&operation))});
    assert_eq!(page["auditRecords"][0]["source"], source, "{page}");
}

#[tokio::test]
async fn put_that_changes_nothing_writes_nothing_and_notifies_nobody() {
    let (server, admin, operation) = queued().await;
    let session = admin.listen("/operations/*").await;

    for same in
        [operation.clone(), json!({}), json!({"status": "PENDING", "plat_None": null, "failureReason": "x"})]
    {
        assert_eq!(change(&admin, &operation, same).await, operation);
    }
    change(&admin, &operation, json!({"status": "EXECUTING"})).await;

    let told = session.receive(1).await;
    assert_eq!((told.len(), &told[0]["data"]["data"]["status"]), (1, &json!("EXECUTING")));
    let revision = "SELECT revision FROM operations WHERE tenant = $1";
    assert_eq!(server.rows(revision, &[]).await[0].get::<_, i64>(0), 1);
    assert_eq!(server.count("audit_records").await, 1);
}

#[tokio::test]
async fn twenty_devices_that_take_one_operation_up_at_once_are_one_change() {
    let (server, admin, operation) = queued().await;
    let session = admin.listen("/operations/*").await;

    let puts: Vec<_> = (0..20)
        .map(|_| {
            let (admin, operation) = (admin.clone(), operation.clone());
            tokio::spawn(async move { change(&admin, &operation, json!({"status": "EXECUTING"})).await })
        })
        .collect();
    for put in puts {
        assert_eq!(put.await.unwrap()["status"], "EXECUTING");
    }
    change(&admin, &operation, json!({"status": "SUCCESSFUL"})).await;

    let told = session.receive(2).await;
    let told: Vec<_> = told.iter().map(|told| told["data"]["data"]["status"].as_str().unwrap()).collect();
    assert_eq!(told, ["EXECUTING", "SUCCESSFUL"]);
    assert_eq!(server.audit_records(id_of(&operation)).await.len(), 2);
}

#[tokio::test]
async fn parallel_changes_of_different_fragments_all_stay() {
    let (_server, admin, operation) = queued().await;

    let puts: Vec<_> = (0..10)
        .map(|n| {
            let (admin, operation) = (admin.clone(), operation.clone());
            tokio::spawn(async move { change(&admin, &operation, json!({format!("plat_{n}"): n})).await })
        })
        .collect();
    for put in puts {
        put.await.unwrap();
    }

    let stored = admin.read(&path_of(&operation)).await;
    for n in 0..10 {
        assert_eq!(stored[format!("plat_{n}")], n);
    }
}

#[tokio::test]
async fn unknown_operation_is_404() {
    let (_server, admin, _) = queued().await;

    for id in ["4711", "none", "-1", "99999999999999999999"] {
        let path = format!("{OPERATIONS}/{id}");
        for answer in [admin.get(&path).await, admin.put(&path, &json!({"status": "EXECUTING"})).await] {
            assert_eq!(
                (answer.status, &*answer.error()),
                (404, "devicecontrol/Not Found"),
                "{}",
                answer.text
            );
            let message = format!("Finding device data from database failed : No operation for gid '{id}'!");
            assert_eq!(answer.message(), message);
        }
    }
}
