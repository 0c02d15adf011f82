//! What the edge holds: finds or starts tenants, devices and sessions.

mod bulk_operations;
mod changes;
mod modules;
mod tenant;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use deadpool_postgres::Pool;
use parking_lot::RwLock;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use changes::Forget;
pub use changes::{Changed, Holders, Names};
pub use tenant::Tenant;

use crate::bulk_alarm_update::{BulkAlarmUpdate, BulkAlarmUpdates};
use crate::bulk_operation::BulkOperations;
use crate::device::{self, RememberedMappings};
use crate::error::Result;
use crate::event_processing::deployment::{Deployments, Foundation};
use crate::event_processing::feed::Feeds;
use crate::event_processing::look_ups::LookUpPath;
use crate::heartbeats::Heartbeats;
use crate::hub::{Audience, NotificationHub};
use crate::limits::Limits;
use crate::model::id::{IdGenerator, ManagedObjectId, TenantId};
use crate::presence::Presence;
use crate::registry::Registry;
use crate::session::{ClientId, Home, Release, SessionActor, Sessions};
use crate::store::Database;
use crate::store::bulk_alarm_updates::{self, Held, NewBulkAlarmUpdate, insert_bulk_alarm_update};
use crate::store::leases;
use crate::tenant::{TenantActor, place, place_of_tenant};
use crate::writer::{Writer, WriterHandle};

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
    /// For bulk registrations, which take no connection from devices; there is one, for they would only wait for each other.
    registrations: Pool,
    /// How the edge forgets what changed.
    forget: Forget,
}

/// How a bulk update stands when its request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkProgress {
    /// Everything is changed.
    Finished,
    /// It goes on in the background.
    GoesOn,
}

/// A thread that devices live on, with the writer they use.
struct ActorThread {
    arbiter: ArbiterHandle,
    writer: WriterHandle,
    heartbeats: Addr<Heartbeats>,
}

impl Platform {
    /// Starts `actor_threads` threads for devices and their writers. The schema must be up to date.
    ///
    /// # Errors
    /// `Unavailable` when PostgreSQL is away.
    pub async fn start(database: Database, limits: Limits, actor_threads: usize) -> Result<Arc<Self>> {
        let process = database.draw_process_number().await?;
        let ids = Arc::new(IdGenerator::new(process).beyond(database.find_greatest_id().await?));
        let writers = (0..actor_threads.max(1))
            .map(|_| {
                let arbiter = Arbiter::new().handle();
                Ok((Writer::start_in(&arbiter, &database, &limits)?, arbiter))
            })
            .collect::<Result<Vec<_>>>()?;
        let limits = Arc::new(limits);
        // What is written now and then takes no connection from those who wait for an answer.
        let background = database.writer_pool()?;
        let registrations = database.writer_pool()?;
        let presence = Presence::new(background.clone(), process, &limits);
        let presence = Presence::start_in_arbiter(&writers[0].1, |_| presence);
        let bulk_operations = Arc::new(BulkOperations::new(&database)?);
        let look_ups = LookUpPath::new(&database)?;
        let platform = Arc::new_cyclic(|platform| {
            let thread = |(writer, arbiter): (WriterHandle, ArbiterHandle)| {
                let heartbeats = Heartbeats::new(background.clone(), limits.clone(), platform.clone());
                let heartbeats = Heartbeats::start_in_arbiter(&arbiter, |_| heartbeats);
                ActorThread { arbiter, writer, heartbeats }
            };
            let threads = writers.into_iter().map(thread).collect();
            let foundation = Foundation {
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
                forget: Forget::default(),
            }
        });
        platform.carry_changes_out();
        Ok(platform)
    }

    /// The database, for reads.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// A new id: unique in the deployment and rising with time (C-13). For what is created without an actor.
    pub fn next_id(&self) -> i64 {
        self.ids.next()
    }

    pub(crate) fn ids(&self) -> &IdGenerator {
        &self.ids
    }

    pub(crate) fn registrations(&self) -> &Pool {
        &self.registrations
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A tenant, started on first use. One whose actor died starts afresh: its sessions are gone, its devices reload.
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

    fn start_tenant(&self, id: &TenantId) -> Tenant {
        let arbiter = &self.threads[place_of_tenant(id, self.threads.len())].arbiter;
        let (devices, sessions) = (Arc::<Registry<_, _>>::default(), Arc::<Sessions>::default());
        let (tenant, database, audience) = (id.clone(), self.database.clone(), Audience::default());
        let listened = audience.clone();
        let hub = NotificationHub::start_in_arbiter(arbiter, move |_| {
            NotificationHub::new(tenant, database, listened)
        });
        let (mappings, feeds) = (Arc::<RememberedMappings>::default(), Feeds::default());
        let context = |thread: &ActorThread| device::Context {
            tenant: id.clone(),
            database: self.database.clone(),
            writer: thread.writer.clone(),
            heartbeats: thread.heartbeats.clone(),
            presence: self.presence.clone(),
            hub: hub.clone(),
            audience: audience.clone(),
            feeds: feeds.clone(),
            ids: self.ids.clone(),
            devices: devices.clone(),
            limits: self.limits.clone(),
            mappings: mappings.clone(),
        };
        let contexts: Vec<device::Context> = self.threads.iter().map(context).collect();
        let places: Vec<_> =
            self.threads.iter().map(|thread| thread.arbiter.clone()).zip(contexts.iter().cloned()).collect();
        let (shared, limits) = (sessions.clone(), self.limits.clone());
        let address = TenantActor::start_in_arbiter(arbiter, move |ctx| {
            let home = Home { hub, tenant: ctx.address(), sessions: shared, limits };
            TenantActor::new(Arc::new(home), places)
        });
        Tenant { address, devices, sessions, contexts, ids: self.ids.clone() }
    }

    /// Forgets what is remembered of a tenant's options, because one of them changed.
    fn forget_options(&self, tenant: &TenantId) {
        if let Some(tenant) = self.tenants.read().get(tenant) {
            tenant.forget_options();
        }
    }

    /// Changes the status of many alarms. Replies when that is finished, or after half a second; then it goes on in the
    /// background, and survives the end of this process.
    ///
    /// # Errors
    /// `Unavailable` or `Database`: then nothing was begun.
    pub async fn update_alarms(&self, tenant: &TenantId, new: NewBulkAlarmUpdate) -> Result<BulkProgress> {
        let (place, lease) = ((tenant, self.ids.next()), self.limits.bulk_lease);
        let held = insert_bulk_alarm_update(&self.database, place, new, lease).await?;
        let finished = self.go_on(held);
        Ok(match timeout(self.limits.bulk_alarm_reply, finished).await {
            Ok(Ok(())) => BulkProgress::Finished,
            // It still runs; or it stopped, and will be taken up again.
            Ok(Err(_)) | Err(_) => BulkProgress::GoesOn,
        })
    }

    /// Starts the actor of a bulk update.
    fn go_on(&self, held: Held) -> oneshot::Receiver<()> {
        let (finish, finished) = oneshot::channel();
        let thread = place(ManagedObjectId(held.id), self.threads.len());
        let context = self.tenant(&held.tenant).contexts[thread].clone();
        let all = self.bulk_alarm_updates.clone();
        BulkAlarmUpdate::start_in_arbiter(&self.threads[thread].arbiter, move |_| {
            BulkAlarmUpdate::new(held, all, context, finish)
        });
        finished
    }

    /// Goes on with bulk updates whose process is gone, and shows that this one is not, until it is dropped.
    pub async fn keep_bulk_updates_going(self: Arc<Self>) {
        let lease = self.limits.bulk_lease;
        loop {
            if let Err(error) = self.look_after_bulk_updates(lease).await {
                tracing::debug!(%error, "bulk updates of alarms cannot be looked after now");
            }
            sleep(lease / 3).await;
        }
    }

    async fn look_after_bulk_updates(&self, lease: Duration) -> Result<()> {
        let own = self.bulk_alarm_updates.leases.held();
        leases::renew(&self.database, bulk_alarm_updates::RENEW, &own, lease).await?;
        for held in bulk_alarm_updates::take_over(&self.database, lease).await? {
            tracing::info!(tenant.id = %held.tenant, bulk_alarm_update.id = held.id,
                "a bulk update of alarms goes on that another process began");
            drop(self.go_on(held));
        }
        Ok(())
    }

    /// The tenants that something happened in since this process started.
    pub(crate) fn living_tenants(&self) -> Vec<(TenantId, Arc<Tenant>)> {
        let tenants = self.tenants.read();
        tenants.iter().map(|(id, tenant)| (id.clone(), tenant.clone())).collect()
    }

    /// Ends the actor threads. Nothing acknowledged is lost by it: what is acknowledged is committed.
    pub fn stop(&self) {
        for thread in &self.threads {
            thread.arbiter.stop();
        }
        self.modules.stop();
    }

    /// A living session of whatever tenant. Only for messages whose sender is known by the clientId alone (B-18a): it looks
    /// into the sessions of one tenant after the other.
    pub fn find_session(&self, client: ClientId) -> Option<(TenantId, Addr<SessionActor>)> {
        let tenants = self.tenants.read();
        tenants.iter().find_map(|(id, tenant)| Some((id.clone(), tenant.session(client)?)))
    }

    /// The server is stopping: every held connect is answered empty, with the advice to come back after a time that is
    /// spread over `spread`, so that a fleet does not return as one.
    pub fn release_sessions(&self, spread: Duration) {
        let tenants: Vec<Arc<Tenant>> = self.tenants.read().values().cloned().collect();
        let sessions: Vec<_> = tenants.iter().flat_map(|tenant| tenant.sessions.all()).collect();
        let count = sessions.len().max(1) as u32;
        for (n, session) in sessions.into_iter().enumerate() {
            // Shuffled by a stride, so that neighbours in the table do not return together.
            let place = (n as u32).wrapping_mul(7919) % count;
            session.do_send(Release { interval: spread * place / count });
        }
    }
}
