//! `PUT /devicecontrol/newDeviceRequests/<id>` (N-03, X-12), and who moves a request (N-01, N-02).

use super::*;

const WAITING: &str = "WAITING_FOR_CONNECTION";
const PENDING: &str = "PENDING_ACCEPTANCE";
const ACCEPTED: &str = "ACCEPTED";

async fn status(server: &TestServer, id: &str) -> String {
    server.admin().read(&request_of(id)).await["status"].as_str().unwrap().to_owned()
}

async fn put(server: &TestServer, id: &str, status: &str) -> u16 {
    server.admin().put(&request_of(id), &json!({"status": status})).await.status
}

#[tokio::test]
async fn accepted_device_gets_its_credentials_with_the_next_poll() {
    let server = TestServer::start().await;

    check_rows(
        [("never-polled", 0), ("polled-once", 1), ("polled-twice", 2)].map(|(id, polls)| (id, (id, polls))),
        async |(id, polls)| {
            register(&server, id).await;
            for _ in 0..polls {
                poll(&server, id).await.expect(404);
                assert_eq!(status(&server, id).await, PENDING);
            }
            assert_eq!(put(&server, id, ACCEPTED).await, 200);

            poll(&server, id).await.expect(201);

            assert_eq!(status(&server, id).await, ACCEPTED);
            assert_eq!(put(&server, id, WAITING).await, 422);
            assert_eq!(put(&server, id, ACCEPTED).await, 200);
        },
    )
    .await;
}

#[tokio::test]
async fn put_returns_the_request() {
    let (server, admin) = TestServer::start().await.with_admin();
    let mut request = register(&server, "sn-1").await;

    let answer = admin.put(&request_of("sn-1"), &json!({"status": ACCEPTED, "owner": "joe"})).await;
    let accepted = json!({"status": ACCEPTED});
    let bare = RawConnection::without_accept(&admin, "PUT", &request_of("sn-1"), &accepted).await;

    request["status"] = json!(ACCEPTED);
    assert_eq!((answer.status, answer.json()), (200, request));
    assert_eq!((bare.status, &*bare.text), (200, ""));
}

#[tokio::test]
async fn status_never_goes_back_and_may_stay_as_it_is() {
    let server = TestServer::start().await;
    for (from, to, expected) in [
        (WAITING, WAITING, 200),
        (WAITING, ACCEPTED, 200),
        (PENDING, WAITING, 422),
        (PENDING, PENDING, 200),
        (PENDING, ACCEPTED, 200),
        (ACCEPTED, WAITING, 422),
        (ACCEPTED, PENDING, 422),
        (ACCEPTED, ACCEPTED, 200),
    ] {
        let id = format!("{from}-{to}");
        register(&server, &id).await;
        if from == PENDING {
            poll(&server, &id).await;
        }
        if from == ACCEPTED {
            put(&server, &id, ACCEPTED).await;
        }

        assert_eq!(put(&server, &id, to).await, expected, "{id}");

        assert_eq!(status(&server, &id).await, if expected == 200 { to } else { from }, "{id}");
    }
}

#[tokio::test]
async fn put_without_a_status_or_with_an_unknown_one_is_422() {
    let (server, admin) = TestServer::start().await.with_admin();
    register(&server, "sn-1").await;

    for body in [
        json!({}),
        json!({"id": "sn-1"}),
        json!({"status": null}),
        json!({"status": "accepted"}),
        json!({"status": ""}),
        json!({"status": 1}),
        json!({"status": "REJECTED"}),
    ] {
        let answer = admin.put(&request_of("sn-1"), &body).await;
        assert_eq!((answer.status, &*answer.error()), (422, "undefined/validationError"), "{body}");
        assert!(answer.message().contains("status"), "{}", answer.text);
    }
    assert_eq!(status(&server, "sn-1").await, WAITING);
}

#[tokio::test]
async fn role_to_read_and_role_to_administer_each_suffice_to_accept() {
    let server = TestServer::start().await;
    let reader = server.user_with("reader", &["ROLE_DEVICE_CONTROL_READ"]).await;
    let writer = server.user_with("writer", &["ROLE_DEVICE_CONTROL_ADMIN"]).await;
    register(&server, "sn-1").await;
    register(&server, "sn-2").await;
    let accepted = json!({"status": ACCEPTED});

    assert_eq!(reader.put(&request_of("sn-1"), &accepted).await.status, 200);
    assert_eq!(writer.put(&request_of("sn-2"), &accepted).await.status, 200);
    assert_eq!(writer.get(&request_of("sn-2")).await.status, 403, "ADMIN does not imply READ");
    assert_eq!(reader.delete(&request_of("sn-1")).await.status, 403);
    assert_eq!(writer.delete(&request_of("sn-2")).await.status, 200);
}
