//! `cluster`: several servers on one database are used like one, and disturbed. Each session must receive every
//! notification that is due to it once, whichever server the alarm was posted to, or it must be ended.

mod balancer;
mod clients;
mod disturber;
mod falsifier;
mod open_session;
mod posters;
mod servers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use self::balancer::Balancer;
use self::falsifier::Falsifier;
use self::servers::Servers;
use super::Bench;
use crate::body::Kind;
use crate::cli::{Cluster, ClusterTransport, Disturbance};
use crate::devices;
use crate::error::Error;
use crate::ledger::Watch;
use crate::mark::Mark;
use crate::poster::Responses;
use crate::read_back::read_back;
use crate::report::{Cpu, Fact, Posts, Report};
use crate::run::Run;
use crate::server_process::Process;
use crate::session_ledger::{ClientId, Disturbed, SessionAudit, SessionLedger};
use crate::target::Target;

/// The longest time until all clients have a session, at the start and at the end.
const OPENING_LIMIT: Duration = Duration::from_secs(60);
/// When nothing has arrived for so long after the last post, nothing more is expected.
const QUIET: Duration = Duration::from_secs(2);
/// The same after disturbances: sessions may still be on their way between servers.
const QUIET_AFTER_DISTURBANCES: Duration = Duration::from_secs(12);
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The longest time until all sessions are back after a disturbance.
const RETURN_LIMIT: Duration = Duration::from_secs(10);

/// What clients and posters share.
#[derive(Debug)]
struct Shared {
    run: Arc<Run>,
    targets: Vec<Arc<Target>>,
    ids: Vec<String>,
    /// Whether each session goes to the next server after each response or frame.
    is_round_robin: bool,
    balancer: Arc<Balancer>,
    ledger: Mutex<SessionLedger>,
    falsifier: Mutex<Falsifier>,
    /// Why sessions ended or could not be opened, and how often.
    causes: Mutex<BTreeMap<String, u64>>,
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, SessionLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records notifications; returns how many of this run there were.
    fn deliver(&self, client: ClientId, marks: impl Iterator<Item = Mark>) -> usize {
        let now = self.run.now();
        let mut ledger = self.ledger();
        let mut falsifier = self.falsifier.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = 0;
        for mark in marks.filter(|mark| self.run.is_own(*mark)) {
            count += 1;
            for mark in falsifier.apply(client, mark) {
                ledger.deliver(client, mark.device, mark.sequence, now);
            }
        }
        count
    }

    fn note(&self, cause: String) {
        *self.causes.lock().unwrap_or_else(PoisonError::into_inner).entry(cause).or_default() += 1;
    }

    /// Waits until all clients have a session, at most `limit`.
    async fn all_have_sessions(&self, limit: Duration) -> Result<(), Error> {
        let started = Instant::now();
        while self.ledger().away() > 0 {
            if started.elapsed() > limit {
                return Err(Error::Timeout("opening sessions"));
            }
            sleep(CHECK_INTERVAL).await;
        }
        Ok(())
    }

    /// Waits until nothing has arrived for a time, at most `limit`.
    async fn drain(&self, quiet: Duration, limit: Duration) {
        let started = Instant::now();
        let (mut count, mut since) = (self.ledger().deliveries(), started);
        while since.elapsed() < quiet && started.elapsed() < limit {
            sleep(CHECK_INTERVAL).await;
            let now = self.ledger().deliveries();
            if now != count {
                (count, since) = (now, Instant::now());
            }
        }
    }
}

/// The measurements of a run.
struct Measured {
    responses: Responses,
    audit: SessionAudit,
    causes: BTreeMap<String, u64>,
    disturbances: Vec<Disturbed>,
    acknowledged: u64,
    not_stored: u64,
    cpu: Cpu,
}

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Cluster) -> Result<Report, Error> {
    let mut servers = Servers::start(&bench.common, settings).await?;
    let ids = devices::create(&servers.targets[0], settings.polls as usize).await?;
    if settings.transports.contains(&ClusterTransport::Csv) {
        open_session::register_templates(&servers.targets[0]).await?;
    }
    let measured = measure(bench, settings, &mut servers, ids.clone()).await?;
    let is_private = settings.database_url.is_none();
    // The devices of a private database are left to its directory.
    let devices_left = match (is_private || bench.common.keep, &servers.targets[0]) {
        (true, _) => 0,
        (false, target) => devices::remove(target, &ids).await,
    };
    servers.stop().await?;
    let seconds = settings.seconds as f64;
    let facts = facts(settings, &measured);
    Ok(Report {
        seconds,
        target: format!("{} servers", settings.servers),
        clean: measured.audit.is_clean() && facts.iter().all(|fact| fact.holds),
        posts: Some(Posts::of(&measured.responses, seconds)),
        delays: measured.audit.delays(),
        cpu: Some(measured.cpu),
        facts,
        sessions: Some(measured.audit),
        devices_left,
        ..bench.report("cluster", settings)
    })
}

async fn measure(
    bench: &Bench,
    settings: &Cluster,
    servers: &mut Servers,
    ids: Vec<String>,
) -> Result<Measured, Error> {
    let run = Arc::new(Run::new(ids.len()));
    let database = run.add_receiver(Watch::All);
    let shared = Arc::new(Shared {
        run: Arc::clone(&run),
        targets: servers.targets.clone(),
        ledger: Mutex::new(SessionLedger::new(ids.len())),
        ids,
        is_round_robin: settings.round_robin,
        balancer: Arc::new(Balancer::new(servers.targets.len())),
        falsifier: Mutex::new(Falsifier::new(settings.falsify)),
        causes: Mutex::default(),
    });
    let checks = shared.balancer.check(&shared.targets);
    let clients = clients::open(&shared, settings, bench.common.connecting);
    shared.all_have_sessions(OPENING_LIMIT).await?;

    let (cpu_before, own_before, began) = (servers.cpu_seconds(), own_cpu(), Instant::now());
    let load = posters::Load::new(&run, settings);
    let disturbing = disturber::disturb(&run, settings, servers, load.end());
    let (responses, disturbances) = tokio::join!(posters::post_all(&shared, load), disturbing);
    let disturbances = disturbances?;
    let cpu = Cpu::of(
        Some(servers.cpu_seconds() - cpu_before),
        own_cpu() - own_before,
        began.elapsed().as_secs_f64(),
    );
    // A client without a session at the end is a fact of the report.
    shared.all_have_sessions(OPENING_LIMIT).await.ok();
    let quiet = if disturbances.is_empty() { QUIET } else { QUIET_AFTER_DISTURBANCES };
    shared.drain(quiet, Duration::from_secs(bench.common.drain)).await;
    let cpu = cpu.per_delivery(shared.ledger().deliveries());

    // They are not closed before the audit: what they are told now is counted.
    let ids = Arc::new(shared.ids.clone());
    read_back(&servers.targets[0], &run, database, &[Kind::Alarm], &ids).await?;
    let is_stored = |device, sequence| run.has_received(database, device, sequence);
    let audit = shared.ledger().audit(load.measured_from, &disturbances, is_stored);
    drop((clients, checks));
    let stored = run.audit();
    let causes = std::mem::take(&mut *shared.causes.lock().unwrap_or_else(PoisonError::into_inner));
    let (acknowledged, not_stored) = (stored.acknowledged, stored.lost);
    Ok(Measured { responses, audit, causes, disturbances, acknowledged, not_stored, cpu })
}

fn own_cpu() -> f64 {
    Process::own().cpu_seconds().unwrap_or_default()
}

fn facts(settings: &Cluster, measured: &Measured) -> Vec<Fact> {
    let Measured { responses, audit, causes, .. } = measured;
    let limit = RETURN_LIMIT.as_millis() as u64;
    // A post to a server that is killed or paused has no response, and while the database is down it is 503.
    let failures =
        responses.by_status.iter().filter(|(status, _)| !["201", "503"].contains(&status.as_str()));
    let failed = match settings.disturbance() {
        None | Some(Disturbance::Restart) => {
            Fact::number("posts failed, not 503", failures.map(|(_, count)| *count as usize).sum(), 0)
        }
        Some(_) => Fact::number("posts rejected", responses.refused() as usize, 0),
    };
    let ended = audit.ended as usize;
    let forced = match settings.disturbance() {
        Some(Disturbance::Restart) => Fact::number("handshakes forced", ended, 0),
        _ => Fact::any("handshakes forced", ended.to_string()),
    };
    let added = |quantile| audit.added_ms(quantile).map_or("unknown".to_owned(), |ms| format!("{ms:.2} ms"));
    vec![
        failed,
        Fact::number("5xx that do not say when to retry", posters::server_errors(responses) as usize, 0),
        forced,
        Fact::at_least("acknowledged writes", measured.acknowledged as usize, 1),
        Fact::number("of them not stored", measured.not_stored as usize, 0),
        Fact::any("disturbances", measured.disturbances.len().to_string()),
        Fact::any("ends and failures", format!("{causes:?}")),
        Fact::number("ended without need", audit.ended_elsewhere as usize, 0),
        Fact::number("clients without session", audit.away, 0),
        Fact {
            what: "last session back after",
            found: format!("{} ms", audit.longest_return_ms),
            expected: format!("at most {limit} ms"),
            holds: audit.longest_return_ms <= limit,
        },
        Fact::any("added elsewhere, p50", added(0.5)),
        Fact::any("added elsewhere, p99", added(0.99)),
    ]
}
