//! Administrators end sessions.

use super::*;

#[tokio::test]
async fn ended_session_gets_402_at_once_and_others_continue() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mia = server.user_with("mia", &["ROLE_ALARM_READ"]).await;
    let (ended, other) = (mia.listen("/alarms/*").await, admin.listen("/alarms/*").await);
    let held = ended.hold().await;
    let shown = only(&admin, "user=mia").await;

    admin.delete(shown["self"].as_str().unwrap()).await.expect(204);

    let answer = reply(&held.answer().await);
    assert!(answer["error"].as_str().unwrap().starts_with("402"), "{answer}");
    assert!(!ended.is_known().await && other.is_known().await);
    admin.get(shown["self"].as_str().unwrap()).await.expect(404);
    admin.delete(shown["self"].as_str().unwrap()).await.expect(404);
    mia.listen("/alarms/*").await;
}

#[tokio::test]
async fn end_is_audited_with_the_user_and_who_did_it() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mia = server.user_with("mia", &["ROLE_ALARM_READ"]).await;
    mia.session().await;
    let shown = only(&admin, "user=mia").await;

    admin.delete(shown["self"].as_str().unwrap()).await.expect(204);

    let records = admin.read("/audit/auditRecords?type=Session").await;
    let record = &records["auditRecords"][0];
    assert_eq!((&record["activity"], &record["user"]), (&json!("Session ended"), &json!("admin")));
    assert!(record["text"].as_str().unwrap().contains("mia"), "{record}");
    assert!(record.to_string().contains(shown["id"].as_str().unwrap()), "{record}");
}

#[tokio::test]
async fn session_at_another_server_is_ended() {
    let servers = TestServer::north_and_south().await;
    let admins = servers.each_ref().map(TestServer::admin);
    let session = admins[1].session().await;
    let shown = eventually("the session of the other server", async || {
        let list = admins[0].read(SESSIONS).await;
        list["sessions"].as_array().unwrap().first().cloned()
    })
    .await;
    assert_eq!(shown["server"], "south");

    admins[0].delete(shown["self"].as_str().unwrap()).await.expect(204);

    assert!(!session.is_known().await);
}
