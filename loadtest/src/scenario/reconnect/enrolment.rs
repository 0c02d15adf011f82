//! The devices before they come: managed objects, and users where the server knows any.

use std::sync::Arc;

use super::storm::Comer;
use crate::cli::Reconnect;
use crate::devices;
use crate::error::Error;
use crate::fleet_registration::{Fleet, Rows};
use crate::random;
use crate::scenario::Bench;
use crate::target::Target;

/// As long as the password of a registered device, so that the requests weigh the same.
const PASSWORD_LENGTH: usize = 20;

/// The devices of a run.
#[derive(Debug)]
pub(super) struct Enrolment {
    ids: Vec<String>,
    /// `None` where devices have no users.
    fleet: Option<Fleet>,
}

impl Enrolment {
    /// Registers the devices; without users it only makes their managed objects.
    ///
    /// # Errors
    /// The server refuses one of them.
    pub(super) async fn of(target: &Arc<Target>, settings: &Reconnect) -> Result<Self, Error> {
        let count = settings.devices as usize;
        if settings.without_users {
            return Ok(Self { ids: devices::create(target, count).await?, fleet: None });
        }
        let fleet = Fleet::register(target, Rows { devices: count, agents: count, group: None }).await?;
        Ok(Self { ids: fleet.ids(target).await?, fleet: Some(fleet) })
    }

    /// Each with credentials of its own, made up where it has no user.
    pub(super) fn comers(&self, admin: &Target) -> Vec<Arc<Comer>> {
        let target = |number| match &self.fleet {
            Some(fleet) => fleet.target(admin, number),
            None => admin.with_user(&format!("main/device_{number}"), &random::text(PASSWORD_LENGTH)),
        };
        let comer =
            |(number, id): (usize, &String)| Arc::new(Comer { id: id.clone(), target: target(number) });
        self.ids.iter().enumerate().map(comer).collect()
    }

    /// Removes the devices and their users unless they are to stay; returns how many are left against the wish.
    pub(super) async fn remove(self, bench: &Bench) -> usize {
        match self.fleet {
            Some(fleet) => bench.remove_fleet(&fleet, &self.ids).await,
            None => bench.remove_devices(self.ids).await,
        }
    }
}
