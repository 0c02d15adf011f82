//! The group of a bulk operation.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::agents::Agent;
use crate::cli::Bulk;
use crate::devices;
use crate::devices::fleet_registration::{Fleet, Rows};
use crate::devices::random;
use crate::error::Error;
use crate::target::Target;

const OBJECTS: &str = "/inventory/managedObjects";

/// A group of devices.
#[derive(Debug)]
pub(super) struct Group {
    /// The id of its managed object.
    pub(super) id: String,
    /// The managed objects of its devices; agents come first.
    pub(super) devices: Vec<String>,
    /// The number of agents; the other devices are children of these, in turn.
    pub(super) agents: usize,
    fleet: Fleet,
}

impl Group {
    /// Creates the group, and registers its devices by one file.
    ///
    /// # Errors
    /// The server rejects a step.
    pub(super) async fn make(target: &Arc<Target>, settings: &Bulk) -> Result<Self, Error> {
        let count = settings.devices as usize;
        let agents = settings.agents.map_or(count, |agents| count.min(agents as usize));
        let name = format!("loadtest {}", random::text(10));
        let id = make(target, &name).await?;
        let rows = Rows { devices: count, agents, group: Some(&name) };
        let fleet = Fleet::register(target, rows).await?;
        let devices = fleet.ids(target).await?;
        let links = (agents..count).map(|child| {
            let path = format!("{OBJECTS}/{}/childDevices", devices[child % agents]);
            target.post(&path, &json!({"managedObject": {"id": devices[child]}}).to_string())
        });
        match devices::send_all(target, "linking devices to agents", links.collect(), 201).await {
            0 => Ok(Self { id, devices, agents, fleet }),
            left => Err(Error::Refused(format!("{left} devices could not be linked to their agents"))),
        }
    }

    /// Returns the agent of each device.
    pub(super) fn agent_of_each(&self) -> HashMap<String, u32> {
        self.devices.iter().cloned().zip((0..self.agents as u32).cycle()).collect()
    }

    /// Returns the agents, not yet connected.
    pub(super) fn seats(&self, admin: &Target) -> Vec<Agent> {
        let agent = |number: usize| Agent {
            number: number as u32,
            id: self.devices[number].clone(),
            target: self.fleet.target(admin, number),
        };
        (0..self.agents).map(agent).collect()
    }

    /// Removes the group, its devices and their users; returns how many are left.
    pub(super) async fn remove(self, target: &Arc<Target>) -> usize {
        let group = vec![target.delete(&format!("{OBJECTS}/{}", self.id))];
        let left = devices::send_all(target, "removing the group", group, 204).await;
        left + self.fleet.remove(target, &self.devices).await
    }
}

/// Creates an empty group; returns its id.
async fn make(target: &Target, name: &str) -> Result<String, Error> {
    let body = json!({"name": name, "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}}).to_string();
    target.connect().await?.created("making the group", &target.post(OBJECTS, &body)).await
}
