//! The checks, the journal entries and the notifications of a transaction, by which its publications are delivered if
//! and only if it commits.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use deadpool_postgres::GenericClient;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::realtime::publication::Publication;
use platform_model::realtime::transactions::TransactionId;
use tokio_postgres::Statement;

use super::stamping::Unstamped;
use super::tenants::SharedTenant;
use super::{LIST_OTHERS, LocalDelivery, Publications};
use crate::query::prepared::PreparedQueries;
use crate::realtime::journal::Entries;
use crate::realtime::signatures::Signatures;

/// The SQLSTATE that `assert_unshared.sql` raises: another server has joined the tenant, or it has a journal.
const SHARED: &str = "PL001";

/// A transaction that does not assert.
pub(super) struct Unasserted(Arc<AtomicUsize>);

impl Drop for Unasserted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The deliverer of the publications of a committed write.
pub enum Route {
    /// The caller, until it drops this.
    Caller(Option<LocalDelivery>),
    /// The database has sent them to all servers, including this one.
    Database,
}

/// The path on which the publications of a tenant leave a transaction.
enum Way {
    Memory,
    Database { _sending: Sending },
}

/// The publications of one transaction of a writer: its checks and its notifications.
pub(crate) struct TransactionPublications {
    publications: Arc<Publications>,
    tenants: Vec<Published>,
    /// The permission not to assert; set if this server is alone.
    unasserted: Option<Unasserted>,
    /// The id of the transaction, if it was checked and has written something.
    id: Option<TransactionId>,
}

struct Published {
    tenant: Arc<SharedTenant>,
    delivery: Option<LocalDelivery>,
    way: Way,
    /// Set unless the transaction has to be asked for its id.
    unstamped: Option<Unstamped>,
    /// Whether the transaction appends the publications to the journal.
    is_journaled: bool,
}

/// A transaction whose publications of a tenant the database sends.
struct Sending(Arc<SharedTenant>);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.sending.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether a transaction has to be repeated.
pub(crate) enum Checked {
    /// It may be committed.
    Fine,
    /// This server has to join the tenant first, or to publish it in memory again: see
    /// [`switch_order`](crate::Database::switch_order).
    HasToSwitch(TenantId),
}

impl Publications {
    /// Returns the permission for a transaction that does not assert, if this server is alone and begins no journal. A
    /// new server starts
    /// only when no such transaction is running; if this server is paused during one, the new server ends its
    /// connections. So the permission is requested only when the transaction has its connection.
    fn unasserted(&self) -> Option<Unasserted> {
        self.unasserted.fetch_add(1, Ordering::AcqRel);
        // The counter is incremented before `is_alone` and `beginning_journals` are read, because their writers read
        // the counter afterwards: one of the two sees the other.
        let unasserted = Unasserted(self.unasserted.clone());
        (self.is_alone() && self.beginning_journals.load(Ordering::Acquire) == 0).then_some(unasserted)
    }
}

impl SharedTenant {
    /// Notes a transaction whose publications the database sends, unless this server has begun another change of how
    /// it publishes since the number of changes was `changes`.
    fn send(self: &Arc<Self>, changes: usize) -> Option<Sending> {
        self.sending.fetch_add(1, Ordering::SeqCst);
        // The counter is incremented before `changes` is read, because `Change::begin` writes `changes` before it
        // reads the counter.
        let sending = Sending(self.clone());
        let is_same =
            self.changes.load(Ordering::SeqCst) == changes && !self.is_changing.load(Ordering::SeqCst);
        if is_same {
            self.is_sent.store(true, Ordering::Release);
            *self.sent_at.lock() = Some(Instant::now());
        }
        is_same.then_some(sending)
    }
}

impl TransactionPublications {
    /// Records which tenants a transaction will publish.
    pub(crate) fn begin(publications: &Arc<Publications>, tenants: Vec<&TenantId>) -> Self {
        let published = |tenant: &TenantId| {
            let tenant = publications.tenants.get(tenant);
            // A shared tenant rarely has a moment without running transactions, so a delivery would hold back
            // everything.
            let delivery = (!tenant.is_shared()).then(|| tenant.clone().begin(publications.clone()));
            let unstamped = Unstamped::begin(&tenant);
            Published { tenant, delivery, way: Way::Memory, unstamped, is_journaled: false }
        };
        let tenants = if publications.server().is_some() { tenants } else { Vec::new() };
        let tenants: Vec<Published> = tenants.into_iter().map(published).collect();
        // Until the tenant has returned to memory, its publications may not overtake those that the database sends.
        let is_sent = |published: &Published| published.tenant.is_sent.load(Ordering::Acquire);
        let is_checked = |published: &Published| {
            is_sent(published) || published.tenant.is_journaled() || published.unstamped.is_none()
        };
        let unasserted = publications.unasserted().filter(|_| !tenants.iter().any(is_checked));
        Self { publications: publications.clone(), tenants, unasserted, id: None }
    }

    /// Returns whether the transaction has nothing to assert: it publishes nothing, or this server is alone.
    pub(crate) fn asserts_nothing(&self) -> bool {
        self.tenants.is_empty() || self.unasserted.is_some()
    }

    /// Returns whether other servers have probably joined a tenant, a tenant probably has a journal, or a list of a
    /// tenant is being read for a session. The transaction then checks this before it commits.
    pub(crate) fn have_to_be_checked(&self) -> bool {
        let is_checked = |published: &Published| {
            published.tenant.is_shared() || published.tenant.is_journaled() || published.unstamped.is_none()
        };
        self.unasserted.is_none() && self.tenants.iter().any(is_checked)
    }

    /// Returns whether this error means that another server has joined a tenant, or that it has a journal. The error
    /// does not name the tenant, so the transaction is repeated and checks each of them.
    pub(crate) fn is_refused(error: &platform_model::error::Error) -> bool {
        error.has_sql_state(SHARED)
    }

    /// Gives up the permission not to assert, and the deliveries that [`check`](Self::check) decides about: the
    /// transaction will check which tenants are shared.
    pub(crate) fn ask(&mut self) {
        self.unasserted = None;
        self.tenants.iter_mut().for_each(|published| published.delivery = None);
    }

    /// Returns the signatures, for notifications that statements of the transaction send.
    pub(crate) fn signatures(&self) -> &Arc<Signatures> {
        self.publications.signatures()
    }

    fn ids(&self) -> Vec<&str> {
        self.tenants.iter().map(|published| published.tenant.tenant.as_str()).collect()
    }

    /// Asserts that no other server has joined the tenants. It is part of the caller's transaction.
    ///
    /// # Errors
    /// See [`is_refused`](Self::is_refused); `Unavailable` or `Database`.
    pub(crate) async fn assert_unshared(
        &self,
        client: &impl GenericClient,
        statement: &Statement,
    ) -> Result<()> {
        if self.asserts_nothing() {
            return Ok(());
        }
        client.execute(statement, &[&self.ids(), &self.publications.server()]).await?;
        Ok(())
    }

    /// Checks which tenants other servers have joined. It is part of the caller's transaction, after its writes.
    pub(crate) async fn check(&mut self, client: &impl GenericClient) -> Result<Checked> {
        let changes = |published: &Published| published.tenant.changes.load(Ordering::SeqCst);
        let changes: Vec<usize> = self.tenants.iter().map(changes).collect();
        let rows = client.rows(LIST_OTHERS, &[&self.ids(), &self.publications.server()]).await?;
        let found: HashMap<String, (bool, bool, bool)> =
            rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2), row.get(3)))).collect();
        self.id = rows.first().and_then(|row| TransactionId::parse(row.get::<_, Option<&str>>(4)?));
        for (published, changes) in self.tenants.iter_mut().zip(changes) {
            let tenant = &published.tenant;
            let (own, others, is_journaled) = found.get(tenant.tenant.as_str()).copied().unwrap_or_default();
            tenant.set_journaled(is_journaled);
            published.is_journaled = is_journaled;
            let returns = !others && tenant.is_sent.load(Ordering::Acquire);
            if others && !own || returns {
                return Ok(Checked::HasToSwitch(tenant.tenant.clone()));
            }
            tenant.set_shared(others);
            published.unstamped = None;
            if others {
                let Some(sending) = tenant.send(changes) else {
                    return Ok(Checked::HasToSwitch(tenant.tenant.clone()));
                };
                (published.way, published.delivery) = (Way::Database { _sending: sending }, None);
            } else {
                let begin = || tenant.clone().begin(self.publications.clone());
                published.way = Way::Memory;
                published.delivery.get_or_insert_with(begin);
            }
        }
        Ok(Checked::Fine)
    }

    /// Returns whether the publications of a tenant are part of the transaction: it sends them through the database or
    /// appends them to a journal.
    pub(crate) fn carries(&self, tenant: &TenantId) -> bool {
        let is_journaled =
            |published: &Published| published.tenant.tenant == *tenant && published.is_journaled;
        self.sends(tenant) || self.tenants.iter().any(is_journaled)
    }

    /// Returns whether the transaction sends the publications of a tenant through the database.
    pub(crate) fn sends(&self, tenant: &TenantId) -> bool {
        let is_it = |published: &&Published| published.tenant.tenant == *tenant;
        matches!(self.tenants.iter().find(is_it), Some(Published { way: Way::Database { .. }, .. }))
    }

    /// Appends publications to the journals of their tenants. It is part of the caller's transaction, which commits
    /// afterwards without further locks, because it holds the journals.
    pub(crate) async fn append(
        &self,
        client: &impl GenericClient,
        statement: &Statement,
        by_tenant: &[(&TenantId, Vec<Publication>)],
    ) -> Result<()> {
        let is_journaled = |tenant: &TenantId| {
            self.tenants.iter().any(|published| published.tenant.tenant == *tenant && published.is_journaled)
        };
        let journaled = by_tenant.iter().filter(|(tenant, _)| is_journaled(tenant));
        let entries = Entries::of(journaled.map(|(tenant, publications)| (*tenant, &publications[..])));
        entries.append(client, statement).await
    }

    /// Sends publications, which PostgreSQL delivers at the commit, and returns the bytes of each entry. It is part of
    /// the caller's transaction.
    pub(crate) async fn send(
        &self,
        client: &impl GenericClient,
        statement: &Statement,
        by_tenant: &[(&TenantId, Vec<Publication>)],
    ) -> Result<Vec<usize>> {
        let (mut channels, mut payloads) = (Vec::new(), Vec::new());
        let mut bytes = vec![0; by_tenant.len()];
        for (bytes, (tenant, publications)) in bytes.iter_mut().zip(by_tenant) {
            if !publications.is_empty() && self.sends(tenant) {
                let (more_channels, more) = self.publications.pieces(tenant, self.id, publications);
                *bytes = more.iter().map(String::len).sum();
                channels.extend(more_channels);
                payloads.extend(more);
            }
        }
        if !channels.is_empty() {
            client.execute(statement, &[&channels, &payloads]).await?;
        }
        Ok(bytes)
    }

    /// Returns the deliverer of the publications of a tenant after the commit.
    pub(crate) fn route(self, tenant: &TenantId) -> Route {
        self.routes(std::iter::once(Some(tenant.clone()))).pop().unwrap_or(Route::Caller(None))
    }

    /// Returns the deliverer of the publications of each write after the commit, given the tenants of the writes.
    pub(crate) fn routes(mut self, tenants: impl Iterator<Item = Option<TenantId>>) -> Vec<Route> {
        let route = |tenant: Option<TenantId>| {
            let Some(tenant) = tenant else { return Route::Caller(None) };
            match self.tenants.iter_mut().find(|published| published.tenant.tenant == tenant) {
                Some(Published { way: Way::Database { .. }, .. }) => Route::Database,
                Some(published) => {
                    let begin = || published.tenant.clone().begin(self.publications.clone());
                    let mut delivery = published.delivery.take().unwrap_or_else(begin);
                    (delivery.transaction, delivery.unstamped) = (self.id, published.unstamped.clone());
                    Route::Caller(Some(delivery))
                }
                None => Route::Caller(None),
            }
        };
        // The deliveries of tenants without a write in `tenants` end here.
        tenants.map(route).collect()
    }
}

impl Route {
    /// Returns whether the caller has to deliver the publications.
    pub fn is_by_caller(&self) -> bool {
        matches!(self, Self::Caller(_))
    }

    /// Returns the transaction whose publications the caller delivers, if it is known. It is known while a list of the
    /// tenant is being read for a session ([`Stamping`](super::Stamping)).
    pub fn transaction(&self) -> Option<TransactionId> {
        match self {
            Self::Caller(delivery) => delivery.as_ref()?.transaction,
            Self::Database => None,
        }
    }
}
