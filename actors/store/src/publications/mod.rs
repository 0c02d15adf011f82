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
//! When the others have ceased to take part, the tenant returns to memory ([`returning`]).
//!
//! A server whose listening connection breaks may have missed something. It ends its sessions of the tenants that others
//! take part in; their clients handshake again, so no gap is silent. Notifications of the next connection are delivered
//! after these sessions have ended.
//!
//! So do the transactions outside of the group commit ([`publishing`]). What no transaction stores (TRANSIENT writes,
//! rows of modules) is sent in the order of the calls by [`outbox`].

mod interest;
mod outbox;
mod payload;
mod publishing;
mod returning;
mod tenants;
mod transaction;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform_model::id::TenantId;
use platform_model::publication::Publication;
use tokio::sync::mpsc;
use tokio_postgres::Client;

pub(crate) use interest::Listening;
pub use interest::ListeningConnection;
use outbox::Outgoing;
pub(crate) use payload::{Assembly, Unreadable, cut, encode};
pub use publishing::DeletionNotices;
pub(crate) use publishing::{Ended, Write};
pub use returning::TenantSubscription;
use tenants::Tenants;
pub use tenants::{Deliver, DeliveryHold, IsUsed, LocalDelivery};
pub use transaction::Route;
pub(crate) use transaction::{Checked, TransactionPublications};

/// Ends the sessions of a tenant at this server. What is published for it waits until the second argument is dropped.
pub type EndSessions = Box<dyn Fn(&TenantId, DeliveryHold) + Send + Sync>;

pub(crate) const ASSERT_UNSHARED: &str =
    include_str!("../../../../sql/queries/publications/assert_unshared.sql");
const LIST_OTHERS: &str = include_str!("../../../../sql/queries/publications/list_others.sql");
pub(crate) const NOTIFY: &str = include_str!("../../../../sql/queries/publications/notify.sql");

/// The beginning of the names of channels; the tenant follows.
const CHANNEL: &str = "platform_tenant_";
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
    is_used: OnceLock<IsUsed>,
    /// For how long this server takes part in a tenant that nobody uses.
    unused_timeout: Duration,
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
    /// The doubts since the listening connection was lost, until it is known which tenants have missed something.
    delivery_holds: Mutex<Vec<DeliveryHold>>,
}

/// The sessions and modules of a server, as receivers of publications.
pub struct Receivers {
    /// Delivers publications to them.
    pub deliver: Deliver,
    /// Ends the sessions of a tenant that may have missed some.
    pub end_sessions: EndSessions,
    /// Returns whether there are any of a tenant.
    pub is_used: IsUsed,
}

impl Publications {
    /// `token` is a text of 16 characters that no other process has.
    pub(crate) fn new(token: String, unused_timeout: Duration) -> Self {
        Self {
            server: OnceLock::new(),
            next_batch: AtomicU64::new(1),
            tenants: Tenants::default(),
            deliver: OnceLock::new(),
            end_sessions: OnceLock::new(),
            is_used: OnceLock::new(),
            unused_timeout,
            outbox: OnceLock::new(),
            in_outbox: AtomicUsize::new(0),
            listening: Mutex::default(),
            alone_at: Mutex::default(),
            is_registered: AtomicBool::new(false),
            is_known: AtomicBool::new(false),
            unasserted: Arc::default(),
            token,
            lost_at: Mutex::default(),
            delivery_holds: Mutex::default(),
        }
    }

    /// Sets the receivers of this server, once. A process without sessions, such as a command, sets nothing.
    pub fn install(
        self: &Arc<Self>,
        server: i64,
        database: &crate::Database,
        Receivers { deliver, end_sessions, is_used }: Receivers,
    ) {
        self.server.set(server).ok();
        self.deliver.set(deliver).ok();
        self.end_sessions.set(end_sessions).ok();
        self.is_used.set(is_used).ok();
        let (sender, receiver) = mpsc::unbounded_channel();
        if self.outbox.set(sender).is_ok() {
            tokio::spawn(outbox::run(database.clone(), receiver));
            tokio::spawn(database.clone().watch_uses());
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

    /// Delivers what a committed transaction published, unless the database has sent it.
    pub(crate) fn deliver_by(&self, route: &Route, tenant: &TenantId, publications: Vec<Publication>) {
        if route.is_by_caller() {
            self.deliver_here(tenant, publications);
        }
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
    pub(crate) fn receive(
        self: &Arc<Self>,
        assemblies: &mut Assemblies,
        channel: &str,
        payload: &str,
    ) -> bool {
        let Some(tenant) = channel.strip_prefix(CHANNEL).and_then(|id| TenantId::parse(id).ok()) else {
            return false;
        };
        match assemblies.0.entry(tenant.clone()).or_default().take_publications(payload) {
            Ok(None) => {}
            Ok(Some(publications)) => {
                let state = self.tenants.get(&tenant);
                if let Some(deliver) = self.deliver.get().filter(|_| !publications.is_empty()) {
                    state.receive(publications, deliver);
                }
                state.came(payload);
            }
            Err(Unreadable) => {
                tracing::error!(%tenant, "a notification of another server cannot be read; sessions of the tenant end");
                self.end_sessions(&tenant);
            }
        }
        true
    }

    fn end_sessions(self: &Arc<Self>, tenant: &TenantId) {
        if let Some(end) = self.end_sessions.get() {
            end(tenant, DeliveryHold::begin(self.tenants.get(tenant), self.clone()));
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
