//! `GET /application/currentApplication/settings` (W-12, Z-05).

use super::*;

/// Creates a microservice of tenant `main` whose archive has this manifest, and subscribes `main` and `t7`. Returns its
/// bootstrap user, its service user in `t7`, and the administrator of `t7`.
async fn serve_with(server: &TestServer, manifest: Value) -> (Caller, Caller, Caller) {
    let boss = create_reseller(server, "t7").await;
    let (id, bootstrap) = serve(server, "pump", json!({}), &["t7", "main"]).await;
    let statement = "UPDATE applications SET manifest = $1::text::json WHERE id::text = $2";
    server.database().execute(statement, &[&manifest.to_string(), &id]).await;
    let service = service_in(server, &bootstrap, "t7").await;
    (bootstrap, service, boss)
}

async fn set(caller: &Caller, category: &str, options: Value) {
    caller.put(&format!("/tenant/options/{category}"), &options).await.expect(200);
}

fn limits() -> Value {
    json!({"settings": [
        {"key": "limit", "defaultValue": "5", "editable": true},
        {"key": "url", "defaultValue": "https://example.com", "editable": false},
        {"key": "credentials.pin", "defaultValue": "0000", "editable": false},
    ]})
}

#[tokio::test]
async fn settings_are_a_flat_object_of_defaults_where_nothing_is_set() {
    let server = TestServer::start().await;
    let (bootstrap, service, _) = serve_with(&server, limits()).await;

    let answer = bootstrap.get(SETTINGS).await;

    let expected = json!({"limit": "5", "pin": "0000", "url": "https://example.com"});
    assert_eq!((answer.status, answer.json()), (200, expected.clone()));
    assert_eq!(service.read(SETTINGS).await, expected);
    assert!(answer.header("Content-Type").unwrap().starts_with("application/json"));
}

#[tokio::test]
async fn responses_with_secrets_are_neither_kept_by_caches_nor_compressed() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (bootstrap, _, _) = serve_with(&server, limits()).await;
    let long: serde_json::Map<_, _> =
        (0..20).map(|n| (format!("note{n}"), json!("The valve was opened. ".repeat(40)))).collect();
    set(&admin, "pump", long.into()).await;
    let id = bootstrap.read(CURRENT).await["id"].as_str().unwrap().to_owned();
    let user = format!("{APPLICATIONS}/{id}/bootstrapUser");

    for (caller, path) in [(&bootstrap, SETTINGS), (&bootstrap, SUBSCRIPTIONS), (&admin, &user)] {
        let request = caller.request("GET", path).accepting_json().header("Accept-Encoding", "gzip");
        let response = request.head().await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["cache-control"], "no-store", "{path}");
        assert!(!response.headers().contains_key("content-encoding"), "{path}");
        assert!(
            path != SETTINGS || response.bytes().await.unwrap().len() > 16 * 1024,
            "large enough to compress"
        );
    }
}

#[tokio::test]
async fn bootstrap_user_reads_what_the_owner_set_and_a_service_user_what_its_tenant_set() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (bootstrap, service, boss) = serve_with(&server, limits()).await;
    set(&admin, "pump", json!({"limit": "owner", "more": "owner"})).await;
    set(&boss, "pump", json!({"limit": "t7"})).await;

    assert_eq!(bootstrap.read(SETTINGS).await["limit"], "owner");
    assert_eq!(bootstrap.read(SETTINGS).await["more"], "owner");
    assert_eq!(service.read(SETTINGS).await["limit"], "t7");
    assert_eq!(service.read(SETTINGS).await["more"], json!(null));
}

#[tokio::test]
async fn what_is_not_editable_is_always_as_the_owner_has_it() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (_, service, boss) = serve_with(&server, limits()).await;
    let own = json!({
        "url": "https://evil.example.com", "credentials.url": "x", "pin": "1", "credentials.pin": "2"});
    set(&boss, "pump", own).await;

    let defaults = service.read(SETTINGS).await;
    set(&admin, "pump", json!({"credentials.pin": "9999"})).await;
    let owned = service.read(SETTINGS).await;

    assert_eq!(defaults, json!({"limit": "5", "pin": "0000", "url": "https://example.com"}));
    assert_eq!(owned["pin"], "9999");
}

#[tokio::test]
async fn secrets_are_opened_and_lose_their_prefix_here_only() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (bootstrap, service, boss) = serve_with(&server, json!({})).await;
    set(&boss, "pump", json!({"credentials.password": "geheim ü"})).await;
    set(&admin, "pump", json!({"credentials.password": "of the owner"})).await;

    assert_eq!(service.read(SETTINGS).await, json!({"password": "geheim ü"}));
    assert_eq!(bootstrap.read(SETTINGS).await, json!({"password": "of the owner"}));
    assert_eq!(boss.read("/tenant/options/pump").await["credentials.password"], "<<Encrypted>>");
}

#[tokio::test]
async fn category_is_that_of_the_manifest_else_the_context_path() {
    let server = TestServer::start().await;
    let (_, service, boss) = serve_with(&server, json!({"settingsCategory": "tuning"})).await;
    set(&boss, "tuning", json!({"a": "of the manifest"})).await;
    set(&boss, "pump", json!({"a": "of the context path"})).await;
    assert_eq!(service.read(SETTINGS).await, json!({"a": "of the manifest"}));

    server.database().execute("UPDATE applications SET manifest = NULL WHERE name = 'pump'", &[]).await;
    assert_eq!(service.read(SETTINGS).await, json!({"a": "of the context path"}));

    server.database().execute("UPDATE applications SET context_path = 'x' WHERE name = 'pump'", &[]).await;
    set(&boss, "x", json!({"a": "of another path"})).await;
    assert_eq!(service.read(SETTINGS).await, json!({"a": "of another path"}));

    server.database().execute("UPDATE applications SET context_path = NULL WHERE name = 'pump'", &[]).await;
    assert_eq!(service.read(SETTINGS).await, json!({"a": "of the context path"}), "else the name");
}

#[tokio::test]
async fn secret_that_cannot_be_opened_is_left_out() {
    let server = TestServer::start().await;
    let (_, service, boss) = serve_with(&server, json!({})).await;
    set(&boss, "pump", json!({"credentials.a": "one", "credentials.b": "two"})).await;
    let swap = "UPDATE options o SET value = (SELECT value FROM options WHERE tenant = 't7' AND key = 'credentials.b') \
        WHERE o.tenant = 't7' AND o.key = 'credentials.a'";
    server.database().execute(swap, &[]).await;

    assert_eq!(service.read(SETTINGS).await, json!({"b": "two"}));
}
