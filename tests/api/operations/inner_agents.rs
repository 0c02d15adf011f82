//! An agent below an agent has operations of its own (O-06a).

use super::*;
use crate::harness::csv::send;

/// An agent `outer` of a device user, below it an agent `inner` of the same user, and a device below each.
struct Nested {
    server: TestServer,
    admin: Caller,
    user: Caller,
    outer: String,
    inner: String,
    near: String,
    far: String,
}

impl Nested {
    async fn create() -> Self {
        let server = TestServer::shared().await;
        let (admin, user) = (server.admin(), server.device_user("g1").await);
        let (outer, inner) = (create_agent(&user, "outer").await, create_agent(&user, "inner").await);
        place_below(&user, &outer, &inner).await;
        let near = create_below(&user, &outer, "near").await;
        let far = create_below(&user, &inner, "far").await;
        let name = json!({"type": "plat_Serial", "externalId": "g1"});
        user.create(&format!("/identity/globalIds/{outer}/externalIds"), &name).await;
        Self { server, admin, user, outer, inner, near, far }
    }
}

#[tokio::test]
async fn operations_belong_to_the_nearest_agent_in_every_list() {
    let nested = Nested::create().await;
    let Nested { server, admin, user, outer, inner, near, far } = &nested;
    let mut operations = Vec::new();
    for device in [outer, near, inner, far] {
        operations.push(id_of(&queue(admin, device).await).to_owned());
    }
    let reader = server.user_with("reader", &["ROLE_DEVICE_CONTROL_READ"]).await;

    for caller in [admin, user, &reader] {
        for status in ["", "&status=PENDING"] {
            assert_eq!(found(caller, &format!("agentId={outer}{status}")).await, operations[..2]);
            assert_eq!(found(caller, &format!("agentId={inner}{status}")).await, operations[2..]);
        }
        assert_eq!(found(caller, &format!("agentId={outer}&deviceId={far}")).await, [""; 0]);
        assert_eq!(found(caller, &format!("agentId={inner}&deviceId={far}")).await, operations[3..]);
    }
    let counted = admin.read(&format!("{OPERATIONS}?agentId={outer}&pageSize=1&withTotalPages=true")).await;
    assert_eq!(counted["statistics"]["totalPages"], 2);
    let joe = server.user_permitted("joe", outer, &["OPERATION:*:READ"]).await;
    assert_eq!(found(&joe, &format!("agentId={outer}")).await, operations[..2], "whoever asks");
}

#[tokio::test]
async fn outer_agent_neither_sees_nor_ends_operations_of_an_inner_one_by_rows() {
    let nested = Nested::create().await;
    let Nested { admin, user, inner, near, .. } = &nested;
    let foreign = queue(admin, inner).await;
    let id = id_of(&foreign);

    assert_eq!(send(user, "500").await, "");
    for row in ["501,plat_Restart".to_owned(), format!("504,{id}"), format!("505,{id}"), format!("506,{id}")]
    {
        assert_eq!(send(user, &row).await, "50,1,404\n", "{row}");
    }
    assert_eq!(admin.read(&super::path_of(&foreign)).await["status"], "PENDING");

    let own = queue(admin, near).await;
    assert_eq!(send(user, "500").await, format!("510,{near}\n"));
    assert_eq!(send(user, &format!("504,{}\n506,{}", id_of(&own), id_of(&own))).await, "");
    assert_eq!(admin.read(&super::path_of(&own)).await["status"], "SUCCESSFUL");
}

#[tokio::test]
async fn channel_and_list_of_an_agent_agree() {
    let nested = Nested::create().await;
    let Nested { admin, user, outer, near, far, .. } = &nested;
    let session = user.session().await.on(AGENTS);
    assert_eq!(session.subscribe(&format!("/{outer}")).await["successful"], true);

    queue(admin, far).await;
    let own = queue(admin, near).await;

    let told = session.receive(1).await;
    assert_eq!(told[0]["data"]["id"], own["id"], "{told:?}");
    assert_eq!(found(user, &format!("agentId={outer}")).await, [id_of(&own)]);
}

#[tokio::test]
async fn bulk_deletion_of_an_agents_operations_leaves_those_of_an_inner_one() {
    let nested = Nested::create().await;
    let Nested { admin, outer, near, far, .. } = &nested;
    queue(admin, near).await;
    let left = queue(admin, far).await;

    assert_eq!(admin.delete(&format!("{OPERATIONS}?agentId={outer}")).await.status, 204);

    assert_eq!(found(admin, "").await, [id_of(&left)]);
}
