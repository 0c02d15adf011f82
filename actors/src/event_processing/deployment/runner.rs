//! What this process runs of one tenant, while it holds the tenant's modules: an actor per module that is deployed.
//!
//! The database says what is deployed; the runner makes that so, again and again. A module that is the same as before, by its text,
//! its deployment and what it needs of other modules, goes on with all it remembers.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use actix::prelude::*;
use tokio::task::spawn_blocking;

use super::Deployments;
use super::hold::Hold;
use super::off::{Off, What};
use crate::device;
use crate::error::{Error, Result};
use crate::event_processing::module_actor::{
    Cause, Deployment, End, ModuleActor, Outlet, Renamed, Share, Steps, Total, Trouble, Wake, Workplace,
};
use crate::event_processing::plan::ModulePlan;
use crate::event_processing::plan::tenant::{Planned, plan_all};
use crate::event_processing::writes::{TenantWrites, Writes};
use crate::metrics;
use crate::model::id::{ModuleId, TenantId};
use crate::model::module::StatementOff;
use crate::store::module_changes::{StoredModule, list_deployed};

/// Makes what runs what is deployed. Sent when something changed, and now and then with the generation that was seen: then nothing
/// is read when it is the one known already. Replies when the modules run.
#[derive(Debug, Message)]
#[rtype(result = "Result<()>")]
pub(crate) struct Reconcile {
    pub(crate) generation: Option<i64>,
}

/// A module ended because it asked for too much. Sent by its actor.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct SwitchedOff {
    pub(crate) deployment: Deployment,
    pub(crate) trouble: Trouble,
}

/// Statements of a module ended because they asked for too much; the others go on. Sent by its actor.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct StatementsOff {
    pub(crate) deployment: Deployment,
    pub(crate) off: Vec<StatementOff>,
}

/// This process does not hold the tenant's modules any more.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Over;

/// Runs the modules of one tenant.
pub(crate) struct TenantRunner {
    deployments: Arc<Deployments>,
    context: device::Context,
    hold: Arc<Hold>,
    retained: Arc<Total>,
    writes: Arc<TenantWrites>,
    running: HashMap<ModuleId, RunningModule>,
    /// Modules that cannot go on, by their deployments, until the database says so too.
    off: HashMap<ModuleId, i64>,
    /// What is to be written down, the first at the front.
    unwritten: VecDeque<Off>,
    writing: bool,
    /// Of what was read last: as long as it is the same, what runs is what is deployed.
    generation: Option<i64>,
}

/// A module as it runs.
struct RunningModule {
    deployment: i64,
    name: Arc<str>,
    plan: Arc<ModulePlan>,
    address: Addr<ModuleActor>,
    found_dead: bool,
}

impl TenantRunner {
    pub(crate) fn new(deployments: Arc<Deployments>, context: device::Context, hold: Arc<Hold>) -> Self {
        let retained = Total::new(deployments.limits.tenant_module_bytes);
        let writes = Arc::new(deployments.writes(&context.tenant, hold.fence()));
        Self {
            deployments,
            context,
            hold,
            retained,
            writes,
            running: HashMap::new(),
            off: HashMap::new(),
            unwritten: VecDeque::new(),
            writing: false,
            generation: None,
        }
    }

    fn tenant(&self) -> &TenantId {
        &self.context.tenant
    }

    /// Makes what runs what is deployed.
    fn settle(&mut self, deployed: &[StoredModule], mut planned: Planned, ctx: &mut Context<Self>) {
        self.running.retain(|id, running| {
            let goes_on = deployed.iter().any(|stored| {
                stored.module.id == *id
                    && stored.deployment == running.deployment
                    && planned.plans.get(id).is_some_and(|plan| plan.is_same_beside_others(&running.plan))
            });
            if !goes_on {
                running.address.do_send(End);
            }
            goes_on
        });
        self.off.retain(|id, deployment| {
            deployed.iter().any(|stored| (stored.module.id, stored.deployment) == (*id, *deployment))
        });
        for stored in deployed {
            let (id, name) = (stored.module.id, Arc::<str>::from(stored.module.name.as_str()));
            if self.off.contains_key(&id) {
                continue;
            }
            if let Some(running) = self.running.get_mut(&id) {
                if running.name != name {
                    running.name = name.clone();
                    running.address.do_send(Renamed(name));
                }
                continue;
            }
            match (planned.plans.remove(&id), planned.refused.remove(&id)) {
                (Some(plan), _) => self.start(stored, name, plan, ctx),
                (None, mistake) => {
                    let mistake = mistake.unwrap_or_default();
                    let text = format!("its text is not accepted any more: {mistake}");
                    let deployment = Deployment { module: id, number: stored.deployment };
                    self.note_off(deployment, Trouble::new(Cause::Plan, text));
                }
            }
        }
        self.write_off(ctx);
    }

    /// Starts a module that has seen nothing yet. When this returns it is fed.
    fn start(
        &mut self,
        stored: &StoredModule,
        name: Arc<str>,
        plan: Arc<ModulePlan>,
        ctx: &mut Context<Self>,
    ) {
        let deployment = Deployment { module: stored.module.id, number: stored.deployment };
        let place = Workplace {
            deployment,
            plan: plan.clone(),
            look_ups: Arc::new(self.deployments.look_ups(self.tenant())),
            turns: self.deployments.turns.clone(),
            clock: self.deployments.clock.clone(),
            hold: self.hold.clone(),
            runner: ctx.address(),
        };
        let (limits, clock) = (self.deployments.limits.clone(), self.deployments.clock.clone());
        let (planned, share) = (plan.clone(), Share::new(self.retained.clone()));
        let off = stored.module.switched_off.clone();
        let (context, writes) = (self.context.clone(), self.writes.clone());
        let called = name.clone();
        let address = ModuleActor::create(move |ctx| {
            let module = ctx.address();
            let wake = Box::new(move || module.do_send(Wake));
            let (module, queue) = (deployment.module, limits.module_queue);
            let feed = context.feeds.attach(module, planned.appetite(), queue, wake);
            let (faults, overflow) = (ctx.address().recipient(), ctx.address().recipient());
            let writes = Writes::start(writes, module, faults, overflow);
            let outlet = Outlet { module, name: called, context, writes };
            let steps = Steps::new(planned, limits.module_budget(), feed, clock, share).without(&off);
            ModuleActor::new(place, outlet, steps)
        });
        self.running.insert(
            deployment.module,
            RunningModule { deployment: deployment.number, name, plan, address, found_dead: false },
        );
    }

    /// Notes that a module cannot go on; what the database says of it follows.
    fn note_off(&mut self, deployment: Deployment, trouble: Trouble) {
        let (tenant, module) = (self.tenant().clone(), deployment.module);
        tracing::warn!(tenant.id = %tenant, module.id = %module, reason = trouble.text,
            "an event-processing module was switched off");
        metrics::modules_switched_off(trouble.cause.word()).increment(1);
        self.off.insert(module, deployment.number);
        self.unwritten.push_back(Off { deployment, what: What::Module(trouble.text) });
    }

    /// A module whose actor died without a word ended in a panic. One that is found dead may have said why, which is still to be
    /// heard; so it is told by the second look.
    fn note_dead(&mut self) {
        let mut dead = Vec::new();
        for (id, running) in self.running.iter_mut().filter(|(_, running)| !running.address.connected()) {
            if std::mem::replace(&mut running.found_dead, true) {
                dead.push(Deployment { module: *id, number: running.deployment });
            }
        }
        for deployment in dead {
            self.running.remove(&deployment.module);
            self.note_off(deployment, Trouble::new(Cause::Panic, "an internal error of the server"));
        }
    }

    /// Writes down what was switched off, one after the other. What cannot be written now is when it is tried again.
    fn write_off(&mut self, ctx: &mut Context<Self>) {
        let Some(off) = self.unwritten.front().filter(|_| !self.writing).cloned() else { return };
        self.writing = true;
        let module = off.deployment.module;
        let (deployments, tenant, fence) =
            (self.deployments.clone(), self.tenant().clone(), self.hold.fence());
        let writing = async move { off.write_down(&deployments, &tenant, fence).await };
        ctx.spawn(writing.into_actor(self).map(move |written, runner, ctx| {
            runner.writing = false;
            match written {
                Ok(()) => {
                    runner.unwritten.pop_front();
                    runner.write_off(ctx);
                }
                Err(error) => tracing::debug!(%error, module.id = %module,
                    "what was switched off of a module cannot be written yet"),
            }
        }));
    }
}

impl Actor for TenantRunner {
    type Context = Context<Self>;

    fn stopping(&mut self, _: &mut Self::Context) -> Running {
        self.running.values().for_each(|running| running.address.do_send(End));
        Running::Stop
    }
}

impl Handler<Reconcile> for TenantRunner {
    type Result = AtomicResponse<Self, Result<()>>;

    fn handle(&mut self, Reconcile { generation }: Reconcile, ctx: &mut Self::Context) -> Self::Result {
        self.note_dead();
        self.write_off(ctx);
        if generation.is_some() && generation == self.generation {
            return AtomicResponse::new(Box::pin(async { Ok(()) }.into_actor(self)));
        }
        let (deployments, tenant, known) = (self.deployments.clone(), self.tenant().clone(), self.generation);
        let looking = async move {
            let _turn = deployments.planning.acquire().await;
            let (deployed, generation) = list_deployed(&deployments.database, &tenant).await?;
            if generation == known {
                return Ok(None);
            }
            let texts: Vec<_> = deployed.iter().map(StoredModule::to_plan).collect();
            let planned = spawn_blocking(move || plan_all(&texts)).await;
            let planned = planned.map_err(|_| Error::unavailable("the modules cannot be planned"))?;
            metrics::MODULE_PLANNINGS.increment(1);
            Ok(Some((deployed, planned, generation)))
        };
        AtomicResponse::new(Box::pin(looking.into_actor(self).map(move |found: Result<_>, runner, ctx| {
            if let Some((deployed, planned, generation)) = found? {
                runner.settle(&deployed, planned, ctx);
                runner.generation = generation;
            }
            Ok(())
        })))
    }
}

impl Handler<SwitchedOff> for TenantRunner {
    type Result = ();

    fn handle(&mut self, switched_off: SwitchedOff, ctx: &mut Self::Context) {
        let SwitchedOff { deployment, trouble } = switched_off;
        let is_it = |running: &RunningModule| running.deployment == deployment.number;
        if self.running.get(&deployment.module).is_some_and(is_it) {
            self.running.remove(&deployment.module);
            self.note_off(deployment, trouble);
            self.write_off(ctx);
        }
    }
}

impl Handler<StatementsOff> for TenantRunner {
    type Result = ();

    fn handle(&mut self, StatementsOff { deployment, off }: StatementsOff, ctx: &mut Self::Context) {
        let (tenant, module) = (self.tenant().clone(), deployment.module);
        for StatementOff { statement, reason } in &off {
            tracing::warn!(tenant.id = %tenant, module.id = %module, statement, reason,
                "a statement of an event-processing module was switched off");
        }
        metrics::MODULE_STATEMENTS_SWITCHED_OFF.increment(off.len() as u64);
        self.unwritten.push_back(Off { deployment, what: What::Statements(off) });
        self.write_off(ctx);
    }
}

impl Handler<Over> for TenantRunner {
    type Result = ();

    fn handle(&mut self, _: Over, ctx: &mut Self::Context) {
        ctx.stop();
    }
}
