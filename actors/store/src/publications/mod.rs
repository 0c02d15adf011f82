//! Publications between servers: when one server writes, the sessions and modules of every server receive what it
//! publishes, once and in one order.
//!
//! # One server
//!
//! A tenant that only one server hears and writes is published in memory. If there are other servers, each transaction
//! asserts this in the database, in the same round trip: it fails if another server takes part by then
//! (`assert_unshared.sql`), and is repeated as below. So no server has to be believed, not even one that was paused.
//!
//! A server that is alone need not assert. A second one does not start before the first has noticed it and asserts; if
//! the first does not respond, the second ends its connections to the database.
//!
//! # Several servers
//!
//! A server takes part in a tenant by a row in `publication_listeners`. It adds the row before its first subscription of
//! the tenant is confirmed, and waits until every transaction has ended that may not have seen the row. A server that
//! writes what others hear adds a row as well, so that the others publish through the database too.
//!
//! From then on a transaction carries its publications itself, as `NOTIFY` on the channel of the tenant. PostgreSQL sends
//! them if and only if it commits, to all servers, in the order of the commits. The writing server delivers nothing of
//! its own accord: it hears itself. There are no numbers, nothing is sent again, and nothing is lost with a server that
//! is killed.
//!
//! A server whose listening connection breaks may have missed something. It ends its sessions of the tenants that others
//! take part in; their clients handshake again, so no gap is silent.
//!
//! What is not part of a transaction of a [`Writer`](crate::writer::Writer) (TRANSIENT writes, rows of modules, deletions,
//! bulk work) is sent in the order of the calls by [`outbox`].

mod interest;
mod outbox;
mod payload;
mod tenants;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use deadpool_postgres::GenericClient;
use parking_lot::Mutex;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::publication::Publication;
use tokio::sync::mpsc;
use tokio_postgres::{Client, Statement};

pub use interest::Hearing;
pub(crate) use interest::Listening;
use outbox::Outgoing;
pub(crate) use payload::{Assembly, Unreadable, cut, encode};
pub use tenants::{Deliver, LocalDelivery};
use tenants::{SharedTenant, Tenants};

/// Ends the sessions of a tenant at this server.
pub type EndSessions = Box<dyn Fn(&TenantId) + Send + Sync>;

pub(crate) const ASSERT_UNSHARED: &str =
    include_str!("../../../../sql/queries/publications/assert_unshared.sql");
const LIST_OTHERS: &str = include_str!("../../../../sql/queries/publications/list_others.sql");
pub(crate) const NOTIFY: &str = include_str!("../../../../sql/queries/publications/notify.sql");

/// The beginning of the names of channels; the tenant follows.
const CHANNEL: &str = "platform_tenant_";
/// The error of a transaction that another server has to hear of.
const SHARED: &str = "PL001";
/// For how long after it asked, a server believes that no other one takes part.
const ALONE: Duration = Duration::from_secs(2);

/// The publications of this server and of others.
pub struct Publications {
    /// The number of this server process.
    server: OnceLock<i64>,
    next_batch: AtomicU64,
    tenants: Tenants,
    deliver: OnceLock<Deliver>,
    end_sessions: OnceLock<EndSessions>,
    outbox: OnceLock<mpsc::UnboundedSender<Outgoing>>,
    /// How many publications wait in the outbox.
    in_outbox: AtomicUsize,
    /// The listening connection; `None` while it is lost.
    listening: Mutex<Option<Arc<Client>>>,
    /// When this server last asked whether there are others, if there were none.
    alone_at: Mutex<Option<Instant>>,
    /// Whether this server has its row, so that others know of it.
    is_registered: AtomicBool,
    /// Whether the transactions of all other servers assert since then.
    is_known: AtomicBool,
    /// How many transactions run that do not assert.
    unasserted: Arc<AtomicUsize>,
    /// The end of the `application_name` of this server's connections to the database.
    token: String,
    lost_at: Mutex<Option<Instant>>,
}

/// A transaction that does not assert.
struct Unasserted(Arc<AtomicUsize>);

impl Drop for Unasserted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Who delivers the publications of a write that is committed.
pub enum Route {
    /// The caller, until it drops this.
    Caller(Option<LocalDelivery>),
    /// The database has sent them to all servers, including this one.
    Database,
}

/// How the publications of a tenant leave a transaction.
enum Way {
    Memory,
    Database,
}

impl Publications {
    /// `token` is a text of 16 characters that no other process has.
    pub(crate) fn new(token: String) -> Self {
        Self {
            server: OnceLock::new(),
            next_batch: AtomicU64::new(1),
            tenants: Tenants::default(),
            deliver: OnceLock::new(),
            end_sessions: OnceLock::new(),
            outbox: OnceLock::new(),
            in_outbox: AtomicUsize::new(0),
            listening: Mutex::default(),
            alone_at: Mutex::default(),
            is_registered: AtomicBool::new(false),
            is_known: AtomicBool::new(false),
            unasserted: Arc::default(),
            token,
            lost_at: Mutex::default(),
        }
    }

    /// Sets what delivers publications to the sessions and modules of this server, and what ends the sessions of a
    /// tenant that may have missed some. It is set once. A process without sessions, such as a command, sets nothing.
    pub fn install(
        self: &Arc<Self>,
        server: i64,
        database: &crate::Database,
        deliver: Deliver,
        end_sessions: EndSessions,
    ) {
        self.server.set(server).ok();
        self.deliver.set(deliver).ok();
        self.end_sessions.set(end_sessions).ok();
        let (sender, receiver) = mpsc::unbounded_channel();
        if self.outbox.set(sender).is_ok() {
            tokio::spawn(outbox::run(database.clone(), receiver));
        }
    }

    /// The number of this server, unless this process is a command, which nobody hears.
    fn server(&self) -> Option<i64> {
        self.server.get().copied()
    }

    /// Returns whether there is no other server. A new server does not start while this one believes so.
    pub fn is_alone(&self) -> bool {
        self.server.get().is_none() || self.alone_at.lock().is_some_and(|at| at.elapsed() < ALONE)
    }

    /// Returns the end of the `application_name` of this server's connections to the database.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Returns the permission for a transaction that does not assert, if this server is alone. A new server starts only
    /// when no such transaction is running; if this one is paused with it, the new server ends its connections. So it is
    /// to be asked for when the transaction has its connection.
    fn unasserted(&self) -> Option<Unasserted> {
        self.unasserted.fetch_add(1, Ordering::AcqRel);
        // The count comes first: who ends the belief looks at the count afterwards.
        let unasserted = Unasserted(self.unasserted.clone());
        self.is_alone().then_some(unasserted)
    }

    /// Delivers publications to this server.
    fn deliver_here(&self, tenant: &TenantId, publications: Vec<Publication>) {
        if let Some(deliver) = self.deliver.get() {
            deliver(tenant, publications);
        }
    }

    /// Returns channels and payloads for `NOTIFY`.
    fn pieces(&self, tenant: &TenantId, publications: &[Publication]) -> (Vec<String>, Vec<String>) {
        let server = self.server().unwrap_or_default();
        let batch = self.next_batch.fetch_add(1, Ordering::Relaxed);
        let payloads = payload::payloads(server, batch, publications);
        (vec![channel(tenant); payloads.len()], payloads)
    }

    /// Takes a notification of the listening connection. Returns whether it was one of a tenant.
    pub(crate) fn receive(&self, assemblies: &mut Assemblies, channel: &str, payload: &str) -> bool {
        let Some(tenant) = channel.strip_prefix(CHANNEL).and_then(|id| TenantId::parse(id).ok()) else {
            return false;
        };
        match assemblies.0.entry(tenant.clone()).or_default().take_publications(payload) {
            Ok(None) => {}
            Ok(Some(publications)) => {
                if let Some(deliver) = self.deliver.get() {
                    self.tenants.get(&tenant).receive(publications, deliver);
                }
            }
            Err(Unreadable) => {
                tracing::error!(%tenant, "a notification of another server cannot be read; sessions of the tenant end");
                self.end_sessions(&tenant);
            }
        }
        true
    }

    fn end_sessions(&self, tenant: &TenantId) {
        if let Some(end) = self.end_sessions.get() {
            end(tenant);
        }
    }
}

/// The batches that arrive in several pieces, by tenant.
#[derive(Debug, Default)]
pub(crate) struct Assemblies(HashMap<TenantId, Assembly>);

/// Adds publications to those of their tenant.
pub(crate) fn add<T: PartialEq>(
    by_tenant: &mut Vec<(T, Vec<Publication>)>,
    tenant: T,
    more: Vec<Publication>,
) {
    match by_tenant.iter_mut().find(|(known, _)| *known == tenant) {
        Some((_, publications)) => publications.extend(more),
        None => by_tenant.push((tenant, more)),
    }
}

/// Returns the channel of a tenant.
pub(crate) fn channel(tenant: &TenantId) -> String {
    format!("{CHANNEL}{tenant}")
}

/// The publications of one transaction of a writer: what the transaction has to check and to send.
pub(crate) struct TransactionPublications {
    publications: Arc<Publications>,
    tenants: Vec<Published>,
    /// Set if this server is alone.
    unasserted: Option<Unasserted>,
}

struct Published {
    tenant: Arc<SharedTenant>,
    delivery: Option<LocalDelivery>,
    way: Way,
}

/// Whether a transaction has to be repeated.
pub(crate) enum Checked {
    /// It may be committed.
    Fine,
    /// This server has to join the tenant first.
    HasToJoin(TenantId),
}

impl TransactionPublications {
    /// Notes which tenants a transaction will publish.
    pub(crate) fn begin(publications: &Arc<Publications>, tenants: Vec<&TenantId>) -> Self {
        let published = |tenant: &TenantId| {
            let tenant = publications.tenants.get(tenant);
            // A tenant that is shared would never have a moment without transactions under way.
            let delivery = (!tenant.is_shared()).then(|| tenant.clone().begin(publications.clone()));
            Published { tenant, delivery, way: Way::Memory }
        };
        let tenants = if publications.server().is_some() { tenants } else { Vec::new() };
        Self {
            publications: publications.clone(),
            tenants: tenants.into_iter().map(published).collect(),
            unasserted: publications.unasserted(),
        }
    }

    /// Returns whether the transaction has nothing to assert: it publishes nothing, or this server is alone.
    pub(crate) fn asserts_nothing(&self) -> bool {
        self.tenants.is_empty() || self.unasserted.is_some()
    }

    /// Returns whether other servers probably take part. The transaction asks then, before it commits.
    pub(crate) fn are_shared(&self) -> bool {
        self.unasserted.is_none() && self.tenants.iter().any(|published| published.tenant.is_shared())
    }

    /// Returns whether this error means that another server takes part, and notes it for the next attempt.
    pub(crate) fn note_shared(&self, error: &platform_model::error::Error) -> bool {
        let is_shared = error.has_sql_state(SHARED);
        if is_shared {
            // It is one of them; the next attempt asks for each.
            self.tenants.iter().for_each(|published| published.tenant.set_shared(true));
        }
        is_shared
    }

    /// Gives up the permission not to assert, and the deliveries that [`check`](Self::check) decides about: the
    /// transaction will ask.
    pub(crate) fn ask(&mut self) {
        self.unasserted = None;
        self.tenants.iter_mut().for_each(|published| published.delivery = None);
    }

    fn ids(&self) -> Vec<&str> {
        self.tenants.iter().map(|published| published.tenant.tenant.as_str()).collect()
    }

    /// Asserts that no other server takes part. A part of the caller's transaction.
    ///
    /// # Errors
    /// See [`note_shared`](Self::note_shared); `Unavailable` or `Database`.
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

    /// Asks which tenants other servers take part in. A part of the caller's transaction, after its writes.
    pub(crate) async fn check(&mut self, client: &impl GenericClient) -> Result<Checked> {
        let statement = client.prepare_cached(LIST_OTHERS).await?;
        let rows = client.query(&statement, &[&self.ids(), &self.publications.server()]).await?;
        let found: HashMap<String, (bool, bool)> =
            rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect();
        for published in &mut self.tenants {
            let tenant = &published.tenant;
            let (own, others) = found.get(tenant.tenant.as_str()).copied().unwrap_or_default();
            tenant.set_shared(others);
            if others && !own {
                return Ok(Checked::HasToJoin(tenant.tenant.clone()));
            }
            if others {
                (published.way, published.delivery) = (Way::Database, None);
            } else {
                let begin = || tenant.clone().begin(self.publications.clone());
                published.way = Way::Memory;
                published.delivery.get_or_insert_with(begin);
            }
        }
        Ok(Checked::Fine)
    }

    /// Returns the tenants whose publications the transaction sends.
    pub(crate) fn sends(&self, tenant: &TenantId) -> bool {
        let is_it = |published: &&Published| published.tenant.tenant == *tenant;
        matches!(self.tenants.iter().find(is_it), Some(Published { way: Way::Database, .. }))
    }

    /// Sends publications, which PostgreSQL delivers at the commit. A part of the caller's transaction.
    pub(crate) async fn send(
        &self,
        client: &impl GenericClient,
        statement: &Statement,
        by_tenant: &[(&TenantId, Vec<Publication>)],
    ) -> Result<()> {
        let (mut channels, mut payloads) = (Vec::new(), Vec::new());
        for (tenant, publications) in by_tenant.iter().filter(|(_, publications)| !publications.is_empty()) {
            let (more_channels, more) = self.publications.pieces(tenant, publications);
            channels.extend(more_channels);
            payloads.extend(more);
        }
        if !channels.is_empty() {
            client.execute(statement, &[&channels, &payloads]).await?;
        }
        Ok(())
    }

    /// Returns who delivers the publications of each write of the committed transaction, given the tenants of the
    /// writes.
    pub(crate) fn routes(mut self, tenants: impl Iterator<Item = Option<TenantId>>) -> Vec<Route> {
        let route = |tenant: Option<TenantId>| {
            let Some(tenant) = tenant else { return Route::Caller(None) };
            match self.tenants.iter_mut().find(|published| published.tenant.tenant == tenant) {
                Some(Published { way: Way::Database, .. }) => Route::Database,
                Some(published) => {
                    let begin = || published.tenant.clone().begin(self.publications.clone());
                    Route::Caller(Some(published.delivery.take().unwrap_or_else(begin)))
                }
                None => Route::Caller(None),
            }
        };
        // The deliveries of tenants without a write that needs one end here.
        tenants.map(route).collect()
    }
}

impl Route {
    /// Returns whether the caller has to deliver the publications.
    pub fn is_by_caller(&self) -> bool {
        matches!(self, Self::Caller(_))
    }
}
