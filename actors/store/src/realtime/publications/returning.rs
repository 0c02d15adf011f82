//! Publishing in memory again after the last other server has left a tenant, and leaving a tenant that nobody uses at
//! this server any more.
//!
//! Both wait until this server runs no transaction whose publications the database sends. Such a transaction that
//! begins meanwhile is repeated afterwards.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;

use super::tenants::SharedTenant;
use super::{LIST_OTHERS, NOTIFY, Publications, channel};
use crate::Database;

const CEASE: &str = include_str!("../../../../../sql/queries/publications/cease.sql");
const UNSUBSCRIBE: &str = include_str!("../../../../../sql/queries/publications/unsubscribe.sql");

/// The longest wait for the notifications of this server's own transactions.
const ARRIVAL: Duration = Duration::from_secs(5);

/// A use of a tenant that has begun and that [`is_used`](super::IsUsed) does not know yet. While it is held, this
/// server receives what is published for the tenant.
#[must_use = "the use is to be known before this is dropped"]
pub struct TenantSubscription(Arc<SharedTenant>);

impl TenantSubscription {
    pub(super) fn begin(tenant: Arc<SharedTenant>) -> Self {
        tenant.uses.fetch_add(1, Ordering::SeqCst);
        Self(tenant)
    }
}

impl Drop for TenantSubscription {
    fn drop(&mut self) {
        self.0.uses.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Prevents the beginning of transactions whose publications the database sends, until it is dropped.
struct Change<'a>(&'a SharedTenant);

impl<'a> Change<'a> {
    fn begin(state: &'a SharedTenant) -> Self {
        state.is_changing.store(true, Ordering::SeqCst);
        state.changes.fetch_add(1, Ordering::SeqCst);
        Self(state)
    }

    /// Returns whether no such transaction is running.
    fn is_quiet(&self) -> bool {
        self.0.sending.load(Ordering::SeqCst) == 0
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.0.is_changing.store(false, Ordering::SeqCst);
    }
}

impl Database {
    /// Publishes a tenant in memory again after the last other server has left it. All publications that passed
    /// through the database before are delivered when this returns. The caller holds `joining`.
    pub(super) async fn return_to_memory(&self, state: &SharedTenant) -> Result<()> {
        let change = Change::begin(state);
        let begun = Instant::now();
        while !change.is_quiet() || state.is_on_hold() {
            if begun.elapsed() > ARRIVAL {
                return Err(Error::unavailable("transactions run for a long time"));
            }
            sleep(Duration::from_millis(1)).await;
        }
        if state.is_subscribed.load(Ordering::Acquire) {
            self.wait_for_notifications(state).await?;
        }
        state.is_sent.store(false, Ordering::Release);
        state.set_shared(false);
        Ok(())
    }

    /// Waits until all notifications have arrived that are committed by now: sends one and waits for it. The caller
    /// holds `joining`.
    pub(super) async fn wait_for_notifications(&self, state: &SharedTenant) -> Result<()> {
        let (channel, payloads) = (channel(&state.tenant), self.publications.payloads(None, &[]));
        let (sender, came) = oneshot::channel();
        let signed: Vec<_> = payloads.iter().map(|payload| self.signatures.sign(&channel, payload)).collect();
        *state.mark.lock() = payloads.first().cloned().map(|payload| (payload, sender));
        self.loader().await?.execute(NOTIFY, &[&vec![&channel; signed.len()], &signed]).await?;
        match timeout(ARRIVAL, came).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Error::unavailable("the connection to the database was lost")),
        }
    }

    /// Leaves tenants that nobody has used at this server for a while.
    ///
    /// # Errors
    /// `Unavailable` or `Database`: the last error, after an attempt for each tenant.
    pub async fn leave_unused_tenants(&self) -> Result<()> {
        let mut outcome = Ok(());
        for state in self.publications.tenants.joined() {
            if let Err(error) = self.end_use(&state, self.publications.unused_timeout).await {
                tracing::debug!(%error, tenant = %state.tenant, "this server still takes part in an unused tenant");
                outcome = Err(error);
            }
        }
        outcome
    }

    async fn end_use(&self, state: &Arc<SharedTenant>, unused_timeout: Duration) -> Result<()> {
        if self.publications.is_used(state) {
            *state.unused_since.lock() = None;
            return Ok(());
        }
        let since = *state.unused_since.lock().get_or_insert_with(Instant::now);
        let Ok(_joining) = state.joining.try_lock() else { return Ok(()) };
        if since.elapsed() < unused_timeout {
            return Ok(());
        }
        let listening = self.publications.listening.lock().clone();
        let change = Change::begin(state);
        let was_subscribed = state.is_subscribed.swap(false, Ordering::SeqCst);
        if !change.is_quiet() || self.publications.is_used(state) {
            drop(change);
            if was_subscribed {
                self.stay_subscribed(state, listening.as_ref());
            }
            return Ok(());
        }
        // A server that writes a tenant of other servers would join it again with its next write.
        let writes = state.sent_at.lock().is_some_and(|at| at.elapsed() < unused_timeout);
        *state.unused_since.lock() = Some(Instant::now());
        let (client, server) = (self.loader().await?, self.publications.server());
        let tenant = state.tenant.as_str();
        client.execute(UNSUBSCRIBE, &[&server, &tenant]).await?;
        if client.execute(CEASE, &[&server, &tenant, &writes]).await? > 0 {
            state.has_joined.store(false, Ordering::Release);
            state.is_sent.store(false, Ordering::Release);
            tracing::debug!(%tenant, "nobody uses the tenant at this server, which leaves it");
        }
        drop(change);
        if let Some(listening) = listening.filter(|_| was_subscribed) {
            listening.batch_execute(&format!("UNLISTEN \"{}\"", channel(&state.tenant))).await?;
        }
        Ok(())
    }

    /// Continues to receive what is published for a tenant, unless the connection was lost meanwhile.
    fn stay_subscribed(&self, state: &SharedTenant, before: Option<&Arc<Client>>) {
        let current = self.publications.listening.lock();
        let is_same =
            current.as_ref().zip(before).is_some_and(|(current, before)| Arc::ptr_eq(current, before));
        if is_same {
            state.is_subscribed.store(true, Ordering::SeqCst);
        } else {
            drop(current);
            self.publications.forget(state);
        }
    }

    /// Changes how this server publishes a tenant, as a transaction requires that has to be repeated: joins a tenant
    /// that this server only writes, or publishes in memory again after the last other server has left it.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn switch_order(&self, tenant: &TenantId) -> Result<()> {
        let state = self.publications.tenants.get(tenant);
        let _joining = state.joining.lock().await;
        let tenants = vec![tenant.as_str()];
        let client = self.loader().await?;
        let found = client.query_opt(LIST_OTHERS, &[&tenants, &self.publications.server()]).await?;
        drop(client);
        let (own, others) = found.map_or((false, false), |row| (row.get(1), row.get(2)));
        match (own, others) {
            (false, true) => self.join_tenant(&state, false).await,
            (_, false) if state.is_sent.load(Ordering::Acquire) => self.return_to_memory(&state).await,
            (true, true) | (_, false) => Ok(()),
        }
    }
}

impl Publications {
    /// Returns whether sessions or modules of this server use a tenant, or are about to.
    fn is_used(&self, state: &SharedTenant) -> bool {
        state.uses.load(Ordering::SeqCst) > 0
            || self.is_used.get().is_none_or(|is_used| is_used(&state.tenant))
    }
}
