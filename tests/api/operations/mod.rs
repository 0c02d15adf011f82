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

use crate::harness::operations::{
    AGENTS, OPERATIONS, change, create_agent, create_below, id_of, path_of, place_below, queue,
};
use crate::harness::prelude::*;

/// Takes a device off another.
async fn take_off(caller: &Caller, parent: &str, device: &str) {
    let path = format!("/inventory/managedObjects/{parent}/childDevices/{device}");
    assert_eq!(caller.delete(&path).await.status, 204);
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
