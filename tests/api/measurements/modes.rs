//! Processing modes of measurements, and their notifications (M-01 to M-04, B-02, B-06).

use super::*;
use crate::harness::operations::place_below;

const TIME: &str = "2024-03-10T02:30:00Z";

async fn send(caller: &Caller, mode: &str, body: &Value) -> Response {
    let request = caller.request("POST", MEASUREMENTS).accepting_json();
    request.header("X-Platform-Processing-Mode", mode).json(body).send().await
}

#[tokio::test]
async fn created_measurement_is_published_on_its_channel_and_on_all() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let own = admin.listen(&format!("/measurements/{device}")).await;
    let all = admin.listen("/measurements/*").await;
    let other = admin.create_device("motor").await;

    measure(&admin, &other, TIME, 1).await;
    let created = measure(&admin, &device, TIME, 2).await;

    let expected = json!({"realtimeAction": "CREATE", "data": created});
    assert_eq!(own.receive(1).await[0]["data"], expected);
    assert_eq!(all.receive(2).await[1]["data"], expected);
}

#[tokio::test]
async fn each_of_a_collection_is_published_in_order() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.listen(&format!("/measurements/{device}")).await;
    let many: Vec<Value> = (0..20).map(|n| measurement_of(&device, TIME, n)).collect();

    admin.create(MEASUREMENTS, &json!({"measurements": many})).await;

    let told = session.receive(20).await;
    let values: Vec<_> = told.iter().map(|told| told["data"]["data"]["env"]["t"]["value"].as_i64()).collect();
    assert_eq!(values, (0..20).map(Some).collect::<Vec<_>>());
}

#[tokio::test]
async fn transient_is_published_and_not_stored() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.listen(&format!("/measurements/{device}")).await;

    for body in
        [measurement_of(&device, TIME, 1), json!({"measurements": [measurement_of(&device, TIME, 1)]})]
    {
        let answer = send(&admin, "TRANSIENT", &body).await;
        let created = answer.json();
        let created =
            if body["measurements"].is_array() { created["measurements"][0].clone() } else { created };
        assert_eq!(answer.status, 201, "{}", answer.text);
        assert!(created["id"].is_null(), "{created}");
        assert!(created["self"].as_str().unwrap().ends_with("/null"), "{created}");
        assert_eq!(session.receive(1).await[0]["data"], json!({"realtimeAction": "CREATE", "data": created}));
    }
    assert_eq!(server.count("measurements").await, 0);
    assert_eq!(server.count("source_shapes").await, 0);
}

#[tokio::test]
async fn quiescent_is_stored_and_not_published_and_cep_neither() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.listen(&format!("/measurements/{device}")).await;

    let quiescent = send(&admin, "quiescent", &measurement_of(&device, TIME, 1)).await.expect(201);
    assert!(quiescent.json()["id"].is_string());
    let cep = send(&admin, "CEP", &measurement_of(&device, TIME, 2)).await.expect(201);
    assert!(cep.json()["id"].is_null());

    assert_eq!(server.count("measurements").await, 1);
    let last = measure(&admin, &device, TIME, 3).await;
    assert_eq!(session.receive(1).await[0]["data"]["data"], last, "the others are not told");
}

#[tokio::test]
async fn what_is_not_stored_needs_a_source_and_the_right_to_write_all_the_same() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let nobody = server.user_with("nobody", &[]).await;

    for mode in ["TRANSIENT", "CEP"] {
        assert_eq!(send(&admin, mode, &measurement_of("4711", TIME, 1)).await.status, 422, "{mode}");
        assert_eq!(send(&nobody, mode, &measurement_of(&device, TIME, 1)).await.status, 403, "{mode}");
    }
}

#[tokio::test]
async fn what_is_not_stored_is_refused_soon_after_another_server_deletes_the_source_or_changes_its_owner() {
    let [server, other] = TestServer::start_two().await;
    let owner = server.user_with("owner", &["ROLE_INVENTORY_CREATE"]).await;
    let (own, deleted) = (owner.create_device("own").await, server.admin().create_device("deleted").await);
    let of_owner = async || send(&owner, "TRANSIENT", &measurement_of(&own, TIME, 1)).await.status;
    let of_deleted =
        async || send(&server.admin(), "TRANSIENT", &measurement_of(&deleted, TIME, 1)).await.status;
    assert_eq!((of_owner().await, of_deleted().await), (201, 201));

    let inventory = "/inventory/managedObjects";
    other.admin().put(&format!("{inventory}/{own}"), &json!({"owner": "admin"})).await.expect(200);
    until("a refusal", async || of_owner().await == 403).await;

    assert_eq!(of_deleted().await, 201);
    other.admin().delete(&format!("{inventory}/{deleted}")).await.expect(204);
    until("a refusal", async || of_deleted().await == 422).await;
}

#[tokio::test]
async fn what_is_not_stored_is_accepted_from_the_owner_of_a_gateway_above_the_source() {
    let (_server, admin, owner) = TestServer::shared().await.with_owner().await;
    let gateway = owner.create_device("gateway").await;
    let device = admin.create_device("sensor").await;
    let body = measurement_of(&device, TIME, 1);

    place_below(&admin, &gateway, &device).await;

    for mode in ["TRANSIENT", "CEP", "PERSISTENT"] {
        send(&owner, mode, &body).await.expect(201);
    }
}
