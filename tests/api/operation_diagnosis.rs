//! The reason why an operation is still PENDING: `GET /devicecontrol/operations/<id>/diagnosis`.

use crate::harness::prelude::*;

const OPERATIONS: &str = "/devicecontrol/operations";
const NOTIFICATIONS: &str = "/notification/operations";

/// The user of a device, who may create its object and listen for its operations.
async fn device_user(server: &TestServer, name: &str) -> Caller {
    let roles = ["ROLE_INVENTORY_CREATE", "ROLE_DEVICE_CONTROL_READ"];
    server.user_with(&format!("device_{name}"), &roles).await
}

/// Creates a new agent of this user and returns its id.
async fn agent_of(user: &Caller, more: Value) -> String {
    let mut body = json!({"name": "gateway", "plat_IsDevice": {}, "com_platform_model_Agent": {}});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    user.create("/inventory/managedObjects", &body).await["id"].as_str().unwrap().to_owned()
}

async fn restart_of(admin: &Caller, device: &str) -> String {
    let operation = admin.create(OPERATIONS, &json!({"deviceId": device, "plat_Restart": {}})).await;
    operation["id"].as_str().unwrap().to_owned()
}

async fn diagnosis(admin: &Caller, operation: &str) -> Value {
    admin.read(&format!("{OPERATIONS}/{operation}/diagnosis")).await
}

/// The words of the causes.
fn causes(diagnosis: &Value) -> Vec<&str> {
    diagnosis["causes"].as_array().unwrap().iter().map(|cause| cause["cause"].as_str().unwrap()).collect()
}

/// A session of the operations endpoint that listens to an agent's channel.
async fn listening(user: &Caller, agent: &str) -> Session {
    let session = user.session().await.on(NOTIFICATIONS);
    let reply = session.subscribe(&format!("/{agent}")).await;
    assert_eq!(reply["successful"], true, "{reply}");
    session
}

#[tokio::test]
async fn agent_that_was_never_connected_is_named() {
    let server = TestServer::shared().await;
    let (user, admin) = (device_user(&server, "gateway").await, server.admin());
    let agent = agent_of(&user, json!({})).await;
    let operation = restart_of(&admin, &agent).await;

    let found = diagnosis(&admin, &operation).await;

    let base = server.base();
    let link = format!("{base}{OPERATIONS}/{operation}");
    assert_eq!(
        found,
        json!({
            "self": format!("{link}/diagnosis"),
            "operation": link,
            "deviceId": agent,
            "status": "PENDING",
            "creationTime": admin.read(&format!("{OPERATIONS}/{operation}")).await["creationTime"],
            "agents": [{
                "self": format!("{base}/inventory/managedObjects/{agent}"),
                "id": agent,
                "name": "gateway",
                "connection": "DISCONNECTED",
                "subscribed": false,
            }],
            "causes": [{
                "cause": "AGENT_OFFLINE",
                "message": format!("Agent '{agent}' has never held a real-time connection"),
                "agentId": agent,
            }],
        })
    );
}

#[tokio::test]
async fn agent_that_left_is_offline_since_then() {
    let server = TestServer::shared().await;
    let (user, admin) = (device_user(&server, "gateway").await, server.admin());
    let agent = agent_of(&user, json!({})).await;
    let operation = restart_of(&admin, &agent).await;
    let session = user.listen(&format!("/operations/{agent}")).await;
    let held = session.hold().await;
    until("the connection", async || {
        diagnosis(&admin, &operation).await["agents"][0]["connection"] == "CONNECTED"
    })
    .await;

    session.ask("/meta/disconnect", json!({})).await;
    drop(held);

    let found = eventually("the end of the connection", async || {
        let found = diagnosis(&admin, &operation).await;
        (causes(&found) == ["AGENT_OFFLINE"]).then_some(found)
    })
    .await;
    assert_eq!(found["causes"][0]["since"], found["agents"][0]["disconnectedSince"]);
    assert!(found["causes"][0]["since"].as_str().unwrap() > found["creationTime"].as_str().unwrap());
}

#[tokio::test]
async fn agent_that_is_connected_and_does_not_listen_to_its_channel_is_named() {
    let server = TestServer::shared().await;
    let (user, admin) = (device_user(&server, "gateway").await, server.admin());
    let agent = agent_of(&user, json!({})).await;
    let operation = restart_of(&admin, &agent).await;

    let _held = user.listen(&format!("/operations/{agent}")).await.hold().await;

    until("the cause", async || causes(&diagnosis(&admin, &operation).await) == ["NOT_SUBSCRIBED"]).await;
}

#[tokio::test]
async fn agent_that_listens_is_waited_for() {
    let server = TestServer::shared().await;
    let (user, admin) = (device_user(&server, "gateway").await, server.admin());
    let agent = agent_of(&user, json!({})).await;
    let _held = listening(&user, &agent).await.hold().await;

    let operation = restart_of(&admin, &agent).await;

    let found = diagnosis(&admin, &operation).await;
    assert_eq!((causes(&found), &found["agents"][0]["subscribed"]), (vec!["AWAITING_AGENT"], &json!(true)));
}

#[tokio::test]
async fn agent_that_reports_no_result_is_named_with_its_connection() {
    let server = TestServer::shared().await;
    let (user, admin) = (device_user(&server, "gateway").await, server.admin());
    let agent = agent_of(&user, json!({})).await;
    let held = listening(&user, &agent).await.hold().await;
    let operation = restart_of(&admin, &agent).await;
    let path = format!("/devicecontrol/operations/{operation}");
    user.put(&path, &json!({"status": "EXECUTING"})).await.expect(200);
    assert_eq!(causes(&diagnosis(&admin, &operation).await), ["AWAITING_RESULT"]);

    held.abort();
    let session = admin.read("/tenant/sessions?user=device_gateway").await["sessions"][0]["id"].clone();
    admin.delete(&format!("/tenant/sessions/{}", session.as_str().unwrap())).await.expect(204);

    until("the cause", async || causes(&diagnosis(&admin, &operation).await) == ["AGENT_OFFLINE"]).await;
    user.put(&path, &json!({"status": "SUCCESSFUL"})).await.expect(200);
    assert_eq!(causes(&diagnosis(&admin, &operation).await), Vec::<&str>::new());
}

#[tokio::test]
async fn agent_that_listens_at_another_server_is_waited_for() {
    let [one, other] = TestServer::start_two().await;
    let agent = agent_of(&one.admin(), json!({})).await;
    let operation = restart_of(&one.admin(), &agent).await;
    for server in [&one, &other] {
        assert_eq!(causes(&diagnosis(&server.admin(), &operation).await), ["NOT_SUBSCRIBED"]);
    }

    let _held = listening(&other.admin(), &agent).await.hold().await;

    for server in [&one, &other] {
        let found = diagnosis(&server.admin(), &operation).await;
        let agent = &found["agents"][0];
        assert_eq!((causes(&found), &agent["subscribed"]), (vec!["AWAITING_AGENT"], &json!(true)), "{found}");
        assert!(found.get("missingServers").is_none(), "{found}");
    }
}

#[tokio::test]
async fn server_that_does_not_say_what_it_has_is_named() {
    let (server, admin) = TestServer::start().await.with_admin();
    let agent = agent_of(&admin, json!({})).await;
    let operation = restart_of(&admin, &agent).await;
    let silent = "INSERT INTO servers (slot, incarnation, name, version, address, state, started_at, leased_until, \
            ids_until, connections) \
        VALUES (250, 999999, 'silent', '1', 'http://nowhere', 'UP', now(), now() + interval '1 hour', 0, 1)";
    server.database().execute(silent, &[]).await;

    let found = diagnosis(&admin, &operation).await;

    let missing = &found["missingServers"];
    assert_eq!((causes(&found), missing), (vec!["NOT_SUBSCRIBED"], &json!(["silent"])), "{found}");
}

#[tokio::test]
async fn device_that_left_its_agent_has_none() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (agent, device) = (agent_of(&admin, json!({})).await, admin.create_device("pump").await);
    let children = format!("/inventory/managedObjects/{agent}/childDevices");
    admin.create(&children, &json!({"managedObject": {"id": device}})).await;
    let operation = restart_of(&admin, &device).await;

    assert_eq!(admin.delete(&format!("{children}/{device}")).await.status, 204);

    let found = diagnosis(&admin, &operation).await;
    assert_eq!((causes(&found), &found["agents"]), (vec!["NO_AGENT"], &json!([])));
}

#[tokio::test]
async fn device_that_does_not_list_what_is_asked_for_says_so() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let agent = agent_of(&admin, json!({"plat_SupportedOperations": ["plat_Command"]})).await;
    let _held = listening(&admin, &agent).await.hold().await;
    let unknown = json!({"deviceId": agent, "plat_Restart": {}, "plat_Relay": {}, "description": "x"});
    let known = json!({"deviceId": agent, "plat_Command": {"text": "ls"}, "plat_Extra": {}});

    let unknown = admin.create(OPERATIONS, &unknown).await;
    let known = admin.create(OPERATIONS, &known).await;

    let found = diagnosis(&admin, unknown["id"].as_str().unwrap()).await;
    assert_eq!(causes(&found), ["NOT_SUPPORTED"]);
    assert_eq!(found["causes"][0]["fragments"], json!(["plat_Restart", "plat_Relay"]));
    assert_eq!(causes(&diagnosis(&admin, known["id"].as_str().unwrap()).await), ["QUEUED_BEHIND"]);
}

#[tokio::test]
async fn older_open_operations_of_the_agent_are_counted_and_the_oldest_is_named() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (agent, device) = (agent_of(&admin, json!({})).await, admin.create_device("pump").await);
    let children = format!("/inventory/managedObjects/{agent}/childDevices");
    admin.create(&children, &json!({"managedObject": {"id": device}})).await;
    let _held = listening(&admin, &agent).await.hold().await;
    let done = restart_of(&admin, &agent).await;
    admin.put(&format!("{OPERATIONS}/{done}"), &json!({"status": "SUCCESSFUL"})).await;
    let oldest = restart_of(&admin, &device).await;
    admin.put(&format!("{OPERATIONS}/{oldest}"), &json!({"status": "EXECUTING"})).await;
    let (_second, operation) = (restart_of(&admin, &agent).await, restart_of(&admin, &device).await);
    let _later = restart_of(&admin, &agent).await;

    let found = diagnosis(&admin, &operation).await;

    let oldest = format!("{}{OPERATIONS}/{oldest}", server.base());
    let (count, first) = (&found["causes"][0]["operations"], &found["causes"][0]["oldest"]);
    assert_eq!((causes(&found), count, first), (vec!["QUEUED_BEHIND"], &json!(2), &json!(oldest)));
}

#[tokio::test]
async fn operation_that_has_ended_has_no_causes() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let agent = agent_of(&admin, json!({})).await;
    let operation = restart_of(&admin, &agent).await;
    admin.put(&format!("{OPERATIONS}/{operation}"), &json!({"status": "FAILED"})).await;

    let found = diagnosis(&admin, &operation).await;

    assert_eq!((&found["status"], &found["causes"]), (&json!("FAILED"), &json!([])));
}

#[tokio::test]
async fn unknown_operation_and_one_of_another_tenant_are_404() {
    let server = TestServer::start().await;
    let agent = agent_of(&server.admin(), json!({})).await;
    let operation = restart_of(&server.admin(), &agent).await;
    let stranger = server.caller("management/admin", crate::harness::ADMIN_PASSWORD);

    for (caller, id) in [(server.admin(), "99999999"), (server.admin(), "x"), (stranger, &*operation)] {
        caller
            .get(&format!("{OPERATIONS}/{id}/diagnosis"))
            .await
            .expect_error(404, "devicecontrol/Not Found");
    }
}
