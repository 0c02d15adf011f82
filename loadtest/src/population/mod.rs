//! The devices and dashboards of a scenario file. They connect once and stay through all phases, at the servers of the
//! run or at the one of `--url`, while faults hit these servers. Each session must receive every notification that is
//! due to it once, or be ended; and everything that was accepted must be stored.
//!
//! Reading order: [`plan`] (the description), [`world`] (the registration), [`generator`] (the process), [`clients`],
//! [`open_session`] and [`agent`] (the listeners), [`consumers`] (the named consumers), [`posters`] (the posts),
//! [`workers`] (other processes), [`faults`] and [`servers`] (the faults), [`verdict`] (the results).

mod agent;
mod balancer;
mod between;
mod clients;
mod consumers;
mod falsifier;
mod faults;
pub(crate) mod feeder;
mod generator;
pub(crate) mod memory;
mod observer;
mod open_session;
mod orders;
pub(crate) mod plan;
mod posters;
mod presence;
mod removal;
pub(crate) mod series;
mod servers;
mod shared;
mod stored;
pub(crate) mod template;
mod verdict;
mod workers;
mod world;

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use time::OffsetDateTime;

use self::clients::ClientSpecs;
use self::consumers::{ConsumerSet, HasWorkers};
use self::generator::{Generator, Share};
use self::memory::ClientMemory;
pub(crate) use self::observer::Observer;
use self::plan::{Fault, Plan};
use self::posters::Posted;
use self::removal::{given_up, removed, without_consumers};
use self::servers::Servers;
use self::shared::Shared;
pub(crate) use self::workers::{Assignments, serve};
use self::workers::{ConnectedWorkers, Workers};
use self::world::World;
use crate::cli::Common;
use crate::cli::interruption::interrupted;
use crate::error::Error;
use crate::ledger::run::Run;
use crate::ledger::session::{Disturbed, TOPICS};
use crate::ledger::{ReceiverId, Watch};
use crate::progress::Progress;
use crate::report::Report;
use crate::target::Target;
use crate::target::process::Process;

/// If nothing has arrived for this long after the last post, the run expects nothing more.
const QUIET: Duration = Duration::from_secs(2);
/// The same after disturbances, because sessions may still be moving between servers.
const QUIET_AFTER_DISTURBANCES: Duration = Duration::from_secs(12);
/// The time between the start of a schedule and its first post, in microseconds.
const LEAD: u64 = 100_000;
/// The largest lag of the server's clock that is tolerated.
const CLOCK_MARGIN: time::Duration = time::Duration::minutes(5);

/// The devices, dashboards and servers of a run.
#[derive(Debug)]
pub(crate) struct Population {
    shared: Arc<Shared>,
    /// The server, accessed as the user who created the tenants and devices.
    creator: Arc<Target>,
    plan: Plan,
    common: Common,
    servers: Option<Servers>,
    generators: Generators,
    consumers: ConsumerSet,
    database: ReceiverId,
    memory: ClientMemory,
    began_at: OffsetDateTime,
    seeded: Rng,
    phases: Vec<Begun>,
    disturbances: Vec<Disturbed>,
}

/// The generators of a run.
#[derive(Debug)]
enum Generators {
    Own(Box<Generator>),
    Workers(Workers),
}

/// A phase that has started.
#[derive(Debug)]
struct Begun {
    /// The start in microseconds of the run.
    start: u64,
    seconds: f64,
    server_faults: usize,
}

/// The results at the end: a report for each phase that has started.
pub(crate) struct Closed {
    pub(crate) reports: Vec<Report>,
    /// How many devices, users, template sets and tenants were removed, and how many could not be removed.
    pub(crate) removed: usize,
    pub(crate) left: usize,
    /// The reasons why results are incomplete: a worker is lost, or the servers do not respond or do not stop.
    pub(crate) failures: Vec<Error>,
}

impl Population {
    /// Starts the servers if there are any, registers the devices, and connects all clients, here or at workers.
    ///
    /// # Errors
    /// The server rejects a step, a client cannot connect, a worker does not respond, or a signal ends the run.
    /// All that was created is removed then.
    pub(crate) async fn open(
        plan: &Plan,
        common: &Common,
        workers: Option<Assignments>,
    ) -> Result<Self, Error> {
        let workers = match workers {
            Some(assignments) => Some(Workers::connect(assignments, plan.servers.is_some()).await?),
            None => None,
        };
        let (servers, targets) = started(plan, common).await?;
        let began_at = OffsetDateTime::now_utc() - CLOCK_MARGIN;
        let user = common.creator(plan.servers.is_some() && !plan.tenants.is_empty());
        let creator = Arc::new(targets[0].with_user(user, &common.password));
        let world = built(&creator, plan, user, common).await?;
        let run = Run::new(world.devices.len() * TOPICS as usize);
        let database = run.add_receiver(Watch::All);
        let share = if workers.is_some() { Share::NOTHING } else { Share::ALL };
        let (shared, specs) = Shared::new(plan, run, world, targets, share);
        let mut memory = ClientMemory::before(&processes(servers.as_ref(), common), plan.clients());
        let mut consumers = ConsumerSet::default();
        let connected = async {
            consumers.create(&shared, plan).await?;
            let generators =
                Generators::start(workers, &shared, plan, (share, specs), common.connecting).await?;
            consumers.read(&shared, generators.are_workers());
            let rest = Duration::from_secs(common.settle);
            memory.read_held(&processes(servers.as_ref(), common), rest).await;
            Ok(generators)
        };
        match unless_interrupted(connected).await {
            Ok(generators) => Ok(Self {
                shared,
                creator,
                plan: plan.clone(),
                common: common.clone(),
                servers,
                generators,
                consumers,
                database,
                memory,
                began_at,
                seeded: Rng::with_seed(plan.seed),
                phases: Vec::new(),
                disturbances: Vec::new(),
            }),
            Err(error) => Err(without_consumers(error, consumers, &shared, &creator, common).await),
        }
    }

    /// Returns an observer of the running population.
    pub(crate) fn observer(&self) -> Observer {
        Observer {
            shared: Arc::clone(&self.shared),
            processes: self.servers.as_ref().map(Servers::processes),
            keeper: self.servers.as_ref().and_then(Servers::keeper_process),
            database_url: self.servers.as_ref().map(|servers| servers.database_url().to_owned()),
        }
    }

    /// Runs the next phase.
    ///
    /// # Errors
    /// A fault could not be caused at the servers.
    pub(crate) async fn play(&mut self) -> Result<(), Error> {
        let number = self.phases.len();
        let phase = self.plan.phases[number].clone();
        let start = self.shared.run.now() + LEAD;
        let server_faults = phase.faults.iter().filter(|fault| fault.what.is_of_servers()).count();
        self.phases.push(Begun { start, seconds: phase.lasts.as_secs_f64(), server_faults });
        self.generators.play(number, start)?;
        let length = phase.lasts;
        let ends = self.shared.run.instant(start) + length;
        let faults =
            faults::play(&self.shared, &phase.faults, self.servers.as_mut(), &mut self.seeded, length);
        let progress = Progress::pass("phase under way", ends);
        let ((), disturbances, ()) = tokio::select! {
            both = async { tokio::join!(progress, faults, presence::play(&self.shared, &phase)) } => both,
            error = self.generators.lost() => return Err(error),
        };
        self.disturbances.extend(disturbances?);
        Ok(())
    }

    /// Waits for pending posts and notifications, reads back the stored data, removes everything, and returns the
    /// results of each phase. A step that fails is a failure beside the results, because they are worth most in a run
    /// whose server died.
    pub(crate) async fn close(self) -> Closed {
        let Self {
            shared,
            creator,
            plan,
            common,
            servers,
            mut generators,
            consumers,
            database,
            memory,
            began_at,
            mut phases,
            ..
        } = self;
        shared.run.end();
        if let Some(last) = phases.last_mut() {
            // An interrupted phase is shorter.
            last.seconds = last.seconds.min(shared.run.now().saturating_sub(last.start) as f64 / 1e6);
        }
        let quiet = if self.disturbances.is_empty() { QUIET } else { QUIET_AFTER_DISTURBANCES };
        let mut failures = Vec::new();
        let posted = generators.finish(&shared, quiet, Duration::from_secs(common.drain)).await;
        let posted = posted.map_err(|error| failures.push(error)).unwrap_or_default();
        consumers.finish(&shared, quiet, Duration::from_secs(common.drain)).await;
        let read = match plan.reads_back {
            true => Some(stored::read_back_all(&shared, database, began_at).await),
            false => None,
        };
        let stored = matches!(read, Some(Ok(()))).then_some(database);
        failures.extend(read.and_then(Result::err));
        let mut reports =
            verdict::reports(&shared, (&phases, &plan.groups), &posted, &self.disturbances, stored);
        if let Some(first) = reports.first_mut() {
            first.memory = memory.figures(&processes(servers.as_ref(), &common));
        }
        // Clients that are still connected would be rejected from now on.
        drop(generators);
        let (removed, left) = removed(&shared, consumers, &creator, &common, servers.as_ref()).await;
        if let Some(servers) = servers {
            failures.extend(servers.stop().await.err());
        }
        Closed { reports, removed, left, failures }
    }
}

impl Generators {
    /// Connects the clients, here or at workers.
    ///
    /// # Errors
    /// A client cannot connect, or a worker does not respond.
    async fn start(
        workers: Option<ConnectedWorkers>,
        shared: &Arc<Shared>,
        plan: &Plan,
        (share, specs): (Share, ClientSpecs),
        connecting: usize,
    ) -> Result<Self, Error> {
        Ok(match workers {
            Some(workers) => Self::Workers(workers.begin(shared).await?),
            None => Self::Own(Box::new(Generator::start(shared, plan, share, specs, connecting).await?)),
        })
    }

    fn are_workers(&self) -> HasWorkers {
        match self {
            Self::Own(_) => HasWorkers::No,
            Self::Workers(_) => HasWorkers::Yes,
        }
    }

    /// Starts a phase at a time of the run.
    ///
    /// # Errors
    /// An unknown phase.
    fn play(&mut self, phase: usize, start: u64) -> Result<(), Error> {
        match self {
            Self::Own(generator) => generator.play(phase, start)?,
            Self::Workers(workers) => workers.play(phase, start),
        }
        Ok(())
    }

    /// Waits until a worker is lost, and returns the reason.
    async fn lost(&mut self) -> Error {
        match self {
            Self::Own(_) => std::future::pending().await,
            Self::Workers(workers) => workers.lost().await,
        }
    }

    /// Waits until all due posts are sent and nothing arrives any more. Returns the posts of each phase.
    ///
    /// # Errors
    /// A worker is lost.
    async fn finish(
        &mut self,
        shared: &Shared,
        quiet: Duration,
        limit: Duration,
    ) -> Result<Vec<Posted>, Error> {
        match self {
            Self::Own(generator) => {
                let posted = generator.finish().await;
                shared.drain(quiet, limit).await;
                Ok(posted)
            }
            Self::Workers(workers) => workers.finish(shared, quiet, limit).await,
        }
    }
}

/// Starts the servers, if the run has any. Returns them, and the addresses of the servers under load.
async fn started(plan: &Plan, common: &Common) -> Result<(Option<Servers>, Vec<Arc<Target>>), Error> {
    let drains = plan.phases.iter().flat_map(|phase| &phase.faults).any(Fault::drains);
    match &plan.servers {
        Some(servers) => {
            let servers = Servers::start(common, servers, drains).await?;
            let targets = servers.targets.clone();
            Ok((Some(servers), targets))
        }
        None => Ok((None, vec![Arc::new(common.target_and_server()?.0)])),
    }
}

/// Returns the servers of the run or, without any, the one at `--url` if it is on this machine.
fn processes(servers: Option<&Servers>, common: &Common) -> Vec<Process> {
    match servers {
        Some(servers) => servers.processes().lock().iter().map(|pid| Process::with_pid(*pid)).collect(),
        None => common.target_and_server().ok().and_then(|(_, server)| server).into_iter().collect(),
    }
}

/// Waits for a step of the preparation, which a signal ends.
async fn unless_interrupted<T>(step: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::select! {
        done = step => done,
        signal = interrupted() => {
            signal?;
            Err(Error::Refused("interrupted".to_owned()))
        }
    }
}

/// Creates the tenants and the devices; if that fails or is interrupted, what was created is removed.
async fn built(creator: &Arc<Target>, plan: &Plan, user: &str, common: &Common) -> Result<World, Error> {
    let mut world = World::default();
    match unless_interrupted(world.build(creator, plan, user, &common.password)).await {
        Ok(()) => Ok(world),
        Err(error) => Err(given_up(error, &world, creator, common).await),
    }
}
