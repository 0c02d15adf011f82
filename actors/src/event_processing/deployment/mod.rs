//! The modules of the tenants that this process runs.
//!
//! Modules of a tenant are planned together and run by one process at a time, which holds a lease. [`Hold`] is the
//! lease from the holder's view; [`sweep`] acquires, renews and loses leases; while one is held, the tenant's
//! [`TenantRunner`] runs exactly the modules that are deployed. [`changes`] decides the result of a change of a
//! module.

pub(crate) mod changes;
pub(crate) mod clock;
pub(crate) mod hold;
mod off;
pub(crate) mod runner;
mod sweep;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use actix::prelude::*;
use parking_lot::Mutex;
use platform_model::error::Result;
use platform_model::id::{IdGenerator, TenantId};
use platform_model::limits::Limits;
use platform_model::links::Links;
use platform_store::applications::modules::holders::{self, ModuleHold};
use platform_store::applications::modules::session::ModuleSession;
use platform_store::{Database, Turns};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::timeout;

use super::OutboundRequest;
use super::look_ups::{LookUpPath, StoreLookUps};
use super::module_actor::ModuleTurns;
use super::writes::TenantWrites;
use crate::platform::{Platform, Tenant};
use crate::tenant::place_of_tenant;
use clock::Clock;
use hold::Hold;
use runner::{Over, Reconcile, TenantRunner};

/// The number of module changes that this process decides concurrently, and of tenants whose modules it plans: each
/// takes a core.
const CHANGES: usize = 2;
/// The number of concurrent steps that look something up, so that they do not occupy all connections.
const LOOKING_UP: usize = 4;
/// The number of requests to other servers that may be queued.
const OUTBOUND: usize = 1000;
/// The time that a request which changes a module waits until the running modules have followed.
const SETTLED: Duration = Duration::from_secs(5);

/// The modules that this process runs.
pub(crate) struct Deployments {
    platform: Weak<Platform>,
    database: Database,
    process: i64,
    limits: Arc<Limits>,
    ids: Arc<IdGenerator>,
    threads: Vec<ArbiterHandle>,
    clock: Clock,
    links: OnceLock<Links>,
    held: Mutex<HashMap<TenantId, Held>>,
    /// The connection by which this process holds its leases; they end with it. It belongs to no pool, so that leases
    /// are renewed however busy the server is. The lock makes changes of leases run one after the other.
    session: tokio::sync::Mutex<Session>,
    /// Notified when something changed: leases and modules are then checked at once.
    due: Notify,
    /// The permits to decide a change of modules.
    pub(crate) changing: Semaphore,
    /// The permits to plan the deployed modules.
    planning: Semaphore,
    look_ups: LookUpPath,
    /// The turns of steps that look something up.
    look_up_turns: Turns,
    /// The turns of the modules of each thread.
    turns: Vec<ModuleTurns>,
    requests: mpsc::Sender<OutboundRequest>,
    requested: Mutex<Option<mpsc::Receiver<OutboundRequest>>>,
}

/// The state of the connection that holds leases.
#[derive(Debug, Default)]
enum Session {
    /// It was not opened yet, because no tenant has a deployed module: each one costs PostgreSQL a process.
    #[default]
    NotNeeded,
    Open(ModuleSession),
    Lost,
}

/// A tenant whose modules this process runs.
struct Held {
    hold: Arc<Hold>,
    tenant: Arc<Tenant>,
    runner: Addr<TenantRunner>,
}

/// The dependencies that the modules of all tenants share.
pub(crate) struct SharedDependencies {
    pub(crate) platform: Weak<Platform>,
    pub(crate) database: Database,
    /// The number of this process.
    pub(crate) process: i64,
    pub(crate) limits: Arc<Limits>,
    pub(crate) ids: Arc<IdGenerator>,
}

/// The niceness of the threads on which modules compute. Others may wait for what they compute; requests of all tenants
/// do not wait for a processor because of them.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

fn start_thread() -> ArbiterHandle {
    let thread = Arbiter::new().handle();
    // On other systems the priority is that of the whole process.
    #[cfg(target_os = "linux")]
    thread.spawn_fn(|| {
        if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
            tracing::debug!(%error, "cannot lower the priority of module threads");
        }
    });
    thread
}

impl Deployments {
    /// Starts the threads of modules; no module runs yet.
    pub(crate) fn new(foundation: SharedDependencies, look_ups: LookUpPath) -> Self {
        let SharedDependencies { platform, database, process, limits, ids } = foundation;
        let (requests, requested) = mpsc::channel(OUTBOUND);
        let threads = limits.module_threads.max(1);
        Self {
            platform,
            database,
            process,
            threads: (0..threads).map(|_| start_thread()).collect(),
            turns: (0..threads).map(|_| ModuleTurns::default()).collect(),
            limits,
            ids,
            clock: Clock::system(),
            links: OnceLock::new(),
            held: Mutex::default(),
            session: tokio::sync::Mutex::default(),
            due: Notify::new(),
            changing: Semaphore::new(CHANGES),
            planning: Semaphore::new(CHANGES),
            look_ups,
            look_up_turns: Turns::new(LOOKING_UP),
            requests,
            requested: Mutex::new(Some(requested)),
        }
    }

    /// Returns the receiver of the requests that modules send to other servers; `None` when it was taken already.
    pub(crate) fn take_outbound_requests(&self) -> Option<mpsc::Receiver<OutboundRequest>> {
        self.requested.lock().take()
    }

    /// Returns the base of the links in notifications of modules.
    fn links(&self) -> Links {
        self.links.get().cloned().unwrap_or_else(|| Links::new(String::new()))
    }

    /// Returns the turns of the modules on the thread of a tenant.
    fn turns_of(&self, tenant: &TenantId) -> ModuleTurns {
        self.turns[place_of_tenant(tenant, self.turns.len())].clone()
    }

    /// Returns the look-ups of the modules of a tenant.
    fn look_ups(&self, tenant: &TenantId) -> StoreLookUps {
        StoreLookUps::new(self.look_ups.clone(), tenant.clone())
    }

    /// Returns the writer of the modules of a tenant, which is valid as long as they are held with this fence.
    fn writes(&self, tenant: &TenantId, fence: i64) -> TenantWrites {
        let reads = self.look_ups.database().clone();
        let (platform, links, requests) = (self.platform.clone(), self.links(), self.requests.clone());
        TenantWrites::new(platform, tenant.clone(), fence, reads, links, &self.limits, requests)
    }

    /// Returns whether this process runs the modules of a tenant.
    pub(crate) fn run(&self, tenant: &TenantId) -> bool {
        self.held.lock().contains_key(tenant)
    }

    /// Triggers a check of leases and modules after something about modules or tenants changed.
    pub(crate) fn check_soon(&self) {
        self.due.notify_one();
    }

    /// Reacts to a module of the tenant that was deployed through this process: it runs the tenant's modules from now
    /// on, unless another process does. Returns when the running modules are the deployed ones.
    pub(crate) async fn deployed(self: &Arc<Self>, tenant: &TenantId) {
        self.acquire_lease(tenant).await;
        self.changed(tenant).await;
    }

    /// Acquires the lease of a tenant's modules, unless another process holds it. It precedes the change that deploys a
    /// module: the first process that sees a stored module would run it, and may be slower than the response to the
    /// change. A lease without deployed modules is given back by the next check.
    pub(crate) async fn acquire_lease(self: &Arc<Self>, tenant: &TenantId) {
        if let Err(error) = self.take(tenant).await {
            tracing::debug!(%error, tenant.id = %tenant, "the lease of the modules cannot be acquired now");
        }
    }

    /// Reacts to modules of the tenant that changed through this process. Returns when the running modules are the
    /// deployed ones.
    pub(crate) async fn changed(&self, tenant: &TenantId) {
        let runner = self.held.lock().get(tenant).map(|held| held.runner.clone());
        if let Some(runner) = runner {
            let settled = timeout(SETTLED, runner.send(Reconcile { generation: None })).await;
            if !matches!(settled, Ok(Ok(Ok(())))) {
                tracing::debug!(tenant.id = %tenant, "running modules could not follow the change yet");
            }
        }
        self.check_soon();
    }

    async fn take(self: &Arc<Self>, tenant: &TenantId) -> Result<()> {
        let mut session = self.session.lock().await;
        if self.run(tenant) {
            return Ok(());
        }
        if matches!(*session, Session::NotNeeded) {
            *session = Session::Open(self.open_session().await?);
        }
        let Session::Open(session) = &*session else { return Ok(()) };
        let (asked, lease) = (Instant::now(), self.limits.module_lease);
        if let Some(fence) = holders::take(session, tenant, self.process, lease).await? {
            let _subscription = self.database.subscribe(tenant).await?;
            self.begin(tenant, Arc::new(Hold::new(fence, asked, lease)), None);
        }
        Ok(())
    }

    /// Starts to run the modules of a tenant. `missed` is the reason why they may have missed events; it is recorded.
    fn begin(self: &Arc<Self>, id: &TenantId, hold: Arc<Hold>, missed: Option<&'static str>) {
        let Some(platform) = self.platform.upgrade() else { return };
        let tenant = platform.tenant(id);
        let thread = &self.threads[place_of_tenant(id, self.threads.len())];
        let (deployments, context, held) = (self.clone(), tenant.context().clone(), hold.clone());
        let runner = TenantRunner::start_in_arbiter(thread, move |_| {
            TenantRunner::new(deployments, context, held, missed)
        });
        tracing::debug!(tenant.id = %id, "this process runs the modules of the tenant");
        let held = Held { hold: hold.clone(), tenant, runner };
        if let Some(before) = self.held.lock().insert(id.clone(), held) {
            before.runner.do_send(Over);
            if !Arc::ptr_eq(&before.hold, &hold) {
                before.hold.end();
            }
        }
    }

    /// Stops running the modules of a tenant.
    fn end(&self, tenant: &TenantId) {
        if let Some(held) = self.held.lock().remove(tenant) {
            tracing::debug!(tenant.id = %tenant, "this process no longer runs the modules of the tenant");
            held.end();
        }
    }

    /// Gives back all leases, so that other processes continue at once. This process runs no module any more; the state
    /// of the modules is lost.
    pub(crate) async fn give_back(&self) {
        let session = std::mem::replace(&mut *self.session.lock().await, Session::Lost);
        let held: Vec<(TenantId, Held)> = self.held.lock().drain().collect();
        let own: Vec<ModuleHold> = held.iter().map(|(tenant, held)| held.to_hold(tenant)).collect();
        held.iter().for_each(|(_, held)| held.end());
        // Without a connection the leases have ended already.
        let Session::Open(session) = session else { return };
        if let Err(error) = holders::give_back(&session, &own).await {
            tracing::warn!(%error, "leases of modules could not be given back and last until they expire");
        }
    }

    /// Ends the threads of modules.
    pub(crate) fn stop(&self) {
        for thread in &self.threads {
            thread.stop();
        }
    }
}

impl Held {
    fn end(&self) {
        self.hold.end();
        self.runner.do_send(Over);
    }

    fn to_hold(&self, tenant: &TenantId) -> ModuleHold {
        ModuleHold { tenant: tenant.clone(), fence: self.hold.fence() }
    }
}
