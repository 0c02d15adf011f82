//! The ids of transactions, by which sessions that receive a list and then its changes know what the list shows (B-36).
//!
//! A transaction that checks which servers use its tenants is asked for its id by the same statement, and its
//! publications name it. A transaction that checks nothing would need a further statement. So while a list is being
//! read for a session, every transaction of this server that publishes the tenant checks; before the list is read,
//! those have ended and are delivered that do not. A publication without an id that is delivered later was
//! committed later, or no transaction stores it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use tokio::time::sleep;

use super::journals::ensure_new_servers;
use super::tenants::SharedTenant;
use crate::Database;

/// The longest wait for transactions that are not asked for their ids.
const LONGEST: Duration = Duration::from_secs(10);

/// The publications of a tenant that a transaction of this server delivers without its id. It is held from before the
/// transaction until they are delivered.
pub(super) struct Unstamped(Arc<SharedTenant>);

impl Unstamped {
    /// Begins a transaction. Returns `None` if it has to be asked for its id.
    pub(super) fn begin(tenant: &Arc<SharedTenant>) -> Option<Self> {
        tenant.unstamped.fetch_add(1, Ordering::SeqCst);
        // The counter is incremented before `stampings` is read, because `begin_stamping` increments `stampings` before
        // it reads the counter: one of the two sees the other.
        let unstamped = Self(tenant.clone());
        (tenant.stampings.load(Ordering::SeqCst) == 0).then_some(unstamped)
    }
}

impl Clone for Unstamped {
    fn clone(&self) -> Self {
        self.0.unstamped.fetch_add(1, Ordering::SeqCst);
        Self(self.0.clone())
    }
}

impl Drop for Unstamped {
    fn drop(&mut self) {
        self.0.unstamped.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A time in which all publications of a tenant that transactions store name their transaction at this server.
#[must_use = "the list is to be read before this is dropped"]
pub struct Stamping(Arc<SharedTenant>);

impl Drop for Stamping {
    fn drop(&mut self) {
        self.0.stampings.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Database {
    /// Begins a time in which everything that is published for a tenant, and that a transaction stores, names this
    /// transaction when it is delivered at this server. The caller [subscribes](Self::subscribe) to the tenant before,
    /// so that other servers publish through the database. Everything that does not name its transaction is delivered
    /// when this returns.
    ///
    /// # Errors
    /// `Unavailable` while a server of an earlier version is registered, because its publications name no transaction;
    /// when transactions run for a long time; or when the database is not reachable. `Database`.
    pub async fn begin_stamping(&self, tenant: &TenantId) -> Result<Stamping> {
        if !self.publications.is_alone() {
            ensure_new_servers(&*self.loader().await?, "do not say what a list shows").await?;
        }
        self.begin_stamping_here(tenant).await
    }

    /// Waits until everything is delivered at this server that transactions have published for a tenant and that are
    /// committed by now. The caller [subscribes](Self::subscribe) to the tenant before.
    ///
    /// # Errors
    /// `Unavailable` when transactions run for a long time, or when the database is not reachable. `Database`.
    pub async fn wait_for_deliveries(&self, tenant: &TenantId) -> Result<()> {
        // Publications that do not pass through the database are delivered now, or their transactions began later.
        drop(self.begin_stamping_here(tenant).await?);
        let state = self.publications.tenants.get(tenant);
        let _joining = state.joining.lock().await;
        if state.is_subscribed.load(Ordering::Acquire) && !self.publications.is_alone() {
            self.wait_for_notifications(&state).await?;
        }
        Ok(())
    }

    async fn begin_stamping_here(&self, tenant: &TenantId) -> Result<Stamping> {
        let state = self.publications.tenants.get(tenant);
        state.stampings.fetch_add(1, Ordering::SeqCst);
        let (stamping, begun) = (Stamping(state.clone()), Instant::now());
        while state.unstamped.load(Ordering::SeqCst) > 0 {
            if begun.elapsed() > LONGEST {
                return Err(Error::unavailable("transactions run for a long time"));
            }
            sleep(Duration::from_millis(1)).await;
        }
        Ok(stamping)
    }
}
