//! The resource of traces: rights, bounds, and the end of a trace.

use super::*;

#[tokio::test]
async fn trace_is_listed_until_it_is_deleted() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let created = trace(&admin, json!({"user": "mia", "seconds": 60})).await;
    assert_eq!((&created["user"], &created["owner"]), (&json!("mia"), &json!("admin")));
    assert_eq!(created["self"], json!(server.link(&format!("{TRACES}/{}", id(&created)))));

    assert_eq!(admin.read(TRACES).await["traces"], json!([created]));
    assert_eq!(admin.read(&format!("{TRACES}/{}", id(&created))).await, created);
    admin.delete(&format!("{TRACES}/{}", id(&created))).await.expect(204);

    assert_eq!(admin.read(TRACES).await["traces"], json!([]));
    admin.get(&format!("{TRACES}/{}", id(&created))).await.expect_error(404, "notification/Not Found");
    admin.delete(&format!("{TRACES}/{}", id(&created))).await.expect(404);
    let audit: Vec<Value> = admin.read("/audit/auditRecords?type=Trace").await["auditRecords"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["activity"].clone())
        .collect();
    assert_eq!(audit, [json!("Trace began"), json!("Trace ended")]);
}

#[tokio::test]
async fn nothing_is_recorded_after_the_end_of_a_trace() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let short = trace(&admin, json!({"device": device, "seconds": 1})).await;
    until("the trace ends", async || admin.read(TRACES).await["traces"] == json!([])).await;
    admin.get(&format!("{TRACES}/{}", id(&short))).await.expect(404);

    let alarm = admin.raise_alarm(&device, "leak").await;

    let again = trace(&admin, json!({"device": device})).await;
    let about = |record: &Value| record["id"] == alarm["id"];
    assert!(!records(&admin, &again).await.iter().any(about));
}

#[tokio::test]
async fn last_records_are_read_after_the_trace_has_ended_by_itself() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let short = trace(&admin, json!({"device": device, "seconds": 1})).await;
    let alarm = admin.raise_alarm(&device, "leak").await;
    until("the trace ends", async || admin.read(TRACES).await["traces"] == json!([])).await;

    let found = records(&admin, &short).await;

    assert!(found.iter().any(|record| record["id"] == alarm["id"]), "{found:?}");
    let shift = "UPDATE traces SET ends_at = ends_at - interval '10 seconds' WHERE tenant = $1";
    assert_eq!(server.execute(shift, &[]).await, 1);
    admin.get(&format!("{TRACES}/{}/records", id(&short))).await.expect(404);
}

#[tokio::test]
async fn traces_and_diagnosis_need_their_role_and_show_one_tenant_only() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let created = trace(&admin, json!({"device": device})).await;
    let mia = server.user_with("mia", &["ROLE_USER_MANAGEMENT_ADMIN", "ROLE_NOTIFICATION_READ"]).await;
    let (one, records) = (format!("{TRACES}/{}", id(&created)), format!("{TRACES}/{}/records", id(&created)));
    for path in [TRACES, &one, &records, &format!("/notification/diagnosis?id={device}&user=mia")] {
        mia.get(path).await.expect(403);
    }
    mia.post(TRACES, &json!({})).await.expect(403);
    mia.delete(&one).await.expect(403);

    let (_other, stranger) = TestServer::shared().await.with_admin();
    stranger.get(&one).await.expect(404);
    stranger.get(&records).await.expect(404);
    stranger.delete(&one).await.expect(404);
}

#[tokio::test]
async fn tenant_has_a_bounded_number_of_traces() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for n in 0..50 {
        trace(&admin, json!({"user": format!("user {n}")})).await;
    }
    admin.post(TRACES, &json!({})).await.expect_message(422, "50 traces");
}

#[tokio::test]
async fn invalid_requests_are_rejected_by_name() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for (body, part) in [
        (json!({"device": "x"}), "device"),
        (json!({"seconds": 7200}), "seconds"),
        (json!({"device": "1", "user": "mia"}), "at most one"),
        (json!({"usr": "mia"}), "usr"),
    ] {
        admin.post(TRACES, &body).await.expect_message(422, part);
    }
    for (query, part) in [
        ("user=mia", "id"),
        ("id=x&user=mia", "id"),
        ("id=1", "exactly one"),
        ("id=1&user=mia&consumer=c", "exactly one"),
        ("id=1&session=short", "session"),
        ("id=1&user=mia&dateFrom=yesterday", "dateFrom"),
    ] {
        let path = format!("/notification/diagnosis?{query}");
        admin.get(&path).await.expect_message(422, part);
    }
    admin.get("/notification/diagnosis?id=1&consumer=nobody").await.expect(404);
}
