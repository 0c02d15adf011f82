//! Hostile bodies and parameters.

use super::*;

#[tokio::test]
async fn broken_bodies_are_refused_and_change_nothing() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let operation = queue(&admin, &agent).await;

    for (body, status) in [
        ("", 422),
        ("[]", 400),
        ("{", 400),
        ("null", 400),
        (r#"{"deviceId":{"id":"1"}}"#, 422),
        (r#"{"deviceId":1.5}"#, 422),
        (r#"{"deviceId":"1","status":7}"#, 422),
        (r#"{"deviceId":"AGENT","a.b":1,"status":"FAILED"}"#, 422),
        (r#"{"deviceId":"AGENT","x":"\u0000","failureReason":"\u0000"}"#, 422),
    ] {
        let body = body.replace("AGENT", &agent);
        for (method, path) in [("POST", OPERATIONS.to_owned()), ("PUT", path_of(&operation))] {
            let request = admin.request(method, &path).header("Content-Type", "application/json");
            let answer = request.body(body.clone()).send().await;
            // A PUT does not read `deviceId`, a POST no status.
            let ignored = answer.status < 300;
            assert!(
                ignored || [status, 400, 422].contains(&answer.status),
                "{method} {body}: {} {}",
                answer.status,
                answer.text
            );
            assert!(!ignored || !body.contains('.') || method == "PUT", "{method} {body}");
        }
    }
    assert_eq!(found(&admin, &format!("deviceId={agent}")).await[0], id_of(&operation));
    assert_eq!(admin.read(&path_of(&operation)).await, operation);
}

#[tokio::test]
async fn reason_that_is_too_long_is_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let operation = queue(&admin, &create_agent(&admin, "gateway").await).await;

    admin
        .put(&path_of(&operation), &json!({"status": "FAILED", "failureReason": "x".repeat(100_000)}))
        .await
        .expect(422);

    assert_eq!(admin.read(&path_of(&operation)).await, operation);
}

#[tokio::test]
async fn types_of_other_resources_are_415_and_other_versions_406() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let operation = queue(&admin, &create_agent(&admin, "gateway").await).await;

    for (method, path) in [("POST", OPERATIONS.to_owned()), ("PUT", path_of(&operation))] {
        let request = admin.request(method, &path).header("Content-Type", &format!("{MEDIA}alarm+json"));
        assert_eq!(request.body("{}").send().await.status, 415, "{method}");
    }
    for path in [OPERATIONS.to_owned(), path_of(&operation)] {
        let request = admin.request("GET", &path).header("Accept", &format!("{MEDIA}operation+json;ver=0.8"));
        assert_eq!(request.send().await.status, 406, "{path}");
    }
}

#[tokio::test]
async fn responses_name_their_media_type() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let operation = queue(&admin, &create_agent(&admin, "gateway").await).await;

    for (path, name) in [(OPERATIONS.to_owned(), "operationCollection"), (path_of(&operation), "operation")] {
        let answer = admin.get(&path).await;
        let expected = format!("{MEDIA}{name}+json;ver=0.9;charset=UTF-8");
        assert_eq!(answer.header("Content-Type"), Some(&*expected));
    }
}
