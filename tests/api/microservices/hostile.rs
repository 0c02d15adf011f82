//! Hostile requests of microservices.

use super::*;

#[tokio::test]
async fn nothing_a_microservice_sends_makes_a_server_error() {
    let server = TestServer::start().await;
    let (_, bootstrap) = serve(&server, "pump", json!({}), &["main"]).await;
    let service = service_in(&server, &bootstrap, "main").await;
    let long = "x".repeat(3000);
    let values = [
        json!(null),
        json!(true),
        json!(-1.5e300),
        json!(""),
        json!("\u{7f}\u{fffd} 💩 '\"\\"),
        json!(long),
        json!([]),
        json!([null, 7, {}]),
        json!(["ROLE_SYSTEM", "ROLE_DEVICE_BOOTSTRAP"]),
        json!(vec!["ROLE_X_READ"; 5000]),
        json!({"a": {"b": []}}),
    ];
    for name in
        ["name", "availability", "requiredRoles", "roles", "externalUrl", "key", "type", "contextPath"]
    {
        for value in &values {
            let answer = bootstrap.put(CURRENT, &json!({name: value})).await;
            assert!(answer.status < 500, "{name}: {value}: {}", answer.text);
        }
    }
    for text in ["", "null", "[]", "{", "{\"a\":1e999}", "{\"\\u0000\":1}"] {
        let answer = bootstrap.request("PUT", CURRENT).accepting_json().body(text).send().await;
        assert!((400..500).contains(&answer.status), "{text:?}: {}", answer.text);
    }
    for path in [SUBSCRIPTIONS, SETTINGS, CURRENT] {
        for query in [
            "pageSize=-1",
            "currentPage=99999999999999999999",
            "after=2_n_%00",
            "after=1_n_%F0%9F%92%A9",
            "%FF=%00",
        ] {
            for caller in [&bootstrap, &service] {
                let answer = caller.get(&format!("{path}?{query}")).await;
                assert!(answer.status < 500, "{path}?{query}: {}", answer.text);
            }
        }
    }
    let held =
        "SELECT 1 FROM users WHERE roles && '{ROLE_SYSTEM,ROLE_DEVICE_BOOTSTRAP}' AND duty IS NOT NULL";
    assert!(server.database().query(held, &[]).await.is_empty());
}

#[tokio::test]
async fn role_that_is_given_to_nobody_is_not_given_to_service_users() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (id, bootstrap) = serve(&server, "pump", json!({}), &[]).await;
    let forbidden = "UPDATE applications SET required_roles = '{ROLE_SYSTEM,ROLE_DEVICE_BOOTSTRAP,ROLE_ALARM_READ}' \
        WHERE id::text = $1";
    server.database().execute(forbidden, &[&id]).await;

    subscribe(&admin, "main", &id).await;

    let service = service_in(&server, &bootstrap, "main").await;
    assert_eq!(effective_roles(&service).await, ["ROLE_ALARM_READ"]);
}
