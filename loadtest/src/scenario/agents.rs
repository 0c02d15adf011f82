//! `agents`: a fleet of agents, registered by one file, holds polls with its own credentials. An operator
//! posts operations on a fixed schedule; each must reach its agent, be executed once, and finally be
//! SUCCESSFUL, however often agents lose their connections.

use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Bench;
use super::ordered::{self, Load};
use crate::agent_session::Language;
use crate::agents::{Agent, AgentBehaviour, AgentRecord};
use crate::body::Kind;
use crate::cli::Agents;
use crate::error::Error;
use crate::fleet_registration::{Fleet, Rows};
use crate::ledger::Watch;
use crate::mark;
use crate::operation_ledger::OperationLedger;
use crate::operations;
use crate::poster::{Poster, Responses};
use crate::report::{Fact, Memory, Posts, Report};
use crate::run::Run;

/// The largest lag of the server's clock that is tolerated.
pub(super) const CLOCK_MARGIN: time::Duration = time::Duration::minutes(5);

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Agents) -> Result<Report, Error> {
    let settings = Agents { posters: settings.posters.min(settings.agents), ..settings.clone() };
    let started_at = OffsetDateTime::now_utc() - CLOCK_MARGIN;
    let count = settings.agents as usize;
    let rows = Rows { devices: count, agents: count, group: None };
    let fleet = Fleet::register(&bench.target, rows).await?;
    let ids = Arc::new(fleet.ids(&bench.target).await?);
    let run = Arc::new(Run::new(count));
    let notes = Arc::new(notes(&run, &ids));
    let before = bench.memory();
    let seats = seats(bench, &fleet, &ids);
    let agents = crate::agents::Agents::open(&notes, seats, manner(bench, &settings)).await?;
    let held = bench.memory_at_rest().await;

    let window = bench.open_window();
    let responses = post_all(bench, &run, &ids, &settings).await;
    agents.calm_down();
    let acknowledged = responses.by_status.get("201").copied().unwrap_or_default() as usize;
    notes.all_done(acknowledged, Duration::from_secs(bench.common.drain)).await;
    bench.drain(&run).await;
    let (_, cpu) = bench.close_window(&window);
    let after = bench.memory_at_rest().await;
    let clients = agents.close();
    read_back(bench, &notes, started_at).await?;

    let facts = facts(&notes, &run, acknowledged, settings.limit);
    let delays = notes.ledger().delays(run.measured_from());
    let ledger = run.audit();
    let is_served = responses.failures() == 0 && clients.ended == 0 && acknowledged > 0;
    let clean = is_served && ledger.is_clean() && facts.iter().all(|fact| fact.holds);
    let seconds = settings.seconds as f64;
    Ok(Report {
        seconds,
        clean,
        posts: Some(Posts::of(&responses, seconds)),
        memory: Memory::of(count, before, held, after),
        cpu: Some(cpu),
        clients: Some(clients),
        ledger: Some(ledger),
        facts,
        delays,
        devices_left: bench.remove_fleet(&fleet, &ids).await,
        ..bench.report("agents", &settings)
    })
}

/// Checks that all acknowledged operations were executed once, and fast enough if there is a limit.
pub(super) fn facts(notes: &AgentRecord, run: &Run, acknowledged: usize, limit: Option<u32>) -> Vec<Fact> {
    let ledger = notes.ledger();
    let mut facts = ledger.facts(acknowledged);
    let round_trip = ledger.round_trip(run.measured_from());
    facts.extend(limit.map(|limit| Fact {
        what: "round trips in time",
        found: if round_trip.is_within(limit) { "99 of 100" } else { "fewer" }.to_owned(),
        expected: format!("99 of 100 within {limit} ms"),
        holds: round_trip.is_within(limit),
    }));
    facts
}

/// Creates the record, in which agent `n` is receiver `n`, and the agent of only itself.
pub(super) fn notes(run: &Arc<Run>, ids: &[String]) -> AgentRecord {
    let agents = (0..).zip(ids).map(|(agent, id)| {
        run.add_receiver(Watch::Device(agent));
        (id.clone(), agent)
    });
    AgentRecord::new(run, OperationLedger::new(agents.collect()))
}

pub(super) fn seats(bench: &Bench, fleet: &Fleet, ids: &[String]) -> Vec<Agent> {
    let agent = |(number, id): (usize, &String)| Agent {
        number: number as u32,
        id: id.clone(),
        target: fleet.target(&bench.target, number),
        language: Language::Json,
    };
    ids.iter().enumerate().map(agent).collect()
}

/// Returns the behaviour in which the mean time of a connection yields the requested number of reconnects per
/// second.
fn manner(bench: &Bench, settings: &Agents) -> AgentBehaviour {
    let stays = settings.churn.map(|churn| Duration::from_secs(1) * settings.agents / churn);
    AgentBehaviour { connecting: bench.common.connecting, stays }
}

/// Posts to random agents; each belongs to one connection, so the order of its operations is defined.
async fn post_all(bench: &Bench, run: &Arc<Run>, ids: &Arc<Vec<String>>, settings: &Agents) -> Responses {
    let &Agents { rate: per_second, warmup, seconds, posters, .. } = settings;
    let load = Load { per_second, warmup, seconds, posters };
    let headers: Arc<str> = bench.target.post_headers().into();
    let poster =
        |measured_from| Poster::new(&bench.target, run, measured_from).with(Kind::Operation, &headers);
    let turns = |number: u32| ordered::random_turns(number, posters, ids.len());
    ordered::post_all(run, ids, load, poster, turns).await
}

/// Records the operations of this run that the server lists.
pub(super) async fn read_back(
    bench: &Bench,
    notes: &AgentRecord,
    since: OffsetDateTime,
) -> Result<(), Error> {
    let since = since.replace_nanosecond(0).unwrap_or(since).format(&Rfc3339).unwrap_or_default();
    let query = format!("fragmentType={}&dateFrom={since}", mark::FRAGMENT);
    let mut connection = bench.target.connect().await?;
    for operation in operations::list(&bench.target, &mut connection, &query).await? {
        notes.listed(&operation);
    }
    Ok(())
}
