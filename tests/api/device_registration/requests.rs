//! `/devicecontrol/newDeviceRequests` (N-04, N-05, X-13).

use super::*;

#[tokio::test]
async fn created_request_waits_for_its_device() {
    let (server, admin) = TestServer::start().await.with_admin();

    let request = admin.request("POST", REQUESTS);
    let media_type = format!("{MEDIA}newDeviceRequest+json");
    let request = request.header("Accept", &media_type).header("Content-Type", &media_type);
    let answer = request.body(r#"{"id":"sn-1"}"#).send().await.expect(201);

    let link = format!("{}{REQUESTS}/sn-1", server.base());
    assert_eq!(answer.header("Location"), Some(&*link));
    assert!(answer.header("Content-Type").unwrap().starts_with(&media_type));
    let expected = json!({"self": link, "id": "sn-1", "status": "WAITING_FOR_CONNECTION", "tenantId": "main",
        "owner": "admin", "creationTime": "<time>"});
    assert_eq!(redacted(&answer.json(), &[]), expected);
    assert_eq!(admin.read(&link).await, answer.json());
}

#[tokio::test]
async fn other_members_of_a_post_are_ignored() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let body = json!({"id": "sn-1", "status": "ACCEPTED", "tenantId": "t7", "owner": "joe", "self": 7,
        "creationTime": "never", "securityToken": "x", "plat_X": {}, "groupId": null});

    let created = admin.create(REQUESTS, &body).await;

    assert_eq!(
        (&created["status"], &created["tenantId"], &created["owner"]),
        (&json!("WAITING_FOR_CONNECTION"), &json!("main"), &json!("admin"))
    );
    assert_eq!((created.get("plat_X"), created.get("groupId")), (None, None));
}

#[tokio::test]
async fn second_post_of_an_id_is_409() {
    let (server, admin) = TestServer::start().await.with_admin();
    register(&server, "sn-1").await;
    accept(&server, "sn-1").await;

    let answer =
        admin.post(REQUESTS, &json!({"id": "sn-1"})).await.expect_error(409, "devicecontrol/Duplicate");

    assert!(answer.message().contains("sn-1"), "{}", answer.text);
    assert_eq!(admin.read(&request_of("sn-1")).await["status"], "ACCEPTED");
}

#[tokio::test]
async fn deletion_of_a_request_returns_200_without_a_body() {
    let (server, admin) = TestServer::start().await.with_admin();
    register(&server, "sn-1").await;

    let (first, second) = (admin.delete(&request_of("sn-1")).await, admin.delete(&request_of("sn-1")).await);

    assert_eq!((first.status, &*first.text), (200, ""));
    assert_eq!((second.status, &*second.error()), (404, "devicecontrol/Not Found"));
    assert_eq!(admin.get(&request_of("sn-1")).await.status, 404);
    register(&server, "sn-1").await;
}

#[tokio::test]
async fn compatible_server_returns_204_for_a_deletion() {
    let (server, admin) =
        TestServer::start_with(|settings| settings.client_compatibility = true).await.with_admin();
    register(&server, "sn-1").await;

    assert_eq!(admin.delete(&request_of("sn-1")).await.status, 204);
}

#[tokio::test]
async fn unknown_request_is_404() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for answer in [
        admin.get(&request_of("sn-9")).await,
        admin.put(&request_of("sn-9"), &json!({"status": "ACCEPTED"})).await,
        admin.delete(&request_of("sn-9")).await,
    ] {
        assert_eq!((answer.status, &*answer.error()), (404, "devicecontrol/Not Found"));
        assert_eq!(answer.message(), "There is no newDeviceRequest for device id sn-9.");
    }
}

#[tokio::test]
async fn list_shows_requests_in_the_order_they_were_made() {
    let (server, admin) = TestServer::start().await.with_admin();
    for id in ["z", "a", "m", "b", "y"] {
        register(&server, id).await;
    }
    admin.delete(&request_of("m")).await;
    register(&server, "m").await;

    let list = admin.get(REQUESTS).await;

    let media_type = format!("{MEDIA}newDeviceRequestCollection+json");
    assert!(list.header("Content-Type").unwrap().starts_with(&media_type));
    let list = list.json();
    assert_eq!(ids(&list, "newDeviceRequests"), ["z", "a", "b", "y", "m"]);
    assert_eq!(list["newDeviceRequests"][0], admin.read(&request_of("z")).await);
    assert_eq!(list["statistics"], json!({"pageSize": 5, "currentPage": 1}));
}

#[tokio::test]
async fn pages_follow_each_other_while_requests_come_and_go() {
    let (server, admin) = TestServer::start().await.with_admin();
    for n in 1..=7 {
        register(&server, &n.to_string()).await;
    }

    let first = admin.read(&format!("{REQUESTS}?pageSize=3&withTotalPages=true")).await;
    admin.delete(&request_of("1")).await;
    let second = admin.read(first["next"].as_str().unwrap()).await;
    let third = admin.read(second["next"].as_str().unwrap()).await;

    assert_eq!(first["statistics"]["totalPages"], 3);
    assert_eq!(ids(&first, "newDeviceRequests"), ["1", "2", "3"]);
    assert_eq!(ids(&second, "newDeviceRequests"), ["4", "5", "6"]);
    assert_eq!((ids(&third, "newDeviceRequests"), third.get("next")), (vec!["7".to_owned()], None));
    let by_number = admin.read(&format!("{REQUESTS}?pageSize=3&currentPage=2")).await;
    assert_eq!(ids(&by_number, "newDeviceRequests"), ["5", "6", "7"]);
}

#[tokio::test]
async fn body_of_another_type_is_415_and_a_wrong_one_422() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let send = async |kind: &str, body: &str| {
        let request = admin.request("POST", REQUESTS).header("Content-Type", kind);
        request.body(body).send().await
    };
    assert_eq!(send("text/plain", r#"{"id":"a"}"#).await.status, 415);
    assert_eq!(send(&format!("{MEDIA}deviceCredentials+json"), r#"{"id":"a"}"#).await.status, 415);
    assert_eq!(send("application/json", r#"{"id":"a""#).await.status, 400);

    let missing = send("application/json", "{}").await.expect_error(422, "undefined/validationError");
    assert_eq!(missing.message(), "Following mandatory fields should be included: id");
    for body in [r#"{"id":null}"#, r#"{"id":""}"#, r#"{"id":7}"#, r#"{"id":{}}"#, ""] {
        assert_eq!(send("application/json", body).await.status, 422, "{body}");
    }
    assert_eq!(server.count("new_device_requests").await, 0);
}
