//! Publications between servers: when one server writes, the sessions and modules of every server receive what it
//! publishes, once and in one order.
//!
//! # One server
//!
//! A tenant is published in memory while only one server listens to it or writes it. If other servers exist, each
//! transaction asserts this in the database, in the same round trip: it fails if another server has joined the tenant
//! by then (`assert_unshared.sql`), and is repeated as below. So the order is right even if a server acts on outdated
//! information, for example after a pause.
//!
//! A server that is alone need not assert. A second server does not start before the first one has noticed it and
//! asserts. If the first one does not respond, the second one ends its connections to the database.
//!
//! # Several servers
//!
//! A server joins a tenant by a row in `publication_listeners`. It adds the row before its first subscription of the
//! tenant is confirmed, and waits until every transaction has ended that may not have seen the row. A server that
//! writes a tenant of other servers adds a row as well, so that they publish through the database too.
//!
//! From then on a transaction carries its publications itself, as `NOTIFY` on the channel of the tenant. PostgreSQL
//! sends them if and only if it commits, to all servers, in the order of the commits. The writing server receives its
//! own notifications like everybody else and delivers nothing directly. No sequence numbers and no retransmissions
//! are necessary, and nothing is lost when a server is killed.
//!
//! When the other servers have left the tenant, it is published in memory again ([`returning`]).
//!
//! A server whose listening connection breaks may have missed notifications. It ends its sessions of the tenants that
//! other servers have joined; the clients handshake again, so they learn of the gap. Notifications of the next
//! connection are delivered after these sessions have ended.
//!
//! The transactions outside of the group commit ([`publishing`]) carry their publications in the same way.
//! Publications that no transaction stores (TRANSIENT writes, rows of modules) are sent in the order of the calls by
//! [`outbox`].

mod interest;
mod journals;
mod outbox;
mod payload;
mod publishing;
mod returning;
mod running;
mod stamping;
mod tenants;
mod transaction;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform_model::id::TenantId;
use platform_model::realtime::publication::Publication;
use platform_model::realtime::transactions::TransactionId;
use tokio::sync::mpsc;
use tokio_postgres::Client;

pub(crate) use interest::Listening;
pub use interest::ListeningConnection;
use outbox::Outgoing;
pub(crate) use payload::{Assembly, Unreadable, cut, encode};
pub use publishing::DeletionNotices;
pub(crate) use publishing::{Ended, Write};
pub use returning::TenantSubscription;
pub use stamping::Stamping;
use tenants::Tenants;
pub use tenants::{Deliver, DeliveryHold, IsUsed, LocalDelivery};
pub use transaction::Route;
pub(crate) use transaction::{Checked, TransactionPublications};

use crate::realtime::signatures::Signatures;

/// Ends the sessions of a tenant at this server. Publications for the tenant wait until the second argument is
/// dropped.
pub type EndSessions = Box<dyn Fn(&TenantId, DeliveryHold) + Send + Sync>;

pub(crate) const ASSERT_UNSHARED: &str =
    include_str!("../../../../../sql/queries/publications/assert_unshared.sql");
const LIST_OTHERS: &str = include_str!("../../../../../sql/queries/publications/list_others.sql");
pub(crate) const NOTIFY: &str = include_str!("../../../../../sql/queries/publications/notify.sql");

/// The prefix of the names of channels; the tenant follows.
const CHANNEL: &str = "platform_tenant_";
/// The longest pause between two searches for tenants that nobody uses.
const LONGEST_UNUSED_CHECK: Duration = Duration::from_secs(30);
/// The time for which a server relies on the result that no other server exists.
const ALONE: Duration = Duration::from_secs(2);

/// The publications of this server and of others.
pub struct Publications {
    /// The incarnation of this server process.
    server: OnceLock<i64>,
    next_batch: AtomicU64,
    tenants: Tenants,
    deliver: OnceLock<Deliver>,
    end_sessions: OnceLock<EndSessions>,
    is_used: OnceLock<IsUsed>,
    /// The time after which this server leaves a tenant that nobody uses.
    unused_timeout: Duration,
    outbox: OnceLock<mpsc::UnboundedSender<Outgoing>>,
    /// The number of publications that wait in the outbox.
    in_outbox: AtomicUsize,
    /// The listening connection; `None` while it is lost.
    listening: Mutex<Option<Arc<Client>>>,
    /// The time of the last check that found no other server; `None` if it found one.
    alone_at: Mutex<Option<Instant>>,
    /// Whether this server is registered, so that the others know of it.
    is_registered: AtomicBool,
    /// Whether the transactions of all other servers have asserted since the registration.
    is_known: AtomicBool,
    /// The number of running transactions that do not assert.
    unasserted: Arc<AtomicUsize>,
    /// The number of journals that this server is about to begin. Meanwhile every transaction asserts.
    beginning_journals: AtomicUsize,
    /// The end of the `application_name` of this server's connections to the database.
    token: String,
    lost_at: Mutex<Option<Instant>>,
    /// The holds on deliveries after a loss of the listening connection, until it is known which tenants missed
    /// something.
    delivery_holds: Mutex<Vec<DeliveryHold>>,
    signatures: Arc<Signatures>,
}

/// The sessions and modules of a server, as receivers of publications.
pub struct Receivers {
    /// Delivers publications to them.
    pub deliver: Deliver,
    /// Ends the sessions of a tenant that may have missed publications.
    pub end_sessions: EndSessions,
    /// Returns whether a session or module uses the tenant.
    pub is_used: IsUsed,
}

impl Publications {
    /// Creates the publications of a process. `token` is a text of 16 characters that is unique to it.
    pub(crate) fn new(token: String, unused_timeout: Duration, signatures: Arc<Signatures>) -> Self {
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
            beginning_journals: AtomicUsize::new(0),
            token,
            lost_at: Mutex::default(),
            delivery_holds: Mutex::default(),
            signatures,
        }
    }

    /// Sets the receivers of this server, once. A process without sessions, such as a command, does not call it.
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
        }
    }

    /// Returns the pause between two searches for tenants that nobody uses.
    pub fn unused_check(&self) -> Duration {
        (self.unused_timeout / 4).min(LONGEST_UNUSED_CHECK)
    }

    /// Returns the incarnation of this server process; `None` for a command.
    pub(crate) fn incarnation(&self) -> Option<i64> {
        self.server()
    }

    /// Returns the incarnation of this server; `None` for a command, to which nothing is published.
    fn server(&self) -> Option<i64> {
        self.server.get().copied()
    }

    /// Returns whether this is the only server. A new server does not start while this one may assume so.
    pub fn is_alone(&self) -> bool {
        self.server.get().is_none() || self.alone_at.lock().is_some_and(|at| at.elapsed() < ALONE)
    }

    /// Returns whether transactions that publish a tenant are probably committed one after the other: those that notify
    /// other servers wait for each other in PostgreSQL until the end of their commits, and so do those that append to
    /// the journal of the tenant.
    pub(crate) fn are_committed_in_turn(&self, tenant: &TenantId) -> bool {
        let tenant = self.tenants.get(tenant);
        tenant.is_shared() || tenant.is_journaled()
    }

    /// Returns the end of the `application_name` of this server's connections to the database.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Delivers the publications of a committed transaction, unless the database has sent them.
    pub(crate) fn deliver_by(&self, route: &Route, tenant: &TenantId, publications: Vec<Publication>) {
        if route.is_by_caller() {
            self.deliver_here(tenant, publications, route.transaction());
        }
    }

    /// Delivers publications to this server.
    fn deliver_here(
        &self,
        tenant: &TenantId,
        publications: Vec<Publication>,
        transaction: Option<TransactionId>,
    ) {
        if let Some(deliver) = self.deliver.get() {
            deliver(tenant, publications, transaction);
        }
    }

    /// Returns the channels and signed payloads of a `NOTIFY`.
    fn pieces(
        &self,
        tenant: &TenantId,
        transaction: Option<TransactionId>,
        publications: &[Publication],
    ) -> (Vec<String>, Vec<String>) {
        let channel = channel(tenant);
        let payloads = self.payloads(transaction, publications);
        let signed =
            payloads.iter().map(|payload| self.signatures.sign(&channel, payload).into_owned()).collect();
        (vec![channel; payloads.len()], signed)
    }

    /// Returns payloads of publications without signatures.
    fn payloads(&self, transaction: Option<TransactionId>, publications: &[Publication]) -> Vec<String> {
        let server = self.server().unwrap_or_default();
        let batch = self.next_batch.fetch_add(1, Ordering::Relaxed);
        payload::payloads(server, batch, transaction, publications)
    }

    /// Returns the signatures of what servers send each other.
    pub(crate) fn signatures(&self) -> &Arc<Signatures> {
        &self.signatures
    }

    /// Processes a notification of the listening connection, without its signature. Returns whether it came on the
    /// channel of a tenant.
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
            Ok(Some((publications, transaction))) => {
                let state = self.tenants.get(&tenant);
                if let Some(deliver) = self.deliver.get().filter(|_| !publications.is_empty()) {
                    state.receive(publications, transaction, deliver);
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
