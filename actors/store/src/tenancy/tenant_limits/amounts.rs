//! Quotas on the content of the database: devices and bytes. A check reads memory only.
//!
//! Devices are counted in the database, at most once a second and only for tenants with such a quota that create
//! devices; in between they are counted in memory. With several servers, the count is at most a second old whenever a
//! device is created. So servers that create devices in the same second exceed the quota by at most what was left, once
//! for each server beside the first. Bytes are the last measured ones, so a tenant may exceed its quota until the next
//! measurement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use platform_model::data::audit_record::AttributeChange;
use platform_model::devices::availability::is_device;
use platform_model::error::{Error, Result};
use platform_model::fragments::Fragments;
use platform_model::id::TenantId;
use platform_model::naming::naming;
use platform_model::tenancy::tenant::TenantLimit;

use super::of_tenant::{TenantLimits, within};
use crate::Database;
use crate::write_kind::Added;

const LIST_STORED: &str = include_str!("../../../../../sql/queries/tenant_limits/list_stored.sql");
const COUNT_DEVICES: &str = include_str!("../../../../../sql/queries/tenant_limits/count_devices.sql");

/// The bytes by which an update may grow although the quota of the tenant is used up.
const FREE_GROWTH: usize = 64 << 10;

/// The longest age of a count of devices when one is created and other servers may create some, too.
const COUNT_AGE: Duration = Duration::from_secs(1);

/// The devices and bytes of a tenant in the database, as far as this server knows.
#[derive(Debug)]
pub(super) struct Amounts {
    devices: AtomicI64,
    /// Whether the devices have to be counted again.
    is_outdated: AtomicBool,
    /// The number of admissions of devices, and its value at the last count.
    admissions: AtomicU64,
    counted_at: AtomicU64,
    /// The time of the last count. The lock makes counts run one after the other.
    counted: tokio::sync::Mutex<Option<Instant>>,
    /// The last measured bytes; negative before the first measurement.
    stored: AtomicI64,
}

impl Default for Amounts {
    fn default() -> Self {
        Self {
            devices: AtomicI64::new(0),
            is_outdated: AtomicBool::new(true),
            admissions: AtomicU64::new(0),
            counted_at: AtomicU64::new(0),
            counted: tokio::sync::Mutex::default(),
            stored: AtomicI64::new(-1),
        }
    }
}

impl Amounts {
    /// Replaces the number of devices by the count in the database after this many admissions. Devices that were
    /// admitted since the previous count may not be committed yet, so in this case the number is not lowered until
    /// the next count.
    fn correct(&self, counted: i64, admissions: u64) {
        let nothing_is_on_its_way = self.counted_at.swap(admissions, Ordering::Relaxed) == admissions
            && self.admissions.load(Ordering::Relaxed) == admissions;
        if nothing_is_on_its_way {
            self.devices.store(counted, Ordering::Relaxed);
        } else {
            self.devices.fetch_max(counted, Ordering::Relaxed);
            self.is_outdated.store(true, Ordering::Relaxed);
        }
    }
}

impl TenantLimits {
    /// Counts new devices, if the quota of the tenant permits them.
    ///
    /// # Errors
    /// `QuotaExceeded`.
    pub fn admit_devices(&self, more: usize) -> Result<()> {
        let Some(allowed) = self.value(TenantLimit::Devices) else { return Ok(()) };
        let amounts = self.amounts();
        amounts.is_outdated.store(true, Ordering::Relaxed);
        let with_more = |used: i64| {
            let total = used.max(0).saturating_add_unsigned(more as u64);
            (total.unsigned_abs() <= allowed).then_some(total)
        };
        let admitted = amounts.devices.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_more);
        amounts.admissions.fetch_add(u64::from(admitted.is_ok()), Ordering::Relaxed);
        admitted.map(drop).map_err(|used| {
            let name = TenantLimit::Devices.as_str();
            Error::QuotaExceeded { name, allowed, used: used.max(0).unsigned_abs() }
        })
    }

    /// Checks whether the quota of the tenant permits more data.
    ///
    /// # Errors
    /// `QuotaExceeded`.
    pub fn check_stored(&self) -> Result<()> {
        match (self.value(TenantLimit::StoredBytes), self.stored()) {
            (Some(allowed), Some(used)) => within(TenantLimit::StoredBytes, allowed, used),
            _ => Ok(()),
        }
    }

    /// Returns the last measured bytes; `None` before the first measurement.
    pub(super) fn stored(&self) -> Option<u64> {
        u64::try_from(self.amounts().stored.load(Ordering::Relaxed)).ok()
    }

    /// Returns whether the tenant has a quota of devices.
    pub fn bounds_devices(&self) -> bool {
        self.value(TenantLimit::Devices).is_some()
    }

    /// Returns the quota of devices if they have to be counted again.
    fn devices_to_count(&self) -> Option<u64> {
        let allowed = self.value(TenantLimit::Devices)?;
        self.amounts().is_outdated.swap(false, Ordering::Relaxed).then_some(allowed)
    }
}

impl Database {
    /// Checks what a change adds to the database against the quotas of its tenant.
    ///
    /// # Errors
    /// `QuotaExceeded`.
    pub(crate) fn ensure_quota(&self, tenant: &TenantId, added: Added<'_>) -> Result<()> {
        match added {
            Added::Nothing => Ok(()),
            Added::Data => self.ensure_stored_quota(tenant),
            Added::Object(fragments) => {
                self.ensure_stored_quota(tenant)?;
                self.ensure_device_quota(tenant, fragments)
            }
        }
    }

    /// Checks whether the quota of a tenant permits more data.
    ///
    /// # Errors
    /// `QuotaExceeded`.
    pub fn ensure_stored_quota(&self, tenant: &TenantId) -> Result<()> {
        if self.tenant_limits.bound_amounts() { self.tenant_limits.of(tenant).check_stored() } else { Ok(()) }
    }

    /// Checks whether the quota of a tenant permits an update, given the bytes of the free-form content before and
    /// after it. An update that grows by at most 64 kB is permitted, so that devices go on when the quota is used up.
    ///
    /// # Errors
    /// `QuotaExceeded`.
    pub fn ensure_growth(&self, tenant: &TenantId, before: usize, after: usize) -> Result<()> {
        if after > before + FREE_GROWTH { self.ensure_stored_quota(tenant) } else { Ok(()) }
    }

    /// Checks whether the quota of a tenant permits an update whose audit record has the changes. The record keeps the
    /// previous and the new values, so an update that does not grow adds data, too.
    ///
    /// # Errors
    /// `QuotaExceeded`.
    pub fn ensure_recorded_growth(
        &self,
        tenant: &TenantId,
        before: usize,
        after: usize,
        changes: &[AttributeChange],
    ) -> Result<()> {
        if !self.tenant_limits.bound_amounts() {
            return Ok(());
        }
        let recorded: usize = changes.iter().map(AttributeChange::bytes).sum();
        self.ensure_growth(tenant, before, after + recorded)
    }

    /// Returns whether [`ensure_growth`](Self::ensure_growth) needs the bytes before an update that writes this many.
    pub fn may_exceed_by_growth(&self, written: usize) -> bool {
        written > FREE_GROWTH && self.tenant_limits.bound_amounts()
    }

    /// Counts a new object with these fragments if it is a device, and the quota permits it.
    ///
    /// # Errors
    /// `QuotaExceeded`, if it is a device.
    pub fn ensure_device_quota(&self, tenant: &TenantId, fragments: &Fragments) -> Result<()> {
        if self.tenant_limits.bound_amounts() && is_device(fragments) {
            self.tenant_limits.of(tenant).admit_devices(1)?;
        }
        Ok(())
    }

    /// Counts the devices of tenants whose count is outdated. One statement for each.
    pub(super) async fn count_amounts(&self) -> Result<()> {
        if !self.tenant_limits.bound_amounts() {
            return Ok(());
        }
        for (tenant, limits) in self.tenant_limits.all() {
            let Some(allowed) = limits.devices_to_count() else { continue };
            let amounts = limits.amounts();
            let mut counted_at = amounts.counted.lock().await;
            *counted_at = None;
            let counted = self.correct_devices(&tenant, amounts, allowed).await;
            counted.inspect_err(|_| amounts.is_outdated.store(true, Ordering::Relaxed))?;
            *counted_at = Some(Instant::now());
        }
        self.read_stored().await
    }

    async fn correct_devices(&self, tenant: &TenantId, amounts: &Amounts, allowed: u64) -> Result<()> {
        let admissions = amounts.admissions.load(Ordering::Relaxed);
        amounts.correct(self.count_devices(tenant, Some(allowed)).await?, admissions);
        Ok(())
    }

    /// Counts the devices of a tenant again if other servers may have created some for more than a second. It is called
    /// before a device is created. If the database does not respond, the last count applies.
    pub async fn recount_devices(&self, tenant: &TenantId, fragments: &Fragments) {
        if !self.tenant_limits.bound_amounts() || !is_device(fragments) || self.publications().is_alone() {
            return;
        }
        let limits = self.tenant_limits.of(tenant);
        let Some(allowed) = limits.value(TenantLimit::Devices) else { return };
        let mut counted_at = limits.amounts().counted.lock().await;
        if counted_at.is_some_and(|at| at.elapsed() < COUNT_AGE) {
            return;
        }
        match self.correct_devices(tenant, limits.amounts(), allowed).await {
            Ok(()) => *counted_at = Some(Instant::now()),
            Err(error) => tracing::debug!(%error, "devices cannot be counted before one is created"),
        }
    }

    /// Reads the last measured bytes of tenants with such a quota. One statement.
    async fn read_stored(&self) -> Result<()> {
        let bounded =
            |(_, limits): &(TenantId, Arc<TenantLimits>)| limits.value(TenantLimit::StoredBytes).is_some();
        let tenants: Vec<_> = self.tenant_limits.all().into_iter().filter(bounded).collect();
        if tenants.is_empty() {
            return Ok(());
        }
        let client = self.loader().await?;
        let names: Vec<&str> = tenants.iter().map(|(tenant, _)| tenant.as_str()).collect();
        for row in client.query(LIST_STORED, &[&names]).await? {
            let (tenant, bytes): (&str, i64) = (row.try_get(0)?, row.try_get(1)?);
            if let Some((_, limits)) = tenants.iter().find(|(known, _)| known.as_str() == tenant) {
                limits.amounts().stored.store(bytes, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Counts the devices of a tenant, up to a maximum. One statement.
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`.
    pub async fn count_devices(&self, tenant: &TenantId, up_to: Option<u64>) -> Result<i64> {
        let client = self.loader().await?;
        let (fragment, most) = (naming().fragment("IsDevice"), up_to.map(u64::cast_signed));
        let row = client.query_one(COUNT_DEVICES, &[&tenant.as_str(), &fragment, &most]).await?;
        Ok(row.get(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_that_is_not_committed_yet_is_counted() {
        let amounts = Amounts::default();
        amounts.correct(1, 0);
        amounts.devices.fetch_add(1, Ordering::Relaxed);
        amounts.admissions.fetch_add(1, Ordering::Relaxed);

        amounts.correct(1, 1);
        assert_eq!(amounts.devices.load(Ordering::Relaxed), 2, "the device may be on its way");
        amounts.correct(1, 1);
        assert_eq!(amounts.devices.load(Ordering::Relaxed), 1, "it was not stored");
    }
}
