//! The platform of a server process, which the HTTP layer uses: it finds or starts tenants, devices and sessions.

mod activity;
mod arrivals;
mod bulk_operations;
mod changes;
mod consumers;
mod diagnosis;
mod draining;
mod modules;
mod notification_diagnosis;
mod questions;
mod server_messages;
mod sessions;
mod shown_sessions;
mod tenant;
mod tenant_limits;
mod traces;
mod user_sessions;
mod vitals;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use parking_lot::{Mutex, RwLock};
use platform_store::Pool;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::oneshot;
use tokio::time::timeout;

pub use activity::Activity;
pub use arrivals::Pulled;
use changes::Forget;
pub use changes::{Changed, Holders, Names};
pub use draining::OfferedSessions;
pub use notification_diagnosis::DiagnosisRequest;
use platform_model::error::{Error, Result};
use platform_model::hex::hex;
use platform_model::id::{IdGenerator, ManagedObjectId, TenantId};
use platform_model::limits::Limits;
use platform_model::realtime::client_session::SessionsOfServer;
use platform_store::Database;
use platform_store::data::alarms::bulk_updates::{self, Held, NewBulkAlarmUpdate, insert_bulk_alarm_update};
use platform_store::leases;
use platform_store::writer::{Writer, WriterHandle};
use questions::Questions;
pub use shown_sessions::{FoundSessions, WantedSessions};
pub use tenant::Tenant;
use traces::Traces;
pub use traces::{FailedRequest, FoundRecords, Refusal};
pub use user_sessions::NotedSessions;

use crate::background::bulk_alarm_update::{BulkAlarmUpdate, BulkAlarmUpdates};
use crate::background::bulk_operation::BulkOperations;
use crate::background::silence::clear_alarm;
use crate::event_processing::deployment::{Deployments, SharedDependencies};
use crate::event_processing::look_ups::LookUpPath;
use crate::heartbeats::Heartbeats;
use crate::session::dispatcher::SessionDispatcher;
use crate::session::presence::Presence;
use crate::session::{ClientId, Release, SessionActor};
use crate::session_moves::Transfers;
use crate::tenant::place;

/// The running platform of one server process.
pub struct Platform {
    database: Database,
    limits: Arc<Limits>,
    ids: Arc<IdGenerator>,
    threads: Vec<ActorThread>,
    presence: Addr<Presence>,
    tenants: RwLock<HashMap<TenantId, Arc<Tenant>>>,
    bulk_alarm_updates: Arc<BulkAlarmUpdates>,
    bulk_operations: Arc<BulkOperations>,
    modules: Arc<Deployments>,
    /// The connections for bulk registrations, so that these take none from devices. There is one, because
    /// registrations wait for each other anyway.
    registrations: Pool,
    /// The sessions that are moving to or from this server.
    transfers: Arc<Transfers>,
    /// The threads of connections, on which sessions live.
    session_threads: Mutex<Vec<Addr<SessionDispatcher>>>,
    /// The open requests to other servers for their sessions.
    questions: Questions<SessionsOfServer>,
    traces: Traces,
    /// The activity of tenants in the last few seconds.
    activity: Mutex<Activity>,
    /// The functions that remove outdated entries from the caches of the HTTP layer.
    forget: Forget,
}

/// The state of a bulk update when its request receives a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkProgress {
    /// All alarms are changed.
    Finished,
    /// The update continues in the background.
    GoesOn,
}

/// An actor thread with its writer and heartbeats.
struct ActorThread {
    arbiter: ArbiterHandle,
    writer: WriterHandle,
    heartbeats: Addr<Heartbeats>,
}

/// The name of the secret by which servers recognize each other's clientIds.
const SESSION_SECRET: &str = "session_secret";
/// The clients of a stopping server that return in one second.
const RELEASED_PER_SECOND: usize = 2000;
/// The longest time that the client of a stopping server is advised to wait.
const LONGEST_RELEASE: Duration = Duration::from_secs(5);

/// Draws a secret.
///
/// # Panics
/// When the system's random source fails; the server can create no secrets then.
fn new_secret() -> String {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system's random source works");
    hex(&bytes)
}

/// Returns the error for a process that has no number yet.
fn not_joined() -> Error {
    Error::unavailable("this process is not among the servers of the deployment")
}

impl Platform {
    /// Starts `actor_threads` actor threads with their writers. The schema must be up to date, and the process must
    /// have joined the servers of the deployment ([`Database::join`]).
    ///
    /// # Errors
    /// `Unavailable` when the process has not joined or the database is away; `Database`.
    pub async fn start(database: Database, limits: Limits, actor_threads: usize) -> Result<Arc<Self>> {
        let process = database.membership().incarnation().ok_or_else(not_joined)?;
        database.load_tenant_limits().await?;
        let ids = database.membership().ids().clone();
        let arbiters: Vec<_> = (0..actor_threads.max(1)).map(|_| Arbiter::new().handle()).collect();
        let writers = Writer::start_in(&arbiters, &database, &limits)?;
        let limits = Arc::new(limits);
        // Background writes have connections of their own, so they take none from requests.
        let background = database.writer_pool()?;
        let registrations = database.writer_pool()?;
        let presence = Presence::new(background.clone(), process, &limits);
        let presence = Presence::start_in_arbiter(&arbiters[0], |_| presence);
        let bulk_operations = Arc::new(BulkOperations::new(&database)?);
        let look_ups = LookUpPath::new(&database)?;
        let secret = database.agree(SESSION_SECRET, &new_secret()).await?;
        let transfers = Transfers::new(database.clone(), secret.as_bytes(), process);
        let platform = Arc::new_cyclic(|platform| {
            let thread = |(writer, arbiter): (WriterHandle, ArbiterHandle)| {
                let heartbeats =
                    Heartbeats::new(background.clone(), limits.clone(), clear_alarm(platform.clone()));
                let heartbeats = Heartbeats::start_in_arbiter(&arbiter, |_| heartbeats);
                ActorThread { arbiter, writer, heartbeats }
            };
            let threads = writers.into_iter().zip(arbiters).map(thread).collect();
            let foundation = SharedDependencies {
                platform: platform.clone(),
                database: database.clone(),
                process,
                limits: limits.clone(),
                ids: ids.clone(),
            };
            let modules = Arc::new(Deployments::new(foundation, look_ups));
            Self {
                database: database.clone(),
                limits: limits.clone(),
                ids,
                threads,
                presence,
                tenants: RwLock::default(),
                bulk_alarm_updates: Arc::default(),
                bulk_operations,
                modules,
                registrations,
                transfers,
                session_threads: Mutex::default(),
                questions: Questions::default(),
                traces: Traces::default(),
                activity: Mutex::default(),
                forget: Forget::default(),
            }
        });
        platform.install_handlers(process);
        Ok(platform)
    }

    fn install_handlers(self: &Arc<Self>, process: i64) {
        self.install_change_handler();
        self.install_publication_handler(process);
        self.install_session_handler(process);
    }

    /// Returns the database, for reads.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Returns a new id that is unique in the deployment and rises with time (C-13). Used for objects that are
    /// created without an actor.
    ///
    /// # Errors
    /// `Unavailable` while this server holds no slot.
    pub fn next_id(&self) -> Result<i64> {
        self.ids.next()
    }

    pub(crate) fn ids(&self) -> &IdGenerator {
        &self.ids
    }

    pub(crate) fn registrations(&self) -> &Pool {
        &self.registrations
    }

    /// Returns the configured limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns a tenant, which starts on first use. A tenant whose actor died starts again without sessions, and its
    /// devices reload.
    pub fn tenant(&self, id: &TenantId) -> Arc<Tenant> {
        if let Some(tenant) = self.tenants.read().get(id).filter(|tenant| tenant.address.connected()) {
            return tenant.clone();
        }
        let mut tenants = self.tenants.write();
        if let Some(tenant) = tenants.get(id).filter(|tenant| tenant.address.connected()) {
            return tenant.clone();
        }
        let tenant = Arc::new(self.start_tenant(id));
        tenants.insert(id.clone(), tenant.clone());
        tenant
    }

    /// Removes the cached options of a tenant, because one of them changed.
    fn forget_options(&self, tenant: &TenantId) {
        if let Some(tenant) = self.tenants.read().get(tenant) {
            tenant.forget_options();
        }
    }

    /// Changes the status of many alarms. The function returns when the update is complete or after half a
    /// second. After that the update continues in the background, and another process continues it if this one dies.
    ///
    /// # Errors
    /// `Unavailable` or `Database` when the update was not started.
    pub async fn update_alarms(&self, tenant: &TenantId, new: NewBulkAlarmUpdate) -> Result<BulkProgress> {
        let (id, lease) = (self.ids.next()?, self.limits.bulk_lease);
        let held = insert_bulk_alarm_update(&self.database, tenant, id, new, lease).await?;
        let finished = self.start_bulk_update(held);
        Ok(match timeout(self.limits.bulk_alarm_reply, finished).await {
            Ok(Ok(())) => BulkProgress::Finished,
            // The update still runs, or it stopped and will be taken over.
            Ok(Err(_)) | Err(_) => BulkProgress::GoesOn,
        })
    }

    /// Starts the actor of a bulk update.
    fn start_bulk_update(&self, held: Held) -> oneshot::Receiver<()> {
        let (finish, finished) = oneshot::channel();
        let thread = place(ManagedObjectId(held.id), self.threads.len());
        let tenant = self.tenant(&held.tenant);
        let (context, devices) = (tenant.contexts[thread].clone(), tenant.devices.clone());
        let all = self.bulk_alarm_updates.clone();
        BulkAlarmUpdate::start_in_arbiter(&self.threads[thread].arbiter, move |_| {
            BulkAlarmUpdate::new(held, all, context, devices, finish)
        });
        finished
    }

    /// Takes over bulk updates whose process died, and renews the leases of this process. It must be called several
    /// times per lease.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn keep_bulk_updates_going(&self) -> Result<()> {
        let lease = self.limits.bulk_lease;
        let own = self.bulk_alarm_updates.leases.held();
        leases::renew(&self.database, bulk_updates::RENEW, &own, lease).await?;
        for held in bulk_updates::take_over(&self.database, lease).await? {
            tracing::info!(tenant.id = %held.tenant, bulk_alarm_update.id = held.id,
                "took over a bulk update of alarms from another process");
            drop(self.start_bulk_update(held));
        }
        Ok(())
    }

    /// Returns the tenants that were used since this process started.
    pub(crate) fn known_tenants(&self) -> Vec<(TenantId, Arc<Tenant>)> {
        let tenants = self.tenants.read();
        tenants.iter().map(|(id, tenant)| (id.clone(), tenant.clone())).collect()
    }

    /// Stops the actor threads. No acknowledged write is lost, because it is committed already.
    pub fn stop(&self) {
        for thread in &self.threads {
            thread.arbiter.stop();
        }
        self.modules.stop();
    }

    /// Finds a session in any tenant. It searches one tenant after the other, so it is only for messages whose sender
    /// is known by clientId alone (B-18a).
    pub fn find_session(&self, client: ClientId) -> Option<(TenantId, Addr<SessionActor>)> {
        let tenants = self.tenants.read();
        tenants.iter().find_map(|(id, tenant)| Some((id.clone(), tenant.session(client)?)))
    }

    /// Completes every held connect with an empty response when the server stops. The clients of many sessions are
    /// advised to return one after the other, those of few at once (B-09a).
    pub fn release_sessions(&self) {
        let tenants: Vec<Arc<Tenant>> = self.tenants.read().values().cloned().collect();
        let sessions: Vec<_> = tenants.iter().flat_map(|tenant| tenant.sessions.all()).collect();
        let spread = release_spread(sessions.len());
        let count = sessions.len().max(1) as u32;
        for (n, session) in sessions.into_iter().enumerate() {
            // The stride shuffles the delays, so that neighbours in the table do not return together.
            let place = (n as u32).wrapping_mul(7919) % count;
            session.do_send(Release { interval: spread * place / count });
        }
    }
}

/// Returns the time over which the clients of this many sessions return after a stop.
fn release_spread(sessions: usize) -> Duration {
    LONGEST_RELEASE.min(Duration::from_secs((sessions / RELEASED_PER_SECOND) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_few_sessions_return_at_once_and_those_of_many_within_five_seconds() {
        for (sessions, seconds) in [(0, 0), (39, 0), (1999, 0), (4000, 2), (10_000, 5), (1_000_000, 5)] {
            assert_eq!(release_spread(sessions), Duration::from_secs(seconds), "{sessions} sessions");
        }
    }
}
