//! Filters of the collection, and what its members show (O-06, O-07).

use super::*;

/// Operations of an agent with a child and a grandchild, and of another agent.
struct Fleet {
    admin: Caller,
    agent: String,
    child: String,
    other: String,
    /// The operations of the agent, the child, the grandchild, the agent again, and the other agent.
    operations: Vec<Value>,
    server: TestServer,
}

impl Fleet {
    async fn create() -> Self {
        let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
        let child = create_below(&admin, &agent, "bus").await;
        let grandchild = create_below(&admin, &child, "sensor").await;
        let other = create_agent(&admin, "other").await;
        let mut operations = Vec::new();
        for device in [&agent, &child, &grandchild, &agent, &other] {
            operations.push(queue(&admin, device).await);
        }
        Self { admin, agent, child, other, operations, server }
    }

    /// Ids of these operations.
    fn ids(&self, places: &[usize]) -> Vec<String> {
        places.iter().map(|place| id_of(&self.operations[*place]).to_owned()).collect()
    }

    async fn assert_found(&self, parameters: &str, places: &[usize]) {
        assert_eq!(found(&self.admin, parameters).await, self.ids(places), "{parameters}");
        let counted = format!("{OPERATIONS}?pageSize=1&withTotalPages=true&{parameters}");
        let page = self.admin.read(&counted).await;
        assert_eq!(page["statistics"]["totalPages"], places.len(), "{parameters}");
    }
}

#[tokio::test]
async fn agent_finds_its_own_operations_and_those_of_everything_below() {
    let fleet = Fleet::create().await;
    let Fleet { agent, child, other, .. } = &fleet;

    fleet.assert_found("", &[0, 1, 2, 3, 4]).await;
    fleet.assert_found(&format!("agentId={agent}"), &[0, 1, 2, 3]).await;
    fleet.assert_found(&format!("agentId={other}"), &[4]).await;
    fleet.assert_found(&format!("agentId={child}"), &[1, 2]).await;
    fleet.assert_found(&format!("deviceId={agent}"), &[0, 3]).await;
    fleet.assert_found(&format!("deviceId={child}"), &[1]).await;
}

#[tokio::test]
async fn agent_and_device_together_are_both_demanded() {
    let fleet = Fleet::create().await;
    let Fleet { agent, child, other, .. } = &fleet;

    for status in ["", "&status=PENDING"] {
        fleet.assert_found(&format!("agentId={agent}&deviceId={child}{status}"), &[1]).await;
        fleet.assert_found(&format!("agentId={agent}&deviceId={agent}{status}"), &[0, 3]).await;
        fleet.assert_found(&format!("agentId={agent}&deviceId={other}{status}"), &[]).await;
        fleet.assert_found(&format!("agentId={child}&deviceId={agent}{status}"), &[]).await;
    }
}

#[tokio::test]
async fn status_filters_alone_and_with_agent_or_device() {
    let fleet = Fleet::create().await;
    let Fleet { admin, agent, child, .. } = &fleet;
    change(admin, &fleet.operations[0], json!({"status": "EXECUTING"})).await;
    change(admin, &fleet.operations[1], json!({"status": "FAILED"})).await;
    change(admin, &fleet.operations[4], json!({"status": "SUCCESSFUL"})).await;

    fleet.assert_found("status=PENDING", &[2, 3]).await;
    fleet.assert_found("status=EXECUTING", &[0]).await;
    fleet.assert_found("status=FAILED", &[1]).await;
    fleet.assert_found("status=SUCCESSFUL", &[4]).await;
    fleet.assert_found(&format!("agentId={agent}&status=PENDING"), &[2, 3]).await;
    fleet.assert_found(&format!("agentId={agent}&status=EXECUTING"), &[0]).await;
    fleet.assert_found(&format!("agentId={agent}&status=FAILED"), &[1]).await;
    fleet.assert_found(&format!("agentId={agent}&status=SUCCESSFUL"), &[]).await;
    fleet.assert_found(&format!("deviceId={child}&status=FAILED"), &[1]).await;
    fleet.assert_found(&format!("deviceId={child}&status=PENDING"), &[]).await;
    assert_eq!(admin.get(&format!("{OPERATIONS}?status=DONE")).await.status, 422);
}

#[tokio::test]
async fn fragment_filters_by_a_top_level_member() {
    let fleet = Fleet::create().await;
    let Fleet { admin, agent, child, .. } = &fleet;
    change(admin, &fleet.operations[1], json!({"plat_Command": {"plat_Nested": 1}})).await;
    change(
        admin,
        &fleet.operations[4],
        json!({"plat_Command": null, "plat_Restart": null, "plat_Firmware": {}}),
    )
    .await;

    fleet.assert_found("fragmentType=plat_Restart", &[0, 1, 2, 3]).await;
    fleet.assert_found("fragmentType=plat_Command", &[1]).await;
    fleet.assert_found("fragmentType=plat_Firmware", &[4]).await;
    fleet.assert_found("fragmentType=plat_Nested", &[]).await;
    fleet.assert_found(&format!("agentId={agent}&fragmentType=plat_Command&status=PENDING"), &[1]).await;
    fleet.assert_found(&format!("deviceId={child}&fragmentType=plat_Firmware"), &[]).await;
}

#[tokio::test]
async fn dates_bound_the_creation_time_from_both_ends() {
    let fleet = Fleet::create().await;
    // The operations are one day apart, from the second of January.
    let spread = "UPDATE operations SET created_at = '2024-01-01T00:00:00Z'::timestamptz \
        + (SELECT count(*) FROM operations o WHERE o.tenant = $1 AND o.id <= operations.id) * interval '1 day' \
        WHERE tenant = $1";
    fleet.server.execute(spread, &[]).await;
    let Fleet { agent, .. } = &fleet;

    for filter in [String::new(), format!("&agentId={agent}&status=PENDING"), format!("&agentId={agent}")] {
        let of_agent = |places: &'static [usize]| {
            let places = places.iter().copied();
            places.filter(|place| filter.is_empty() || *place < 4).collect::<Vec<_>>()
        };
        fleet.assert_found(&format!("dateFrom=2024-01-03{filter}"), &of_agent(&[1, 2, 3, 4])).await;
        fleet.assert_found(&format!("dateTo=2024-01-03{filter}"), &of_agent(&[0, 1])).await;
        let both = "dateFrom=2024-01-02T12:00:00Z&dateTo=2024-01-04T01:00:00%2B01:00";
        fleet.assert_found(&format!("{both}{filter}"), &of_agent(&[1, 2])).await;
        fleet.assert_found(&format!("dateFrom=2025-01-01{filter}"), &[]).await;
    }
    assert_eq!(fleet.admin.get(&format!("{OPERATIONS}?dateFrom=yesterday")).await.status, 422);
}

#[tokio::test]
async fn revert_gives_the_newest_first() {
    let fleet = Fleet::create().await;
    let Fleet { agent, .. } = &fleet;

    fleet.assert_found("revert=true", &[4, 3, 2, 1, 0]).await;
    fleet.assert_found(&format!("agentId={agent}&revert=true"), &[3, 2, 1, 0]).await;
    fleet.assert_found(&format!("agentId={agent}&status=PENDING&revert=true"), &[3, 2, 1, 0]).await;
    fleet.assert_found("revert=false", &[0, 1, 2, 3, 4]).await;
    assert_eq!(fleet.admin.get(&format!("{OPERATIONS}?revert=yes")).await.status, 422);
}

#[tokio::test]
async fn bulk_operation_filters_alone_and_with_the_others() {
    let fleet = Fleet::create().await;
    let Fleet { agent, other, .. } = &fleet;
    let ids: Vec<i64> = fleet.ids(&[0, 2, 4]).iter().map(|id| id.parse().unwrap()).collect();
    let made = "UPDATE operations SET bulk_operation = 7 WHERE tenant = $1 AND id = ANY($2)";
    fleet.server.execute(made, &[&ids]).await;
    change(&fleet.admin, &fleet.operations[2], json!({"status": "FAILED"})).await;

    fleet.assert_found("bulkOperationId=7", &[0, 2, 4]).await;
    fleet.assert_found("bulkOperationId=7&revert=true", &[4, 2, 0]).await;
    fleet.assert_found("bulkOperationId=8", &[]).await;
    fleet.assert_found("bulkOperationId=7&status=FAILED", &[2]).await;
    fleet.assert_found("bulkOperationId=7&status=PENDING&fragmentType=plat_Restart", &[0, 4]).await;
    fleet.assert_found(&format!("bulkOperationId=7&agentId={agent}"), &[0, 2]).await;
    fleet.assert_found(&format!("bulkOperationId=7&deviceId={other}"), &[4]).await;
    let shown = fleet.admin.read(&format!("{OPERATIONS}?bulkOperationId=7")).await;
    assert_eq!(shown["operations"][0]["bulkOperationId"], "7");
}

#[tokio::test]
async fn invalid_or_unknown_id_finds_nothing() {
    let fleet = Fleet::create().await;

    for parameter in ["agentId", "deviceId", "bulkOperationId"] {
        for id in ["4711", "none", "-1", "0", "", "99999999999999999999", "1%27%20OR%201=1"] {
            fleet.assert_found(&format!("{parameter}={id}"), &[]).await;
            fleet.assert_found(&format!("{parameter}={id}&status=PENDING"), &[]).await;
        }
    }
}

#[tokio::test]
async fn collection_has_the_name_of_the_device_and_external_ids_only_for_agents() {
    let fleet = Fleet::create().await;
    let Fleet { admin, agent, child, .. } = &fleet;
    for (kind, value) in [("plat_Serial", "s-1"), ("acme_Tag", "t-1")] {
        let path = format!("/identity/globalIds/{child}/externalIds");
        admin.create(&path, &json!({"type": kind, "externalId": value})).await;
    }
    let ids = json!({
        "self": format!("{}/identity/globalIds/{child}/externalIds", fleet.server.base()),
        "externalIds": [{"type": "acme_Tag", "externalId": "t-1"}, {"type": "plat_Serial", "externalId": "s-1"}],
    });

    for parameters in [String::new(), format!("deviceId={child}"), "status=PENDING".into()] {
        let page = admin.read(&format!("{OPERATIONS}?{parameters}")).await;
        let of_child =
            page["operations"].as_array().unwrap().iter().find(|o| o["deviceId"] == **child).unwrap();
        assert_eq!(of_child["deviceName"], "bus", "{parameters}");
        assert_eq!(of_child.get("deviceExternalIDs"), None, "{parameters}");
        assert_eq!(without(of_child, &["deviceName"]), fleet.operations[1]);
    }
    for parameters in [String::new(), "&status=PENDING".into(), format!("&deviceId={child}")] {
        let page = admin.read(&format!("{OPERATIONS}?agentId={agent}{parameters}")).await;
        let of_child =
            page["operations"].as_array().unwrap().iter().find(|o| o["deviceId"] == **child).unwrap();
        assert_eq!(
            (&of_child["deviceName"], &of_child["deviceExternalIDs"]),
            (&json!("bus"), &ids),
            "{parameters}"
        );
    }
    let page = admin.read(&format!("{OPERATIONS}?agentId={agent}&pageSize=1")).await;
    assert_eq!(
        page["operations"][0]["deviceExternalIDs"]["externalIds"],
        json!([]),
        "one without external ids"
    );
}

#[tokio::test]
async fn device_without_a_name_has_none_in_the_collection() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let agent = admin.create("/inventory/managedObjects", &json!({"com_platform_model_Agent": {}})).await;
    queue(&admin, agent["id"].as_str().unwrap()).await;

    let page = admin.read(OPERATIONS).await;

    assert_eq!(page["operations"][0].get("deviceName"), None);
}
