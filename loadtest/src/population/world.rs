//! Creates the tenants, the registered devices with users of their own, and the template sets before the first phase.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::plan::{Group, Plan, Transport};
use crate::devices;
use crate::devices::fleet_registration::{Fleet, Rows};
use crate::devices::random;
use crate::error::Error;
use crate::protocol::csv::template_set::{self, TemplateSet};
use crate::target::Target;

const TENANTS: &str = "/tenant/tenants";
/// The administrator of a tenant that the run creates.
const ADMINISTRATOR: &str = "loadtest";
const PASSWORD_LENGTH: usize = 20;

/// The credentials of a user.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Login {
    pub(super) user: String,
    password: String,
}

impl Login {
    /// Returns a server, accessed as this user.
    pub(super) fn at(&self, target: &Target) -> Target {
        target.with_user(&self.user, &self.password)
    }
}

/// A device.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Device {
    /// The id of its managed object.
    pub(super) id: String,
    pub(super) login: Login,
    /// Its external id, which is also its name.
    pub(super) serial: String,
    pub(super) transport: Transport,
    pub(super) home: Home,
}

/// The index of a tenant: that of `--user`, or one that was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Home(usize);

impl Home {
    pub(super) fn index(self) -> usize {
        self.0
    }
}

/// A tenant with its devices, whose numbers are consecutive.
#[derive(Debug, Serialize, Deserialize)]
struct Place {
    administrator: Login,
    devices: Range<u32>,
    /// The X-Ids of the template sets of rows and of the objects that devices receive; empty if no device uses CSV.
    x_ids: [String; 2],
    #[serde(skip)]
    created: Created,
}

/// The objects that were created in a tenant, which the run removes at the end.
#[derive(Debug, Default)]
struct Created {
    /// The id, if the tenant itself was created.
    tenant: Option<String>,
    fleets: Vec<(Fleet, Vec<String>)>,
    /// The fleet whose registration has begun and not ended.
    unfinished: Option<Fleet>,
    sets: Vec<TemplateSet>,
}

/// All tenants and devices of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct World {
    places: Vec<Place>,
    pub(super) devices: Vec<Device>,
    /// The devices of each group.
    pub(super) groups: Vec<Range<u32>>,
}

impl World {
    /// Creates the tenants and registers the devices. `user` belongs to the tenant without a name, or is the user who
    /// creates tenants.
    ///
    /// # Errors
    /// The server rejects a step. [`Self::remove`] removes what was created before, also if this future is dropped.
    pub(super) async fn build(
        &mut self,
        target: &Arc<Target>,
        plan: &Plan,
        user: &str,
        password: &str,
    ) -> Result<(), Error> {
        let own = Login { user: user.to_owned(), password: password.to_owned() };
        self.groups = vec![0..0; plan.groups.len()];
        let names: Vec<Option<&String>> =
            if plan.tenants.is_empty() { vec![None] } else { plan.tenants.iter().map(Some).collect() };
        for (tenant, name) in names.into_iter().enumerate() {
            let place = match name {
                Some(name) => create_tenant(target, name).await?,
                None => Place::of(None, own.clone()),
            };
            self.places.push(place);
            for (number, group) in plan.groups.iter().enumerate() {
                if group.tenant.unwrap_or_default() == tenant {
                    self.register(target, tenant, number, group).await?;
                }
            }
        }
        Ok(())
    }

    async fn register(
        &mut self,
        target: &Target,
        tenant: usize,
        number: usize,
        group: &Group,
    ) -> Result<(), Error> {
        let place = &mut self.places[tenant];
        let target = Arc::new(place.administrator.at(target));
        let count = group.count as usize;
        let fleet = Fleet::new(&target, count).await?;
        // A registration that is interrupted has created devices, too.
        place.created.unfinished = Some(fleet.clone());
        fleet.register_all(&target, Rows { devices: count, agents: count, group: None }).await?;
        let ids = fleet.ids(&target).await?;
        if place.created.sets.is_empty() && group.transports.contains(&Transport::CsvPoll) {
            let objects = format!("{}-objects", fleet.name());
            let rows = TemplateSet::register(&target, fleet.name(), template_set::rows()).await?;
            place.x_ids[0] = rows.x_id.clone();
            place.created.sets.push(rows);
            let objects = TemplateSet::register(&target, &objects, template_set::objects()).await?;
            place.x_ids[1] = objects.x_id.clone();
            place.created.sets.push(objects);
        }
        let first = self.devices.len() as u32;
        let transports = group.transports.iter().copied().cycle();
        self.devices.extend(ids.iter().enumerate().zip(transports).map(|((device, id), transport)| {
            let (user, password) = fleet.login(device);
            let login = Login { user, password };
            let serial = fleet.serial(device);
            Device { id: id.clone(), login, serial, transport, home: Home(tenant) }
        }));
        let last = self.devices.len() as u32;
        self.groups[number] = first..last;
        place.devices = if place.devices.is_empty() { first..last } else { place.devices.start..last };
        place.created.fleets.push((fleet, ids));
        place.created.unfinished = None;
        Ok(())
    }

    /// Returns the tenant of a group or of dashboards.
    pub(super) fn home(&self, tenant: Option<usize>) -> Home {
        Home(tenant.unwrap_or_default())
    }

    /// Returns all tenants.
    pub(super) fn homes(&self) -> impl Iterator<Item = Home> + use<> {
        (0..self.places.len()).map(Home)
    }

    /// Returns the administrator of a tenant.
    pub(super) fn administrator(&self, home: Home) -> &Login {
        &self.places[home.0].administrator
    }

    /// Returns the devices of a tenant.
    pub(super) fn devices_of(&self, home: Home) -> Range<u32> {
        self.places[home.0].devices.clone()
    }

    /// Returns the X-Ids of a tenant's template sets, for rows and for received objects; they are empty if no device of
    /// the tenant uses CSV.
    pub(super) fn x_ids(&self, home: Home) -> &[String; 2] {
        &self.places[home.0].x_ids
    }

    /// Removes the devices with their users, the template sets and the tenants. Returns how many were removed and how
    /// many could not be removed. `target` is the server and user that created them.
    pub(super) async fn remove(&self, target: &Arc<Target>) -> (usize, usize) {
        let (mut all, mut left) = (0, 0);
        for Place { administrator, created, .. } in &self.places {
            if let Some(id) = &created.tenant {
                all += 1;
                let request = target.delete(&format!("{TENANTS}/{id}"));
                left += devices::send_all(target, "removing tenants", vec![request], 204).await;
                continue;
            }
            let target = Arc::new(administrator.at(target));
            for (fleet, ids) in &created.fleets {
                all += ids.len() + fleet.len();
                left += fleet.remove(&target, ids).await;
            }
            for set in &created.sets {
                all += 1;
                left += set.remove(&target).await;
            }
            if let Some(fleet) = &created.unfinished {
                let (removed, remaining) = fleet.remove_found(&target).await;
                all += removed + remaining;
                left += remaining;
            }
        }
        (all.saturating_sub(left), left)
    }
}

impl Place {
    fn of(tenant: Option<String>, administrator: Login) -> Self {
        let created = Created { tenant, ..Created::default() };
        Self { administrator, devices: 0..0, x_ids: Default::default(), created }
    }
}

async fn create_tenant(target: &Target, name: &str) -> Result<Place, Error> {
    let id = format!("{name}-{}", random::text(6).to_lowercase());
    let password = random::text(PASSWORD_LENGTH);
    let body = json!({"id": id, "domain": format!("{id}.example.com"), "company": name,
        "adminName": ADMINISTRATOR, "adminPass": password, "adminEmail": "loadtest@example.com"});
    let request = target.post(TENANTS, &body.to_string());
    target.connect().await?.expect(201, "creating a tenant", &request).await?;
    Ok(Place::of(Some(id.clone()), Login { user: format!("{id}/{ADMINISTRATOR}"), password }))
}
