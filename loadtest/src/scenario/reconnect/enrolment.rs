//! The devices before they connect: managed objects, and users if the server has any.

use std::sync::Arc;

use super::certificates::Authority;
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
    /// The authority of their certificates, if they have any.
    authority: Option<Authority>,
}

impl Enrolment {
    /// Registers the devices; without users it only creates their managed objects.
    ///
    /// # Errors
    /// The server rejects one of them.
    pub(super) async fn of(target: &Arc<Target>, settings: &Reconnect) -> Result<Self, Error> {
        let count = settings.devices as usize;
        if settings.without_users {
            let ids = devices::create(target, count).await?;
            return Ok(Self { ids, fleet: None, authority: None });
        }
        let fleet = Fleet::register(target, Rows { devices: count, agents: count, group: None }).await?;
        let authority = match settings.certificates {
            true => Some(Authority::trusted(target).await?),
            false => None,
        };
        Ok(Self { ids: fleet.ids(target).await?, fleet: Some(fleet), authority })
    }

    /// Returns the devices, each with its own credentials, which are invented if it has no user.
    ///
    /// # Errors
    /// Devices have certificates, and the target is not encrypted.
    pub(super) fn reconnecting(&self, admin: &Target) -> Result<Vec<Arc<ReconnectingDevice>>, Error> {
        let target = |number| match (&self.fleet, &self.authority) {
            (Some(fleet), Some(authority)) => authority.target(admin, &fleet.serial(number)),
            (Some(fleet), None) => Ok(fleet.target(admin, number)),
            (None, _) => {
                Ok(admin.with_user(&format!("main/device_{number}"), &random::text(PASSWORD_LENGTH)))
            }
        };
        let device = |(number, id): (usize, &String)| {
            Ok(Arc::new(ReconnectingDevice { id: id.clone(), target: target(number)? }))
        };
        self.ids.iter().enumerate().map(device).collect()
    }

    /// Removes the devices and their users unless `--keep` is set; returns how many could not be removed.
    pub(super) async fn remove(self, bench: &Bench) -> usize {
        if let Some(authority) = &self.authority
            && let Err(error) = authority.remove(&bench.target).await
        {
            eprintln!("{error}");
        }
        match self.fleet {
            Some(fleet) => bench.remove_fleet(&fleet, &self.ids).await,
            None => bench.remove_devices(self.ids).await,
        }
    }
}
