//! What a request is refused for first (E-04).

use serde_json::json;

use crate::harness::{TestServer, alarm_of};

#[tokio::test]
async fn authentication_comes_before_everything() {
    let server = TestServer::start().await;
    let stranger = server.stranger();

    for (method, path) in [
        ("PATCH", "/alarm/alarms"),
        ("GET", "/alarm/alarms?status=BAD"),
        ("POST", "/alarm/alarms"),
        ("GET", "/unknown"),
        ("GET", "/inventory/managedObjects/4711"),
    ] {
        let request = stranger.request(method, path).header("Accept", "text/html").body("{");
        assert_eq!(request.send().await.status, 401, "{method} {path}");
    }
}

#[tokio::test]
async fn suspended_tenant_comes_before_the_method() {
    let server = TestServer::start().await;
    let caller = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    server.database().execute("UPDATE tenants SET status = 'SUSPENDED' WHERE id = 'main'", &[]).await;

    let answer = caller.request("PATCH", "/alarm/alarms").send().await;

    assert_eq!(answer.status, 403, "{}", answer.text);
}

#[tokio::test]
async fn method_comes_before_the_role() {
    let server = TestServer::start().await;
    let caller = server.user_with("joe", &[]).await;

    let answer = caller.request("PATCH", "/alarm/alarms").send().await;

    assert_eq!(answer.status, 405, "{}", answer.text);
}

#[tokio::test]
async fn role_comes_before_the_syntax_of_the_body() {
    let server = TestServer::start().await;
    let caller = server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;

    let answer = caller.request("POST", "/inventory/managedObjects").body("{").send().await;

    assert_eq!(answer.status, 403, "{}", answer.text);
}

#[tokio::test]
async fn syntax_of_the_body_comes_before_its_validation() {
    let server = TestServer::start().await;

    let request = server.admin().request("POST", "/alarm/alarms");
    let answer = request.body(r#"{"severity": "BAD", "source": {"id": "4711"}"#).send().await;

    assert_eq!(answer.status, 400, "{}", answer.text);
}

#[tokio::test]
async fn validation_of_the_body_comes_before_the_existence_of_the_source() {
    let server = TestServer::start().await;
    let mut alarm = alarm_of("4711", "hot");
    alarm["severity"] = json!("BAD");

    let answer = server.admin().post("/alarm/alarms", &alarm).await;

    assert_eq!(answer.status, 422);
    assert!(answer.message().contains("severity"), "{}", answer.message());
}

#[tokio::test]
async fn body_of_a_put_comes_before_the_existence_of_the_object() {
    let server = TestServer::start().await;
    let admin = server.admin();

    for (body, status) in [("{", 400), (r#"{"status": "BAD"}"#, 422), ("{}", 404)] {
        let answer = admin.request("PUT", "/alarm/alarms/4711").body(body).send().await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text);
    }
}

#[tokio::test]
async fn object_that_must_not_be_seen_is_403_and_an_absent_one_404() {
    let server = TestServer::start().await;
    let device = server.admin().create_device("pump").await;
    let caller = server.user_with("joe", &[]).await;

    for method in ["GET", "PUT", "DELETE"] {
        let request =
            |id: &str| caller.request(method, &format!("/inventory/managedObjects/{id}")).body("{}");
        assert_eq!(request(&device).send().await.status, 403, "{method} of what exists");
        assert_eq!(request("4711").send().await.status, 404, "{method} of what does not");
    }
}

#[tokio::test]
async fn alarm_that_must_not_be_changed_is_403_and_an_absent_one_404() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let alarm = admin.raise_alarm(&admin.create_device("pump").await, "hot").await;
    let caller = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let body = json!({"status": "CLEARED"});

    let existing = caller.put(&format!("/alarm/alarms/{}", alarm["id"].as_str().unwrap()), &body).await;
    let absent = caller.put("/alarm/alarms/4711", &body).await;

    assert_eq!((existing.status, absent.status), (403, 404));
}
