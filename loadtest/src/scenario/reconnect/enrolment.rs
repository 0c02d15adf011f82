//! The devices before they connect: managed objects, and users if the server has any.

use std::sync::Arc;

use super::storm::ReconnectingDevice;
use crate::cli::Reconnect;
use crate::devices;
use crate::devices::fleet_registration::{Fleet, Rows};
use crate::devices::random;
use crate::error::Error;
use crate::scenario::Bench;
use crate::target::Target;

/// The length of a registered device's password, so that the requests have the same size.
const PASSWORD_LENGTH: usize = 20;

/// The devices of a run.
#[derive(Debug)]
pub(super) struct Enrolment {
    ids: Vec<String>,
    /// `None` if devices have no users.
    fleet: Option<Fleet>,
}

impl Enrolment {
    /// Registers the devices; without users it only creates their managed objects.
    ///
    /// # Errors
    /// The server rejects one of them.
    pub(super) async fn of(target: &Arc<Target>, settings: &Reconnect) -> Result<Self, Error> {
        let count = settings.devices as usize;
        if settings.without_users {
            return Ok(Self { ids: devices::create(target, count).await?, fleet: None });
        }
        let fleet = Fleet::register(target, Rows { devices: count, agents: count, group: None }).await?;
        Ok(Self { ids: fleet.ids(target).await?, fleet: Some(fleet) })
    }

    /// Returns the devices, each with its own credentials, which are invented if it has no user.
    pub(super) fn reconnecting(&self, admin: &Target) -> Vec<Arc<ReconnectingDevice>> {
        let target = |number| match &self.fleet {
            Some(fleet) => fleet.target(admin, number),
            None => admin.with_user(&format!("main/device_{number}"), &random::text(PASSWORD_LENGTH)),
        };
        let device = |(number, id): (usize, &String)| {
            Arc::new(ReconnectingDevice { id: id.clone(), target: target(number) })
        };
        self.ids.iter().enumerate().map(device).collect()
    }

    /// Removes the devices and their users unless `--keep` is set; returns how many could not be removed.
    pub(super) async fn remove(self, bench: &Bench) -> usize {
        match self.fleet {
            Some(fleet) => bench.remove_fleet(&fleet, &self.ids).await,
            None => bench.remove_devices(self.ids).await,
        }
    }
}
