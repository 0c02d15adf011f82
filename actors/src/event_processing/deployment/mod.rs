//! What this process runs of the tenants' modules.
//!
//! Modules of a tenant are planned together and run by one process at a time, which holds a lease: [`Hold`] is its belief in that,
//! [`sweep`] takes leases, renews them and loses them, and while one is held the tenant's [`TenantRunner`] makes what runs what is
//! deployed. [`changes`] decides what a change of a module comes to.

mod beside_others;
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
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::timeout;

use super::OutboundRequest;
use super::look_ups::{LookUpPath, StoreLookUps};
use super::writes::TenantWrites;
use crate::error::Result;
use crate::limits::Limits;
use crate::model::id::{IdGenerator, TenantId};
use crate::model::links::Links;
use crate::platform::{Platform, Tenant};
use crate::store::Database;
use crate::store::module_holders::{self, ModuleHold};
use crate::store::module_session::ModuleSession;
use crate::tenant::place_of_tenant;
use clock::Clock;
use hold::Hold;
use runner::{Over, Reconcile, TenantRunner};

/// Changes of modules that are decided at a time in this process, and tenants whose modules are planned: that takes a core each.
const CHANGES: usize = 2;
/// Steps at a time that look something up, so that they do not take all connections.
const LOOKING_UP: usize = 4;
/// Requests to other servers that may wait to be made.
const OUTBOUND: usize = 1000;
/// Who changes a module waits so long until what runs has followed.
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
    /// Leases are taken and lost one after the other, by a connection of their own: they are renewed however busy the server is. None
    /// while it is lost.
    session: tokio::sync::Mutex<Option<ModuleSession>>,
    /// Something changed: leases and modules are looked after at once.
    due: Notify,
    /// Turns to decide a change of modules.
    pub(crate) changing: Semaphore,
    /// Turns to plan what was deployed.
    planning: Semaphore,
    look_ups: LookUpPath,
    /// Turns to take a step that looks something up.
    turns: Arc<Semaphore>,
    requests: mpsc::Sender<OutboundRequest>,
    requested: Mutex<Option<mpsc::Receiver<OutboundRequest>>>,
}

/// A tenant whose modules this process runs.
struct Held {
    hold: Arc<Hold>,
    tenant: Arc<Tenant>,
    runner: Addr<TenantRunner>,
}

/// What modules of all tenants work with.
pub(crate) struct Foundation {
    pub(crate) platform: Weak<Platform>,
    pub(crate) database: Database,
    /// The number of this process.
    pub(crate) process: i64,
    pub(crate) limits: Arc<Limits>,
    pub(crate) ids: Arc<IdGenerator>,
}

impl Deployments {
    /// Starts the threads of modules; none runs yet.
    pub(crate) fn new(foundation: Foundation, look_ups: LookUpPath) -> Self {
        let Foundation { platform, database, process, limits, ids } = foundation;
        let (requests, requested) = mpsc::channel(OUTBOUND);
        Self {
            platform,
            database,
            process,
            threads: (0..limits.module_threads.max(1)).map(|_| Arbiter::new().handle()).collect(),
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
            turns: Arc::new(Semaphore::new(LOOKING_UP)),
            requests,
            requested: Mutex::new(Some(requested)),
        }
    }

    /// The requests that modules send to other servers; `None` when somebody took them.
    pub(crate) fn take_outbound_requests(&self) -> Option<mpsc::Receiver<OutboundRequest>> {
        self.requested.lock().take()
    }

    /// What links start with in what modules tell.
    fn links(&self) -> Links {
        self.links.get().cloned().unwrap_or_else(|| Links::new(String::new()))
    }

    /// What the modules of a tenant look things up by.
    fn look_ups(&self, tenant: &TenantId) -> StoreLookUps {
        StoreLookUps::new(self.look_ups.clone(), tenant.clone())
    }

    /// What the modules of a tenant write through, as long as they are held by this number.
    fn writes(&self, tenant: &TenantId, fence: i64) -> TenantWrites {
        let reads = self.look_ups.database().clone();
        let (platform, links, requests) = (self.platform.clone(), self.links(), self.requests.clone());
        TenantWrites::new(platform, (tenant.clone(), fence), reads, links, &self.limits, requests)
    }

    /// Something about modules or tenants changed.
    pub(crate) fn look_soon(&self) {
        self.due.notify_one();
    }

    /// A module of the tenant was deployed through this process: it runs the tenant's modules from now on, unless another one does.
    /// Returns when what runs here is what is deployed.
    pub(crate) async fn deployed(self: &Arc<Self>, tenant: &TenantId) {
        let taken = self.take(tenant).await;
        if let Err(error) = taken {
            tracing::debug!(%error, tenant.id = %tenant, "modules cannot be taken on now");
        }
        self.changed(tenant).await;
    }

    /// Modules of the tenant changed through this process. Returns when what runs here is what is deployed.
    pub(crate) async fn changed(&self, tenant: &TenantId) {
        let runner = self.held.lock().get(tenant).map(|held| held.runner.clone());
        if let Some(runner) = runner {
            let settled = timeout(SETTLED, runner.send(Reconcile { generation: None })).await;
            if !matches!(settled, Ok(Ok(Ok(())))) {
                tracing::debug!(tenant.id = %tenant, "modules follow later what was changed");
            }
        }
        self.look_soon();
    }

    async fn take(self: &Arc<Self>, tenant: &TenantId) -> Result<()> {
        let session = self.session.lock().await;
        let Some(session) = session.as_ref().filter(|_| !self.held.lock().contains_key(tenant)) else {
            return Ok(());
        };
        let (asked, lease) = (Instant::now(), self.limits.module_lease);
        if let Some(fence) = module_holders::take(session, tenant, self.process, lease).await? {
            self.begin(tenant, Arc::new(Hold::new(fence, asked, lease)));
        }
        Ok(())
    }

    /// Runs the modules of a tenant from now on.
    fn begin(self: &Arc<Self>, id: &TenantId, hold: Arc<Hold>) {
        let Some(platform) = self.platform.upgrade() else { return };
        let tenant = platform.tenant(id);
        let thread = &self.threads[place_of_tenant(id, self.threads.len())];
        let (deployments, context, held) = (self.clone(), tenant.context().clone(), hold.clone());
        let runner =
            TenantRunner::start_in_arbiter(thread, move |_| TenantRunner::new(deployments, context, held));
        tracing::debug!(tenant.id = %id, "this process runs the modules of the tenant");
        let held = Held { hold: hold.clone(), tenant, runner };
        if let Some(before) = self.held.lock().insert(id.clone(), held) {
            before.runner.do_send(Over);
            if !Arc::ptr_eq(&before.hold, &hold) {
                before.hold.end();
            }
        }
    }

    /// Does not run the modules of a tenant any more.
    fn end(&self, tenant: &TenantId) {
        if let Some(held) = self.held.lock().remove(tenant) {
            tracing::debug!(tenant.id = %tenant, "this process does not run the modules of the tenant any more");
            held.end();
        }
    }

    /// Lets other processes go on at once with what this one runs. It runs nothing any more itself; what modules remember is lost
    ///
    pub(crate) async fn give_back(&self) {
        let session = self.session.lock().await.take();
        let held: Vec<(TenantId, Held)> = self.held.lock().drain().collect();
        let own: Vec<ModuleHold> = held.iter().map(|(tenant, held)| held.to_hold(tenant)).collect();
        held.iter().for_each(|(_, held)| held.end());
        // Without a connection they have ended with it.
        let Some(session) = session else { return };
        if let Err(error) = module_holders::give_back(&session, &own).await {
            tracing::warn!(%error, "modules go on elsewhere when the lease ends or this process has");
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
