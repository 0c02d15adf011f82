//! Processing modes of operations (M-01 to M-03).

use super::*;

async fn send(caller: &Caller, method: &str, path: &str, mode: &str, body: &Value) -> Response {
    let request = caller.request(method, path).accepting_json();
    request.header("X-Platform-Processing-Mode", mode).json(body).send().await
}

#[tokio::test]
async fn transient_operation_is_published_and_neither_stored_nor_given_to_an_agent() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let (watcher, executor) =
        (admin.listen(&format!("/operations/{agent}")).await, listen_as(&admin, &agent).await);

    let answer =
        send(&admin, "POST", OPERATIONS, "TRANSIENT", &json!({"deviceId": agent, "plat_Restart": {}})).await;

    let operation = answer.json();
    let link = format!("{}{OPERATIONS}/null", server.base());
    assert_eq!((answer.status, answer.header("Location")), (201, Some(&*link)));
    let expected = json!({"self": link, "deviceId": agent, "status": "PENDING", "plat_Restart": {}});
    assert_eq!(without(&operation, &["creationTime"]), expected);
    assert_eq!(server.count("operations").await, 0);
    let told = watcher.receive(1).await;
    assert_eq!(told[0]["data"], json!({"realtimeAction": "CREATE", "data": operation}));
    let stored = queue(&admin, &agent).await;
    assert_eq!(executor.receive(1).await[0]["data"]["id"], stored["id"], "the first that it hears of");
}

#[tokio::test]
async fn transient_operation_is_checked_like_any_other() {
    let (server, admin, lonely) = TestServer::shared().await.with_device("pump").await;
    let nobody = server.user_with("nobody", &[]).await;

    for (caller, body, status) in [
        (&admin, json!({"deviceId": "4711"}), 422),
        (&admin, json!({"deviceId": lonely}), 422),
        (&admin, json!({}), 422),
        (&nobody, json!({"deviceId": lonely}), 403),
    ] {
        send(caller, "POST", OPERATIONS, "TRANSIENT", &body).await.expect(status);
    }
}

#[tokio::test]
async fn quiescent_is_persistent_and_cep_is_refused() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let watcher = admin.listen("/operations/*").await;

    let answer = send(&admin, "POST", OPERATIONS, "quiescent", &json!({"deviceId": agent})).await;

    let operation = answer.json();
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!(admin.read(&path_of(&operation)).await, operation);
    assert_eq!(watcher.receive(1).await[0]["data"]["data"], operation);
    for (method, path) in
        [("POST", OPERATIONS.to_owned()), ("PUT", path_of(&operation)), ("DELETE", OPERATIONS.into())]
    {
        send(&admin, method, &path, "CEP", &json!({"deviceId": agent})).await.expect(422);
    }
}

#[tokio::test]
async fn transient_change_is_published_and_not_stored_and_transient_deletion_deletes_nothing() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let operation = queue(&admin, &agent).await;
    let watcher = admin.listen("/operations/*").await;

    let changed =
        send(&admin, "PUT", &path_of(&operation), "TRANSIENT", &json!({"status": "EXECUTING"})).await;
    let deleted = send(&admin, "DELETE", OPERATIONS, "TRANSIENT", &json!({})).await;

    assert_eq!((changed.status, &changed.json()["status"]), (200, &json!("EXECUTING")));
    assert_eq!(deleted.status, 204);
    assert_eq!(admin.read(&path_of(&operation)).await, operation);
    assert_eq!(server.count("audit_records").await, 0);
    let told = watcher.receive(1).await;
    assert_eq!(told[0]["data"], json!({"realtimeAction": "UPDATE", "data": changed.json()}));
}
