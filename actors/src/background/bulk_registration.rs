//! The registration of the devices in a file, many rows at a time, with notifications (N-12 to N-17).
//!
//! Rows that are stored stay stored, whatever happens to later rows. If the server or its client stops in the middle,
//! the file can be sent again; devices that exist already then get their password once more (N-13).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use platform_model::access::{Authority, Grants};
use platform_model::devices::availability::is_device;
use platform_model::devices::bulk_registration::{NewDevice, NewRequest};
use platform_model::devices::reference::WantedReferences;
use platform_model::error::{Error, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::links::Links;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::Publication;

use crate::platform::Platform;
use crate::writes::Cause;

pub use platform_store::devices::bulk::registration::Registered;
use platform_store::devices::bulk::registration::{
    Batch, DeviceRow, Memory, ObjectRow, Registrar, register_devices,
};
use platform_store::devices::bulk::requests::register_requests;
use platform_store::devices::inventory::managed_objects::get_managed_object;
use platform_store::devices::users::DeviceUser;

/// The most groups of one file for which UPDATE is published.
const NOTIFIED_GROUPS: usize = 1000;

/// The caller who uploaded the file.
#[derive(Debug, Clone)]
pub struct Uploader {
    /// The tenant of the caller.
    pub tenant: TenantId,
    /// The name of the caller, who owns the groups that are created.
    pub user: Arc<str>,
    /// The objects of the tenant's inventory that the caller may read.
    pub sees: Authority,
    /// The address of the request; links in notifications start with it.
    pub links: Links,
}

/// A device with the hash of its password, if it has one.
#[derive(Debug)]
pub struct HashedDevice {
    /// The device that the row describes.
    pub device: NewDevice,
    /// The tagged hash of the password; `None` for a device that logs in with a certificate (N-12b).
    pub password_hash: Option<String>,
}

/// The registration of one file.
pub struct BulkRegistration {
    platform: Arc<Platform>,
    uploader: Uploader,
    memory: Memory,
    changed_groups: BTreeMap<TenantId, HashSet<ManagedObjectId>>,
}

impl BulkRegistration {
    /// Creates a registration without rows.
    pub fn new(platform: Arc<Platform>, uploader: Uploader) -> Self {
        Self { platform, uploader, memory: Memory::default(), changed_groups: BTreeMap::new() }
    }

    /// Registers the devices of some rows in one transaction per tenant and returns the result of each row, in order.
    /// Publishes CREATE of every new managed object with the commit.
    ///
    /// # Errors
    /// `DiskFull`, `Unavailable`, `Contended`, `Timeout` or `Database`; some of the rows may be stored then.
    pub async fn register(&mut self, devices: Vec<HashedDevice>) -> Result<Vec<Registered>> {
        self.platform.database().ensure_room()?;
        let count = devices.len();
        let mut of_tenant: BTreeMap<TenantId, (Vec<usize>, Vec<DeviceRow>)> = BTreeMap::new();
        for (at, device) in devices.into_iter().enumerate() {
            let (places, rows) = of_tenant.entry(device.device.tenant.clone()).or_default();
            places.push(at);
            rows.push(self.row(device)?);
        }
        let mut outcomes = vec![Registered::Created; count];
        for (tenant, (places, rows)) in of_tenant {
            let registered = self.register_in(&tenant, &rows).await?;
            places.into_iter().zip(registered).for_each(|(at, outcome)| outcomes[at] = outcome);
        }
        Ok(outcomes)
    }

    /// Creates registration requests for some rows in the caller's tenant in one transaction, and returns the result
    /// of each row, in order (N-11). Publishes CREATE of every new group.
    ///
    /// # Errors
    /// The errors of [`BulkRegistration::register`].
    pub async fn request(&mut self, requests: Vec<NewRequest>) -> Result<Vec<Registered>> {
        self.platform.database().ensure_room()?;
        let tenant = self.uploader.tenant.clone();
        match Box::pin(self.request_together(&tenant, &requests)).await {
            Err(error) if error.blames_row() => {}
            outcome => return outcome,
        }
        let mut outcomes = Vec::with_capacity(requests.len());
        for request in &requests {
            let alone = std::slice::from_ref(request);
            outcomes.extend(one_alone(Box::pin(self.request_together(&tenant, alone)).await)?);
        }
        Ok(outcomes)
    }

    async fn request_together(&mut self, tenant: &TenantId, rows: &[NewRequest]) -> Result<Vec<Registered>> {
        let registrar = self.registrar(tenant);
        let (database, pool) = (self.platform.database(), self.platform.registrations());
        let ids = self.platform.ids();
        let batch =
            register_requests(database, pool, tenant, &registrar, ids, rows, &mut self.memory).await?;
        Ok(self.note(tenant, batch))
    }

    fn row(&self, HashedDevice { device, password_hash }: HashedDevice) -> Result<DeviceRow> {
        let object = device.object.map(|new| {
            let id = ManagedObjectId(self.platform.next_id()?);
            let object = Arc::new(new.object.created(Some(id), &device.user));
            Ok::<_, Error>(ObjectRow { id, object, external_ids: new.external_ids, path: new.path })
        });
        let user = DeviceUser { tenant: device.tenant, name: device.user, password_hash };
        Ok(DeviceRow { user, object: object.transpose()? })
    }

    /// Registers all rows in one transaction, or one after the other if a constraint rejects the transaction.
    async fn register_in(&mut self, tenant: &TenantId, rows: &[DeviceRow]) -> Result<Vec<Registered>> {
        match Box::pin(self.register_together(tenant, rows)).await {
            Err(error) if error.blames_row() => {}
            outcome => return outcome,
        }
        let mut outcomes = Vec::with_capacity(rows.len());
        for row in rows {
            let alone = std::slice::from_ref(row);
            outcomes.extend(one_alone(Box::pin(self.register_together(tenant, alone)).await)?);
        }
        Ok(outcomes)
    }

    async fn register_together(&mut self, tenant: &TenantId, rows: &[DeviceRow]) -> Result<Vec<Registered>> {
        let registrar = self.registrar(tenant);
        let (database, pool) = (self.platform.database(), self.platform.registrations());
        let ids = self.platform.ids();
        database.ensure_stored_quota(tenant)?;
        let objects = rows.iter().filter_map(|row| row.object.as_ref()).map(|row| &row.object);
        let devices: Vec<_> = objects.filter(|object| is_device(&object.fragments)).collect();
        if let Some(first) = devices.first() {
            database.recount_devices(tenant, &first.fragments).await;
        }
        database.tenant_limits().of(tenant).admit_devices(devices.len())?;
        let batch = register_devices(database, pool, tenant, &registrar, ids, rows, &mut self.memory).await?;
        Ok(self.note(tenant, batch))
    }

    /// Notes which groups a transaction changed, and returns the results of its rows.
    fn note(&mut self, tenant: &TenantId, batch: Batch) -> Vec<Registered> {
        let target = self.platform.tenant(tenant);
        let (context, cause) = (target.context(), Cause::persistent(&self.uploader.links));
        if context.has_receivers_for_changed_objects(&cause) {
            let changed = self.changed_groups.entry(tenant.clone()).or_default();
            let room = NOTIFIED_GROUPS.saturating_sub(changed.len());
            changed.extend(batch.changed_groups.into_iter().take(room));
        }
        batch.rows
    }

    /// Returns how the caller acts in a tenant. In another tenant the name has the caller's tenant as prefix, as when
    /// logging in. Without a role the caller sees only what it created there, because device permissions apply to
    /// objects of the caller's own tenant.
    fn registrar(&self, tenant: &TenantId) -> Registrar {
        let Uploader { tenant: own, user, sees, links } = &self.uploader;
        let cause = Cause::persistent(links);
        if own == tenant {
            return Registrar { user: user.to_string(), sees: sees.clone(), cause };
        }
        let sees = match sees {
            Authority::Role => Authority::Role,
            Authority::Limited(_) => Authority::Limited(Grants::default()),
        };
        Registrar { user: format!("{own}/{user}"), sees, cause }
    }

    /// Ends the registration. Publishes UPDATE once for each group whose children changed, because the references of
    /// a growing group are long. Publishes nothing if no session would receive it, or if the registration is dropped
    /// without this call.
    pub async fn finish(self) {
        for (tenant, groups) in self.changed_groups {
            for id in groups {
                let database = self.platform.database();
                // A deleted group has its own notification, and nothing can be published while the database is
                // unreachable.
                if let Ok(group) =
                    get_managed_object(database, &tenant, id, WantedReferences::default()).await
                {
                    let cause = Cause::persistent(&self.uploader.links);
                    let change = PublishedChange::ManagedObjectUpdated(Arc::new(group));
                    let publication = Publication::Change { source: id, change, cause };
                    if let Err(error) = database.publish_stored(&tenant, vec![publication]).await {
                        tracing::warn!(%error, tenant.id = %tenant, group = %id,
                            "a group that grew is not published");
                    }
                }
            }
        }
    }
}

/// Returns the result of a row that was tried alone.
///
/// # Errors
/// Errors that the row did not cause.
fn one_alone(outcome: Result<Vec<Registered>>) -> Result<Vec<Registered>> {
    let reason = match outcome {
        Err(Error::Invalid(reason)) => reason,
        Err(error @ Error::QuotaExceeded { .. }) => error.to_string(),
        Err(Error::Duplicate { .. }) => {
            "Duplicate ID: a registration request was made at the same moment".into()
        }
        Err(error) if error.is_unique_violation() => {
            "Duplicate external id: another object got it at the same moment".into()
        }
        outcome => return outcome,
    };
    Ok(vec![Registered::Failed(reason)])
}
