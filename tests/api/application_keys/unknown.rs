//! A key does not authenticate anybody, and an unknown key has no effect (C-05).

use super::*;

#[tokio::test]
async fn unknown_key_is_ignored_whatever_it_is() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for key in
        ["unknown", "", " ", "'; DROP TABLE applications", "keyed:00", &"k".repeat(128), &"k".repeat(7000)]
    {
        assert_eq!(named(&admin, key).await, Value::Null, "{key}");
        assert_eq!(named(&admin, key).await, Value::Null, "{key} again");
    }
    admin.request("GET", "/platform").header(KEY, "schlüssel").send().await.expect(200);
}

#[tokio::test]
async fn key_is_not_a_credential_and_grants_nothing() {
    let database = TestDatabase::create().await;
    insert_application(&database, "main", "cockpit", "k-cockpit").await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let nobody = server.user_with("joe", &[]).await;

    for (caller, status) in
        [(server.stranger(), 401), (server.caller("admin", "wrong-secret"), 401), (nobody, 403)]
    {
        keyed(&caller, "POST", super::RECORDS, "k-cockpit").json(&record()).send().await.expect(status);
    }
}

#[tokio::test]
async fn unknown_key_becomes_known_when_an_application_gets_it() {
    let (server, admin) = TestServer::start().await.with_admin();
    assert_eq!(named(&admin, "k-cockpit").await, Value::Null);

    insert_application(server.database(), "main", "cockpit", "k-cockpit").await;

    until_named(&server, "k-cockpit", json!("cockpit")).await;
}

#[tokio::test]
async fn stored_form_of_a_key_is_not_a_key() {
    let (server, admin) = TestServer::start().await.with_admin();
    insert_application(server.database(), "main", "cockpit", "k-cockpit").await;
    until_named(&server, "k-cockpit", json!("cockpit")).await;
    let hash: String =
        server.database().query("SELECT key_hash FROM applications WHERE name = 'cockpit'", &[]).await[0]
            .get(0);

    assert_eq!(named(&admin, &hash).await, Value::Null);
}
