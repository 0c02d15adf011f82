//! Joining a tenant, and detecting that this server may have missed notifications of it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use tokio::time::sleep;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::running::wait_for_running;
use super::tenants::{DeliveryHold, SharedTenant};
use super::{Publications, TenantSubscription, channel};
use crate::Database;
use crate::connect::CONNECT;
use crate::realtime::servers::{DEAD_AFTER, end_connections_of_dead};

const JOIN: &str = include_str!("../../../../../sql/queries/publications/join.sql");
const REGISTER: &str = include_str!("../../../../../sql/queries/publications/register.sql");
const FIND_PEERS: &str = include_str!("../../../../../sql/queries/publications/find_peers.sql");
const ASSERT_FROM_NOW_ON: &str =
    include_str!("../../../../../sql/queries/publications/assert_from_now_on.sql");
const ASSERT_NO_MORE: &str = include_str!("../../../../../sql/queries/publications/assert_no_more.sql");
const LIST_UNAWARE: &str = include_str!("../../../../../sql/queries/publications/list_unaware.sql");
const END_CONNECTIONS: &str = include_str!("../../../../../sql/queries/publications/end_connections.sql");
const LIST_UNSHARED: &str = include_str!("../../../../../sql/queries/publications/list_unshared.sql");

/// The time that a starting server waits for the others to respond.
const UNRESPONSIVE: Duration = Duration::from_secs(5);
/// How long the lease of another server must be seen as ended before its connections are ended, and the interval of
/// further attempts. After a pause of PostgreSQL the leases of all servers have ended for a moment.
const CERTAIN: Duration = Duration::from_secs(2);
/// The longest loss of the listening connection during which no other server can have come and gone unnoticed.
const SHORT_LOSS: Duration = Duration::from_secs(20);

impl Database {
    /// Makes sure that this server receives all further publications of a tenant, whichever server makes them. It is
    /// called before a subscription is confirmed, and costs nothing after the first time. The caller holds the result
    /// until the subscription is recorded.
    ///
    /// # Errors
    /// `Unavailable` while the database is not reachable, or when transactions run for so long that it is not certain;
    /// `Database`.
    pub async fn subscribe(&self, tenant: &TenantId) -> Result<TenantSubscription> {
        let state = self.publications.tenants.get(tenant);
        // The use is counted before `is_subscribed` is read, because `end_use` clears `is_subscribed` before it reads
        // the uses: one of the two sees the other.
        let subscription = TenantSubscription::begin(state.clone());
        if state.receives_all() || self.publications.server().is_none() {
            return Ok(subscription);
        }
        let _joining = state.joining.lock().await;
        if state.receives_all() {
            return Ok(subscription);
        }
        let listening = self.publications.listening.lock().clone();
        let listening = listening.ok_or_else(|| Error::unavailable("the database is not reachable"))?;
        state.is_stale.store(false, Ordering::Release);
        listening.batch_execute(&format!("LISTEN \"{}\"", channel(tenant))).await?;
        self.join_tenant(&state, true).await?;
        // If the connection was lost meanwhile, the code that replaced it did not see this tenant among those it
        // listens to.
        let is_same = |current: &Arc<Client>| Arc::ptr_eq(current, &listening);
        let current = self.publications.listening.lock();
        if !current.as_ref().is_some_and(is_same) {
            return Err(Error::unavailable("the connection to the database was lost"));
        }
        state.is_subscribed.store(true, Ordering::SeqCst);
        Ok(subscription)
    }

    /// Joins a tenant: adds the row of this server, and waits until every transaction has ended that may not have
    /// seen it.
    pub(super) async fn join_tenant(&self, state: &SharedTenant, is_subscribed: bool) -> Result<()> {
        self.wait_until_known().await?;
        let client = self.loader().await?;
        let server = self.publications.server();
        state.has_joined.store(true, Ordering::Release);
        if client.execute(JOIN, &[&server, &state.tenant.as_str(), &is_subscribed]).await? == 0 {
            return Err(Error::unavailable("this server does not take part at this moment"));
        }
        wait_for_running(&client, &state.tenant).await
    }

    /// Waits until this server is registered, and until each transaction of every other server asserts that no other
    /// server has joined the tenant. It is called at the start. The connections of a server that does not respond are
    /// ended, because it may be paused in the middle of a transaction that does not assert.
    ///
    /// # Errors
    /// `Unavailable` when the database is not reachable; `Database`.
    pub async fn wait_until_known(&self) -> Result<()> {
        let (begun, server) = (Instant::now(), self.publications.server());
        if server.is_none() || self.publications.is_known.load(Ordering::Acquire) {
            return Ok(());
        }
        // The listening connection, which registers this server, may need as long as a ping.
        let longest = CONNECT.max(self.ping);
        while !self.publications.is_registered.load(Ordering::Acquire) {
            if begun.elapsed() > longest {
                return Err(Error::unavailable("the database is not reachable"));
            }
            sleep(Duration::from_millis(5)).await;
        }
        let client = self.loader().await?;
        loop {
            let unaware = client.query(LIST_UNAWARE, &[&server]).await?;
            if unaware.is_empty() {
                break;
            }
            if begun.elapsed() > UNRESPONSIVE {
                let tokens: Vec<String> = unaware.iter().map(|row| row.get(0)).collect();
                tracing::warn!(
                    servers = tokens.len(),
                    "servers do not respond; their connections to the database are ended"
                );
                client.execute(END_CONNECTIONS, &[&tokens]).await?;
                break;
            }
            sleep(Duration::from_millis(50)).await;
        }
        self.publications.is_known.store(true, Ordering::Release);
        Ok(())
    }
}

/// Identifies a listening connection, to find out later whether everything was received since.
#[derive(Debug, Clone)]
pub struct ListeningConnection(Weak<Client>);

impl Publications {
    /// Returns the current listening connection.
    pub fn listening_connection(&self) -> ListeningConnection {
        ListeningConnection(self.listening.lock().as_ref().map(Arc::downgrade).unwrap_or_default())
    }

    /// Returns whether the listening connection has been the same since then.
    pub fn has_received_all_since(&self, then: &ListeningConnection) -> bool {
        let now = self.listening.lock();
        now.as_ref().is_some_and(|now| Weak::ptr_eq(&Arc::downgrade(now), &then.0))
    }
}

/// The state of one listening connection. It sends one statement at a time: a transaction of several statements would
/// also contain the `LISTEN` of a concurrent call of [`Database::subscribe`], which takes effect only when its
/// transaction commits.
pub(crate) struct Listening {
    client: Arc<Client>,
    /// Whether this server has been registered since this connection began.
    was_registered: bool,
    /// When this server first saw that the lease of another one ended long ago, or last ended the connections of such
    /// servers.
    dead_since: Option<Instant>,
}

impl Listening {
    /// Begins with a new listening connection: registers this server and listens to the same tenants as before. Ends
    /// the sessions of the tenants that may have missed something.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn begin(publications: &Arc<Publications>, client: Arc<Client>) -> Result<Self> {
        let Some(server) = publications.server() else { return Ok(Self::over(client, false)) };
        client.batch_execute("SET synchronous_commit = off").await?;
        let subscribed = publications.tenants.subscribed();
        let delivery_holds =
            subscribed.iter().map(|state| DeliveryHold::begin(state.clone(), publications.clone())).collect();
        // Those of an earlier connection end after the new ones have begun, so that nothing passes in between.
        let earlier = std::mem::replace(&mut *publications.delivery_holds.lock(), delivery_holds);
        drop(earlier);
        let listen: String =
            subscribed.iter().map(|state| format!("LISTEN \"{}\";", channel(&state.tenant))).collect();
        client.batch_execute(&listen).await?;
        // A standby, which accepts reads only, lets the registration fail although the connection works.
        let registered = match register(publications, &client, server).await {
            Err(error) if client.is_closed() => return Err(error),
            registered => registered.ok(),
        };
        let was_short = publications.lost_at.lock().is_none_or(|at| at.elapsed() < SHORT_LOSS);
        let mut unshared = Vec::new();
        if was_short && registered == Some(Registered::Before) {
            let ids: Vec<&str> = subscribed.iter().map(|state| state.tenant.as_str()).collect();
            let rows = client.query(LIST_UNSHARED, &[&ids, &server]).await?;
            unshared.extend(rows.iter().map(|row| row.get::<_, String>(0)));
        }
        let has_missed_nothing = |state: &SharedTenant| {
            !state.is_shared() && unshared.iter().any(|id| id == state.tenant.as_str())
        };
        subscribed
            .iter()
            .filter(|state| !has_missed_nothing(state))
            .for_each(|state| publications.forget(state));
        let decided = std::mem::take(&mut *publications.delivery_holds.lock());
        drop(decided);
        publications.lost_at.lock().take();
        *publications.listening.lock() = Some(client.clone());
        let mut listening = Self::over(client, registered.is_some());
        listening.check(publications).await?;
        Ok(listening)
    }

    fn over(client: Arc<Client>, was_registered: bool) -> Self {
        Self { client, was_registered, dead_since: None }
    }

    /// Ends the connections of servers whose lease ended long ago, when that has been so for a while.
    async fn end_dead(&mut self, server: i64, are_there: bool) {
        match (are_there, self.dead_since) {
            (false, _) => self.dead_since = None,
            (true, None) => self.dead_since = Some(Instant::now()),
            (true, Some(since)) if since.elapsed() > CERTAIN => {
                end_connections_of_dead(&self.client, server).await;
                self.dead_since = Some(Instant::now());
            }
            (true, Some(_)) => {}
        }
    }

    /// Checks whether other servers exist, and whether they still count this one as living.
    ///
    /// # Errors
    /// `Unavailable` or `Database`: the connection is lost.
    pub(crate) async fn check(&mut self, publications: &Arc<Publications>) -> Result<()> {
        let Some(server) = publications.server() else {
            self.client.simple_query("").await?;
            return Ok(());
        };
        match self.check_as(server, publications).await {
            Err(error) if self.client.is_closed() => Err(error),
            Err(error) => {
                publications.assume_peers();
                tracing::debug!(%error, "this server cannot be registered now");
                Ok(())
            }
            checked => checked,
        }
    }

    async fn check_as(&mut self, server: i64, publications: &Arc<Publications>) -> Result<()> {
        let mut asked_at = Instant::now();
        let mut peers = self.find_peers(server).await?;
        if peers.is_none_or(|peers| peers.has_dead) {
            // Without its row, the other servers count this one as dead until it registers again.
            publications.is_registered.store(peers.is_some(), Ordering::Release);
            self.register(server, publications).await?;
            asked_at = Instant::now();
            peers = self.find_peers(server).await?;
        }
        publications.is_registered.store(peers.is_some(), Ordering::Release);
        self.end_dead(server, peers.is_some_and(|peers| peers.has_gone)).await;
        let Some(Peers { exist, asserts, .. }) = peers else {
            publications.assume_peers();
            return Ok(());
        };
        match (exist, asserts) {
            (false, false) => {
                publications.learn_journals(&self.client).await?;
                publications.assume_alone(asked_at);
            }
            (false, true) => {
                self.client.execute(ASSERT_NO_MORE, &[&server]).await?;
            }
            (true, _) => publications.assume_peers(),
        }
        if exist && !asserts && publications.all_assert() {
            self.client.execute(ASSERT_FROM_NOW_ON, &[&server]).await?;
        }
        Ok(())
    }

    async fn find_peers(&self, server: i64) -> Result<Option<Peers>> {
        let row = self.client.query_opt(FIND_PEERS, &[&server, &DEAD_AFTER.as_secs_f64()]).await?;
        Ok(row.map(|row| Peers {
            exist: row.get(0),
            asserts: row.get(1),
            has_dead: row.get(2),
            has_gone: row.get(3),
        }))
    }

    /// Registers this server again if others counted it as dead, and removes the servers whose lease ended long ago.
    async fn register(&mut self, server: i64, publications: &Arc<Publications>) -> Result<()> {
        let registered = register(publications, &self.client, server).await?;
        let is_again = std::mem::replace(&mut self.was_registered, true);
        if registered == Registered::Now && is_again {
            tracing::warn!(
                "this server was paused for so long that others counted it as dead; its sessions of shared tenants end"
            );
            publications.tenants.subscribed().iter().for_each(|state| publications.forget(state));
        }
        Ok(())
    }
}

/// The other servers, as this one sees them.
#[derive(Debug, Clone, Copy)]
struct Peers {
    /// Whether another server is registered.
    exist: bool,
    /// Whether the transactions of this server assert.
    asserts: bool,
    /// Whether the lease of another registered one ended long ago.
    has_dead: bool,
    /// Whether the lease of another one ended long ago, registered or not.
    has_gone: bool,
}

/// Whether this server was registered before or is newly registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Registered {
    Before,
    Now,
}

/// Registers this server, unless it is registered. One statement.
///
/// # Errors
/// `Unavailable` while the server holds no slot; `Database`.
async fn register(publications: &Publications, client: &Client, server: i64) -> Result<Registered> {
    let parameters: [&(dyn ToSql + Sync); 3] = [&server, &publications.token(), &DEAD_AFTER.as_secs_f64()];
    match client.query_one(REGISTER, &parameters).await?.get(0) {
        Some(true) => {
            publications.is_known.store(false, Ordering::Release);
            Ok(Registered::Now)
        }
        Some(false) => Ok(Registered::Before),
        None => Err(Error::unavailable("this server holds no slot at this moment")),
    }
}

impl Publications {
    /// Notes that a tenant was suspended or deleted, so that the row of this server may be gone. The next
    /// subscription joins the tenant again.
    pub fn tenant_changed(&self, tenant: &TenantId) {
        self.tenants.get(tenant).is_stale.store(true, Ordering::Release);
    }

    /// Returns whether this server receives everything that others publish for a tenant.
    pub fn receives(&self, tenant: &TenantId) -> bool {
        self.tenants.get(tenant).receives_all()
    }

    /// Ends the sessions of a tenant, because they may have missed notifications. The next subscription joins it
    /// again.
    pub(super) fn forget(self: &Arc<Self>, state: &SharedTenant) {
        state.is_subscribed.store(false, Ordering::Release);
        let tenant = &state.tenant;
        tracing::warn!(%tenant, "notifications of other servers may have been missed; the sessions of the tenant end");
        self.end_sessions(tenant);
    }

    /// Notes that the listening connection is lost.
    pub(crate) fn lost(&self) {
        if self.listening.lock().take().is_some() {
            self.lost_at.lock().get_or_insert_with(Instant::now);
        }
        self.assume_peers();
    }

    /// Notes that no other server was registered at this moment.
    fn assume_alone(&self, asked_at: Instant) {
        *self.alone_at.lock() = Some(asked_at);
    }

    /// Notes that another server may exist: from now on, each transaction asserts.
    fn assume_peers(&self) {
        self.alone_at.lock().take();
    }

    /// Returns whether every running transaction asserts.
    fn all_assert(&self) -> bool {
        self.alone_at.lock().is_none() && self.unasserted.load(Ordering::Acquire) == 0
    }
}
