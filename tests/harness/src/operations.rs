//! Operations, for tests of several nouns.

use serde_json::{Value, json};

use super::Caller;

/// The collection.
pub const OPERATIONS: &str = "/devicecontrol/operations";
/// The endpoint of agents' channels.
pub const AGENTS: &str = "/notification/operations";

/// Creates a new device that runs an agent and returns its id.
pub async fn create_agent(caller: &Caller, name: &str) -> String {
    let agent = json!({"name": name, "plat_IsDevice": {}, "com_platform_model_Agent": {}});
    let agent = caller.create("/inventory/managedObjects", &agent).await;
    agent["id"].as_str().unwrap().to_owned()
}

/// Puts a device below another by childDevices.
pub async fn place_below(caller: &Caller, parent: &str, device: &str) {
    let path = format!("/inventory/managedObjects/{parent}/childDevices");
    let answer = caller.post(&path, &json!({"managedObject": {"id": device}})).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

/// Creates a new device below another by childDevices and returns its id.
pub async fn create_below(caller: &Caller, parent: &str, name: &str) -> String {
    let device = caller.create_device(name).await;
    place_below(caller, parent, &device).await;
    device
}

/// Creates a new operation to restart a device and returns it.
pub async fn queue(caller: &Caller, device: &str) -> Value {
    caller.create(OPERATIONS, &json!({"deviceId": device, "plat_Restart": {}})).await
}

/// Changes an operation by PUT, which must succeed, and returns the operation.
pub async fn change(caller: &Caller, operation: &Value, change: Value) -> Value {
    let answer = caller.put(&path_of(operation), &change).await;
    assert_eq!(answer.status, 200, "{change}: {}", answer.text);
    answer.json()
}

/// Returns the path of an operation, without the server that created it.
pub fn path_of(operation: &Value) -> String {
    format!("{OPERATIONS}/{}", id_of(operation))
}

pub fn id_of(operation: &Value) -> &str {
    operation["id"].as_str().unwrap_or_else(|| panic!("no id in {operation}"))
}
