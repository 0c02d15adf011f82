//! The members of an application that `platform.json` changes (W-03).

use super::*;

#[tokio::test]
async fn manifest_is_kept_as_it_was_sent_with_members_nobody_knows() {
    let (_server, admin, id) = with_application(TestServer::start().await, "MICROSERVICE", "pump").await;
    let manifest = json!({
        "apiVersion": "1",
        "name": "pump",
        "version": "1.0.0",
        "provider": {"name": "Acme"},
        "isolation": "PER_TENANT",
        "settings": [{"key": "rate", "defaultValue": "5", "editable": true}],
        "livenessProbe": {"httpGet": {"path": "/health", "port": 80}, "periodSeconds": 5},
        "unknown": {"deep": [1.50, null]},
    });

    assert_eq!(upload(&admin, &id, &service_archive(&manifest.to_string())).await.status, 204);

    assert_eq!(show(&admin, &id).await["manifest"], manifest);
}

#[tokio::test]
async fn roles_of_the_manifest_overwrite_those_of_the_application_and_absent_ones_do_not() {
    let (_server, admin, id) = with_application(TestServer::start().await, "MICROSERVICE", "pump").await;
    let roles = async || {
        let application = show(&admin, &id).await;
        (application["requiredRoles"].clone(), application["roles"].clone())
    };

    let first = r#"{"requiredRoles":["ROLE_ALARM_READ","ROLE_EVENT_READ"],"roles":["ROLE_PUMP_READ"]}"#;
    assert_eq!(upload(&admin, &id, &service_archive(first)).await.status, 204);
    let after_first = roles().await;
    assert_eq!(upload(&admin, &id, &service_archive(r#"{"requiredRoles":[]}"#)).await.status, 204);

    assert_eq!(after_first, (json!(["ROLE_ALARM_READ", "ROLE_EVENT_READ"]), json!(["ROLE_PUMP_READ"])));
    assert_eq!(roles().await, (json!([]), json!(["ROLE_PUMP_READ"])));
}

#[tokio::test]
async fn service_users_hold_what_a_new_manifest_requires_at_once() {
    let (server, admin) = TestServer::start_with_tenant("plant7", "plant7.example.com").await.with_admin();
    let id = create(&admin, "MICROSERVICE", "pump").await;
    server
        .caller("management/admin", ADMIN_PASSWORD)
        .create("/tenant/tenants/main/applications", &json!({"application": {"id": id}}))
        .await;

    let manifest = r#"{"requiredRoles":["ROLE_ALARM_READ","ROLE_EVENT_ADMIN"]}"#;
    assert_eq!(upload(&admin, &id, &service_archive(manifest)).await.status, 204);

    let rows = server.database().query("SELECT roles FROM users WHERE duty = 'SERVICE'", &[]).await;
    let roles: Vec<Vec<String>> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(roles.len(), 1);
    for role in ["ROLE_ALARM_READ", "ROLE_EVENT_ADMIN"] {
        assert!(roles[0].iter().any(|held| held == role), "{roles:?}");
    }
}

#[tokio::test]
async fn microservice_is_served_where_its_manifest_says_else_at_its_name() {
    let (_server, admin, id) = with_application(TestServer::start().await, "MICROSERVICE", "pump").await;

    assert_eq!(upload(&admin, &id, &service_archive(r#"{"contextPath":"/pump-v2"}"#)).await.status, 204);
    let named = show(&admin, &id).await["contextPath"].clone();
    assert_eq!(upload(&admin, &id, &service_archive("{}")).await.status, 204);

    assert_eq!((named, &show(&admin, &id).await["contextPath"]), (json!("pump-v2"), &json!("pump")));
}

#[tokio::test]
async fn context_path_that_is_taken_is_409_and_the_version_before_stays() {
    let (server, admin) = TestServer::start().await.with_admin();
    create(&admin, "MICROSERVICE", "taken").await;
    let id = create(&admin, "MICROSERVICE", "pump").await;
    assert_eq!(upload(&admin, &id, &service_archive(r#"{"version":"1"}"#)).await.status, 204);
    let (before, rows) = (show(&admin, &id).await, stored(&server).await);

    let manifest = r#"{"contextPath":"taken","requiredRoles":["ROLE_ALARM_READ"]}"#;
    let answer =
        upload(&admin, &id, &service_archive(manifest)).await.expect_error(409, "application/Duplicate");

    assert!(answer.message().contains("taken"), "{}", answer.text);
    assert_eq!(show(&admin, &id).await, before);
    until("nothing is left", async || stored(&server).await == rows).await;
}

#[tokio::test]
async fn wrong_manifest_is_422_and_names_the_file_and_the_member() {
    let (_server, admin, id) = with_application(TestServer::start().await, "MICROSERVICE", "pump").await;

    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(300 << 10));
    for (manifest, message) in [
        ("", "platform.json"),
        ("[1]", "platform.json"),
        ("{\"a\":", "platform.json"),
        (r#"{"isolation":"SHARED"}"#, "platform.json: isolation"),
        (r#"{"requiredRoles":["ROLE_SYSTEM"]}"#, "platform.json: requiredRoles"),
        (
            r#"{"readinessProbe":{"httpGet":{"path":"http://10.0.0.1/"}}}"#,
            "platform.json: readinessProbe.httpGet.path",
        ),
        (&*long, "platform.json"),
    ] {
        let answer = upload(&admin, &id, &service_archive(manifest)).await;
        assert_eq!(answer.status, 422, "{message}: {}", answer.text);
        assert!(answer.message().contains(message), "{message}: {}", answer.text);
    }
    assert_eq!(show(&admin, &id).await.get("activeVersionId"), None);
}

#[tokio::test]
async fn web_application_may_have_a_manifest_and_keeps_its_context_path() {
    let (_server, admin, id) = with_application(TestServer::start().await, "HOSTED", "web").await;
    let manifest = Entry::stored("platform.json", r#"{"contextPath":"other","roles":["ROLE_WEB_READ"]}"#);
    let index = Entry::stored("index.html", "x");

    assert_eq!(upload(&admin, &id, &archive(&[index.clone(), manifest])).await.status, 204);
    let application = show(&admin, &id).await;
    assert_eq!(upload(&admin, &id, &archive(&[index])).await.status, 204);

    assert_eq!(application["contextPath"], "web-main");
    assert_eq!(application["roles"], json!(["ROLE_WEB_READ"]));
    assert_eq!(application["manifest"]["contextPath"], "other");
    assert_eq!(show(&admin, &id).await.get("manifest").unwrap_or(&Value::Null), &Value::Null);
}
