//! Operations (docs/rules.md#operations; O-01 to O-10, B-04).

mod delete;
mod filters;
mod hostile;
mod inner_agents;
mod limited;
mod modes;
mod moves;
mod notifications;
mod order;
mod paging;
mod queue;
mod races;
mod roles;
mod several_servers;
mod update;

use serde_json::{Value, json};

use crate::harness::{Caller, Session};

/// The collection.
pub(crate) const OPERATIONS: &str = "/devicecontrol/operations";
/// The endpoint of agents' channels.
pub(crate) const AGENTS: &str = "/notification/operations";

/// A new device that runs an agent; gives its id.
pub(crate) async fn create_agent(caller: &Caller, name: &str) -> String {
    let agent = json!({"name": name, "plat_IsDevice": {}, "com_platform_model_Agent": {}});
    let agent = caller.create("/inventory/managedObjects", &agent).await;
    agent["id"].as_str().unwrap().to_owned()
}

/// Puts a device below another by childDevices.
pub(crate) async fn place_below(caller: &Caller, parent: &str, device: &str) {
    let path = format!("/inventory/managedObjects/{parent}/childDevices");
    let answer = caller.post(&path, &json!({"managedObject": {"id": device}})).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

/// Takes a device off another.
async fn take_off(caller: &Caller, parent: &str, device: &str) {
    let path = format!("/inventory/managedObjects/{parent}/childDevices/{device}");
    assert_eq!(caller.delete(&path).await.status, 204);
}

/// A new device below another by childDevices; gives its id.
pub(crate) async fn create_below(caller: &Caller, parent: &str, name: &str) -> String {
    let device = caller.create_device(name).await;
    place_below(caller, parent, &device).await;
    device
}

/// A new operation to restart a device; gives it.
pub(crate) async fn queue(caller: &Caller, device: &str) -> Value {
    caller.create(OPERATIONS, &json!({"deviceId": device, "plat_Restart": {}})).await
}

/// PUT of a change of an operation, which must be accepted; gives the operation.
pub(crate) async fn change(caller: &Caller, operation: &Value, change: Value) -> Value {
    let answer = caller.put(&path_of(operation), &change).await;
    assert_eq!(answer.status, 200, "{change}: {}", answer.text);
    answer.json()
}

/// The path of an operation, on whatever server it was made.
fn path_of(operation: &Value) -> String {
    format!("{OPERATIONS}/{}", id_of(operation))
}

fn id_of(operation: &Value) -> &str {
    operation["id"].as_str().unwrap_or_else(|| panic!("no id in {operation}"))
}

/// Ids of a page with these parameters, in order.
async fn found(caller: &Caller, parameters: &str) -> Vec<String> {
    let page = caller.read(&format!("{OPERATIONS}?pageSize=100&{parameters}")).await;
    page["operations"].as_array().unwrap().iter().map(|operation| id_of(operation).to_owned()).collect()
}

/// A session that listens as an agent.
pub(crate) async fn listen_as(caller: &Caller, agent: &str) -> Session {
    let session = caller.session().await.on(AGENTS);
    let reply = session.subscribe(&format!("/{agent}")).await;
    assert_eq!(reply["successful"], true, "{reply}");
    session
}
