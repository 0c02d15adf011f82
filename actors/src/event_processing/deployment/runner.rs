//! Runs the modules of one tenant while this process holds them, with one actor per deployed module.
//!
//! The database contains the deployed modules; the runner repeatedly reconciles the running modules with it. A
//! module whose text, deployment and dependencies on other modules are unchanged continues with its state.

use crate::feed::ReadStreams;
use crate::writes::WriteContext;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use actix::prelude::*;
use platform_epl::plan::ModulePlan;
use platform_epl::plan::tenant::{Planned, plan_all};
use platform_epl::runtime::Budget;
use platform_model::error::{Error, Result};
use platform_model::id::{ModuleId, TenantId};
use platform_model::realtime::module::StatementOff;
use platform_store::applications::modules::changes::{StoredModule, list_deployed};
use tokio::task::spawn_blocking;

use super::Deployments;
use super::hold::Hold;
use super::off::{Off, What};
use crate::event_processing::module_actor::{
    Cause, Deployment, End, ModuleActor, ModuleContext, Outlet, Renamed, Share, Steps, Total, Trouble, Wake,
};
use crate::event_processing::writes::{TenantWrites, Writes};
use crate::metrics;

/// Reconciles the running modules with the deployed ones. It is sent when something changed, and periodically with the
/// generation that was seen: then nothing is read if that generation is known already. The reply comes when the
/// modules run.
#[derive(Debug, Message)]
#[rtype(result = "Result<()>")]
pub(crate) struct Reconcile {
    pub(crate) generation: Option<i64>,
}

/// Reports that a module ended because it exceeded a limit. Sent by its actor.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct SwitchedOff {
    pub(crate) deployment: Deployment,
    pub(crate) trouble: Trouble,
}

/// Reports that statements of a module ended because they exceeded a limit; the others continue. Sent by its
/// actor.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct StatementsOff {
    pub(crate) deployment: Deployment,
    pub(crate) off: Vec<StatementOff>,
}

/// Ends the runner, because this process does not hold the tenant's modules any more.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Over;

/// The actor that runs the modules of one tenant.
pub(crate) struct TenantRunner {
    deployments: Arc<Deployments>,
    context: WriteContext,
    hold: Arc<Hold>,
    retained: Arc<Total>,
    writes: Arc<TenantWrites>,
    running: HashMap<ModuleId, RunningModule>,
    /// Modules that cannot continue, by their deployments, until the database records that too.
    off: HashMap<ModuleId, i64>,
    /// The records that must be written, the oldest at the front.
    unwritten: VecDeque<Off>,
    writing: bool,
    /// Why the modules may have missed something before they were started here, until that is recorded.
    missed: Option<&'static str>,
    /// The generation that was read last: as long as it is the same, the running modules are the deployed ones.
    generation: Option<i64>,
}

/// A running module.
struct RunningModule {
    deployment: i64,
    name: Arc<str>,
    plan: Arc<ModulePlan>,
    address: Addr<ModuleActor>,
}

impl TenantRunner {
    pub(crate) fn new(
        deployments: Arc<Deployments>,
        context: WriteContext,
        hold: Arc<Hold>,
        missed: Option<&'static str>,
    ) -> Self {
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
            missed,
            generation: None,
        }
    }

    fn tenant(&self) -> &TenantId {
        &self.context.tenant
    }

    /// Reconciles the running modules with the deployed ones.
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
        if let Some(reason) = self.missed.take() {
            let restarted = self.running.iter().map(|(module, running)| Off {
                deployment: Deployment { module: *module, number: running.deployment },
                what: What::Restarted(reason),
            });
            self.unwritten.extend(restarted);
        }
        self.write_off(ctx);
    }

    /// Starts a module without state. When this returns, the module receives events.
    fn start(
        &mut self,
        stored: &StoredModule,
        name: Arc<str>,
        plan: Arc<ModulePlan>,
        ctx: &mut Context<Self>,
    ) {
        let deployment = Deployment { module: stored.module.id, number: stored.deployment };
        let place = ModuleContext {
            deployment,
            plan: plan.clone(),
            look_ups: Arc::new(self.deployments.look_ups(self.tenant())),
            look_up_turns: self.deployments.look_up_turns.clone(),
            turns: self.deployments.turns_of(self.tenant()),
            limits: self.deployments.database.tenant_limits().of(self.tenant()),
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
            let feed = context.feeds.attach(module, ReadStreams::of(&planned), queue, wake);
            let (faults, overflow) = (ctx.address().recipient(), ctx.address().recipient());
            let writes = Writes::start(writes, module, faults, overflow);
            let outlet = Outlet { module, name: called, context, writes };
            let steps = Steps::new(planned, Budget::of(&limits), feed, clock, share).without(&off);
            ModuleActor::new(place, outlet, steps)
        });
        self.running
            .insert(deployment.module, RunningModule { deployment: deployment.number, name, plan, address });
    }

    /// Marks a module that cannot continue; its row in the database is updated later.
    fn note_off(&mut self, deployment: Deployment, trouble: Trouble) {
        let (tenant, module) = (self.tenant().clone(), deployment.module);
        tracing::warn!(tenant.id = %tenant, module.id = %module, reason = trouble.text,
            "an event-processing module was switched off");
        metrics::modules_switched_off(trouble.cause.word()).increment(1);
        self.off.insert(module, deployment.number);
        self.unwritten.push_back(Off { deployment, what: What::Module(trouble.text) });
    }

    /// Marks modules whose actors died without a message, which means a panic. A dead actor may have sent its reason,
    /// which is still in the mailbox, so this method sends a message too, which arrives after that one.
    fn note_dead(&self, ctx: &Context<Self>) {
        for (id, running) in self.running.iter().filter(|(_, running)| !running.address.connected()) {
            let deployment = Deployment { module: *id, number: running.deployment };
            let trouble = Trouble::new(Cause::Panic, "an internal error of the server");
            ctx.address().do_send(SwitchedOff { deployment, trouble });
        }
    }

    /// Writes the records of what was switched off or restarted, one after the other. A record that cannot be
    /// written now is retried later.
    fn write_off(&mut self, ctx: &mut Context<Self>) {
        let Some(off) = self.unwritten.front().filter(|_| !self.writing).cloned() else { return };
        self.writing = true;
        let module = off.deployment.module;
        let (deployments, tenant, fence) =
            (self.deployments.clone(), self.tenant().clone(), self.hold.fence());
        let writing = async move { off.record(&deployments, &tenant, fence).await };
        ctx.spawn(writing.into_actor(self).map(move |written, runner, ctx| {
            runner.writing = false;
            match written {
                Ok(()) => {
                    runner.unwritten.pop_front();
                    runner.write_off(ctx);
                }
                Err(error) => tracing::debug!(%error, module.id = %module,
                    "the record of a module cannot be written yet"),
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
        self.note_dead(ctx);
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
            let texts: Vec<_> = deployed.iter().map(super::changes::to_plan).collect();
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
