//! `csv`: a fleet that uses the compact CSV protocol. Devices send rows of the static set and of a shared
//! template set, and hold polls that deliver, by both sets, the operations that an operator queues. Every row
//! must be stored once, every operation be delivered and executed once, and no response have an unexpected
//! line.

use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;

use super::Bench;
use super::agents::{CLOCK_MARGIN, facts, notes, read_back, seats};
use super::csv_rows::senders;
use super::ordered::{self, Load};
use crate::agent_session::Language;
use crate::agents::{AgentBehaviour, Agents};
use crate::body::Kind;
use crate::cli::{Csv, SentBy};
use crate::csv::session::CsvAgent;
use crate::csv::template_set::TemplateSet;
use crate::csv::{ACCEPT, x_id};
use crate::error::Error;
use crate::fleet_registration::{Fleet, Rows};
use crate::ledger::{Audit, Watch};
use crate::poster::{Poster, Responses, Sender};
use crate::report::{Fact, Memory, Report, Way};
use crate::run::Run;

/// The responses to each kind of post.
#[derive(Debug)]
struct Posted {
    static_rows: Responses,
    custom_rows: Responses,
    operations: Responses,
}

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Csv) -> Result<Report, Error> {
    let settings = Csv { posters: settings.posters.min(settings.devices), ..settings.clone() };
    let started_at = OffsetDateTime::now_utc() - CLOCK_MARGIN;
    let devices = settings.devices as usize;
    let fleet = Fleet::register(&bench.target, Rows { devices, agents: devices, group: None }).await?;
    let ids = Arc::new(fleet.ids(&bench.target).await?);
    let set = TemplateSet::register(&bench.target, fleet.name()).await?;
    // Rows and operations are numbered separately.
    let (told, stored) = (Arc::new(Run::new(devices)), Arc::new(Run::new(devices)));
    let shelf = stored.add_receiver(Watch::All);
    let notes = Arc::new(notes(&told, &ids));
    let before = bench.memory();
    let mut seats = seats(bench, &fleet, &ids);
    for (device, seat) in seats.iter_mut().enumerate() {
        let (x_id, serial) = (set.x_id.clone(), fleet.serial(device));
        seat.language =
            Language::Csv(CsvAgent { x_id, serial, by_id: settings.carried_out.is_by_id(device) });
    }
    let agents = Agents::open(&notes, seats, manner(bench, &settings)).await?;
    let held = bench.memory_at_rest().await;

    let window = bench.open_window();
    let posted = post_all(bench, &told, &stored, &fleet, &ids, &set, &settings).await;
    agents.calm_down();
    let queued = posted.operations.by_status.get("201").copied().unwrap_or_default() as usize;
    notes.all_done(queued, Duration::from_secs(bench.common.drain)).await;
    bench.drain(&told).await;
    let (_, cpu) = bench.close_window(&window);
    let after = bench.memory_at_rest().await;
    let clients = agents.close();
    read_back(bench, &notes, started_at).await?;
    let kinds = [Kind::StaticRows(1), Kind::CustomRow];
    crate::read_back::read_back(&bench.target, &stored, shelf, &kinds, &ids).await?;

    let mut facts = facts(&notes, &told, queued, settings.limit);
    let delays = notes.ledger().delays(told.measured_from());
    facts.extend(delivered(&told.audit()));
    let seconds = settings.seconds as f64;
    facts.extend(posted.facts());
    let ledger = stored.audit();
    let clean = clients.ended == 0 && ledger.is_clean() && facts.iter().all(|fact| fact.holds);
    let left = if bench.common.keep { 0 } else { set.remove(&bench.target).await };
    Ok(Report {
        seconds,
        clean,
        ways: posted.ways(seconds),
        memory: Memory::of(devices, before, held, after),
        cpu: Some(cpu),
        clients: Some(clients),
        ledger: Some(ledger),
        facts,
        delays,
        devices_left: left + bench.remove_fleet(&fleet, &ids).await,
        ..bench.report("csv", &settings)
    })
}

/// Returns the behaviour in which the mean time of a connection yields the requested number of reconnects per
/// second.
fn manner(bench: &Bench, settings: &Csv) -> AgentBehaviour {
    let stays = settings.churn.map(|churn| Duration::from_secs(1) * settings.devices / churn);
    AgentBehaviour { connecting: bench.common.connecting, stays }
}

/// Sends rows of both sets by the devices while an operator queues operations; each device belongs to one
/// connection of each kind.
async fn post_all(
    bench: &Bench,
    told: &Arc<Run>,
    stored: &Arc<Run>,
    fleet: &Fleet,
    ids: &Arc<Vec<String>>,
    set: &TemplateSet,
    settings: &Csv,
) -> Posted {
    let &Csv { rows_per_second, operations_per_second, warmup, seconds, posters, .. } = settings;
    let load = |per_second| Load { per_second, warmup, seconds, posters };
    let turns = |number: u32| ordered::random_turns(number, posters, ids.len());
    let senders: Arc<Vec<Sender>> = Arc::new(senders(bench, fleet, SentBy::Device));
    let quiet = bench.target.quiet_post_headers();
    let headers: [Arc<str>; 3] = [
        format!("{ACCEPT}{quiet}").into(),
        format!("{}{ACCEPT}{quiet}", x_id(&set.x_id)).into(),
        bench.target.post_headers().into(),
    ];
    let rows = |kind, headers: Arc<str>| {
        let senders = Arc::clone(&senders);
        move |measured_from| {
            Poster::new(&bench.target, stored, measured_from).with(kind, &headers).from(&senders)
        }
    };
    let [static_headers, custom_headers, operation_headers] = headers;
    let operations = |measured_from| {
        Poster::new(&bench.target, told, measured_from).with(Kind::Operation, &operation_headers)
    };
    let custom = rows_per_second / 2;
    let of_static_set = rows(Kind::StaticRows(1), static_headers);
    let of_template = rows(Kind::CustomRow, custom_headers);
    let (static_rows, custom_rows, operations) = tokio::join!(
        ordered::post_all(stored, ids, load(rows_per_second - custom), of_static_set, turns),
        ordered::post_all(stored, ids, load(custom), of_template, turns),
        ordered::post_all(told, ids, load(operations_per_second), operations, turns),
    );
    Posted { static_rows, custom_rows, operations }
}

impl Posted {
    fn all(&self) -> [(&'static str, &Responses); 3] {
        [
            ("static rows", &self.static_rows),
            ("rows of a template", &self.custom_rows),
            ("operations, as JSON", &self.operations),
        ]
    }

    fn ways(&self, seconds: f64) -> Vec<Way> {
        self.all().map(|(kind, responses)| Way::of(kind.to_owned(), responses, seconds, 1)).into()
    }

    /// Checks that everything was acknowledged, and something at all. A response line is an error, because
    /// none of the rows has a response.
    fn facts(&self) -> Vec<Fact> {
        let failures = self.all().iter().map(|(_, responses)| responses.failures()).sum::<u64>();
        let silent = self.all().iter().filter(|(_, responses)| responses.latency.is_empty()).count();
        let mut facts = vec![
            Fact::number("posts not acknowledged", failures as usize, 0),
            Fact::number("kinds never acknowledged", silent, 0),
        ];
        let lines = self.all().into_iter().flat_map(|(_, responses)| &responses.lines);
        facts.extend(lines.map(|line| Fact::any("unexpected line", line.clone())));
        facts
    }
}

/// Checks that each queued operation reached its device once, and in order.
fn delivered(audit: &Audit) -> Vec<Fact> {
    let wrong = audit.lost + audit.doubled + audit.reordered + audit.unexpected + audit.torn;
    let mut facts = vec![
        Fact::number("operations delivered", audit.delivered as usize, audit.expected as usize),
        Fact::number("wrong deliveries", wrong as usize, 0),
    ];
    facts.extend(audit.examples.iter().map(|example| Fact::any("wrong delivery", example.clone())));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::verdict::CLEAN;
    use crate::ledger::{Ledger, Outcome};

    fn wrong(facts: &[Fact]) -> Vec<&'static str> {
        facts.iter().filter(|fact| !fact.holds).map(|fact| fact.what).collect()
    }

    fn responses(answered: &str) -> Responses {
        let mut responses = Responses::new();
        responses.latency.record(1000).unwrap();
        responses.by_status.insert(answered.to_owned(), 1);
        responses
    }

    #[test]
    fn every_kind_must_be_acknowledged() {
        let clean = |operations: Responses| Posted {
            static_rows: responses(CLEAN),
            custom_rows: responses(CLEAN),
            operations,
        };
        assert!(wrong(&clean(responses("201")).facts()).is_empty());
        assert_eq!(wrong(&clean(responses("200 40")).facts()), ["posts not acknowledged"]);
        assert_eq!(wrong(&clean(Responses::new()).facts()), ["kinds never acknowledged"]);
    }

    #[test]
    fn operation_that_is_missing_or_delivered_twice_is_reported() {
        let audit = |times: u32| {
            let mut ledger = Ledger::new(1);
            let receiver = ledger.add_receiver(Watch::Device(0));
            let sequence = ledger.post(0);
            ledger.settle(0, sequence, Outcome::Acknowledged);
            (0..times).for_each(|_| ledger.deliver(receiver, 0, sequence));
            delivered(&ledger.audit())
        };
        assert!(wrong(&audit(1)).is_empty());
        assert_eq!(wrong(&audit(0)), ["operations delivered", "wrong deliveries"]);
        assert_eq!(wrong(&audit(2)), ["wrong deliveries"]);
        assert_eq!(audit(2)[2].found, "doubled: receiver 0, device 0, row 0");
    }
}
