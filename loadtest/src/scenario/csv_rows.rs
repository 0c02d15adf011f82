//! `csv-rows`: how many measurements the server commits per second when they are sent as rows of the static
//! set, one or many in each request, and what each costs on the wire, compared with the same content as JSON.

use std::sync::Arc;

use super::Bench;
use super::closed_loop::{self, Load};
use crate::cli::{CsvRows, RowLimits, SentBy};
use crate::devices;
use crate::devices::fleet_registration::{Fleet, Rows};
use crate::error::Error;
use crate::ledger::run::Run;
use crate::ledger::{Audit, Watch};
use crate::protocol::body::Kind;
use crate::protocol::csv::{ACCEPT, PATH};
use crate::report::{Cpu, Fact, Ratio, Report, Way};
use crate::target::header_line;
use crate::traffic::poster::{Poster, Responses, Sender};
use crate::traffic::read_back::{DEVICES, read_back};

/// A row that changes nothing (row 105).
const CHILDREN: &str = "105\n";
/// The header that most clients send with JSON.
const CONTENT_TYPE: &str = "Content-Type: application/json\r\n";

/// The responses to one way of sending, turn by turn.
#[derive(Debug)]
struct WayTurns {
    kind: Kind,
    headers: Arc<str>,
    responses: Responses,
    seconds: f64,
    rows_per_second: Vec<f64>,
    cpu: Vec<Cpu>,
}

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &CsvRows) -> Result<Report, Error> {
    let devices = settings.devices as usize;
    let fleet = Fleet::register(&bench.target, Rows { devices, agents: 0, group: None }).await?;
    let ids = Arc::new(fleet.ids(&bench.target).await?);
    let run = Arc::new(Run::new(devices));
    let receiver = settings.verify.then(|| run.add_receiver(Watch::All));
    let senders = Arc::new(senders(bench, &fleet, settings.sent_by));
    sign_in(bench, &senders).await?;
    let mut ways = ways(bench, settings);
    let window = bench.open_window();
    for turn in 0..settings.turns {
        // The order is reversed each time, so that no way always follows the same other.
        ways.reverse();
        for way in &mut ways {
            let poster = |measured_from| {
                Poster::new(&bench.target, &run, measured_from).with(way.kind, &way.headers).from(&senders)
            };
            let &CsvRows { connections, warmup, seconds, .. } = settings;
            let load = Load { connections, warmup, seconds };
            let (responses, seconds, cpu) = closed_loop::post_all(bench, &run, &ids, load, poster).await;
            eprintln!("turn {}: {} {:.0} rows/s", turn + 1, way.name(), way.take(&responses, seconds, cpu));
        }
    }
    let (seconds, cpu) = bench.close_window(&window);
    if settings.turns % 2 == 1 {
        ways.reverse();
    }
    let mut facts = facts(&ways);
    let (ways_sent, ratios) = compared(&ways);
    facts.extend(ratios.facts(settings.limits));
    let mut report = Report {
        seconds,
        clean: facts.iter().all(|fact| fact.holds),
        facts,
        ways: ways_sent,
        ratios: [ratios.to_json, ratios.to_fewer].concat(),
        cpu: Some(cpu),
        ..bench.report("csv-rows", settings)
    };
    if let Some(receiver) = receiver {
        let kinds: Vec<Kind> = ways.iter().map(|way| way.kind).collect();
        read_back(&bench.target, &run, receiver, &kinds, &ids, DEVICES).await?;
        let ledger = run.audit();
        report.clean &= Audit::is_clean(&ledger);
        report.ledger = Some(ledger);
    }
    report.devices_left = bench.remove_fleet(&fleet, &ids).await;
    Ok(report)
}

/// Returns the sender for each device.
pub(super) fn senders(bench: &Bench, fleet: &Fleet, sent_by: SentBy) -> Vec<Sender> {
    let sender = |device| match sent_by {
        SentBy::Device => {
            Sender { target: Arc::new(fleet.target(&bench.target, device)), headers: String::new() }
        }
        SentBy::User => Sender {
            target: Arc::clone(&bench.target),
            headers: header_line(&format!("X-Device-Id: {}", fleet.serial(device))),
        },
    };
    (0..fleet.len()).map(sender).collect()
}

/// Lets the server cache the credentials of every sender, because verifying a password for the first time is
/// slow.
async fn sign_in(bench: &Bench, senders: &[Sender]) -> Result<(), Error> {
    let requests = senders.iter().map(|sender| sender.target.post_bare(&sender.headers, PATH, CHILDREN));
    match devices::send_all(&bench.target, "signing in", requests.collect(), 200).await {
        0 => Ok(()),
        left => Err(Error::Refused(format!("{left} devices could not sign in"))),
    }
}

/// Returns the ways to send, each with the minimum of headers.
fn ways(bench: &Bench, settings: &CsvRows) -> Vec<WayTurns> {
    let headers = bench.target.quiet_post_headers();
    let accept = if settings.no_accept { "" } else { ACCEPT };
    let rows = settings.rows.iter().map(|rows| (Kind::StaticRows(*rows), format!("{accept}{headers}")));
    let content_type = if settings.content_type { CONTENT_TYPE } else { "" };
    let json = settings.against_rest.then(|| (Kind::Reading, format!("{content_type}{headers}")));
    rows.chain(json).map(|(kind, headers)| WayTurns::new(kind, headers.into())).collect()
}

impl WayTurns {
    fn new(kind: Kind, headers: Arc<str>) -> Self {
        let responses = Responses::default();
        Self { kind, headers, responses, seconds: 0.0, rows_per_second: Vec::new(), cpu: Vec::new() }
    }

    fn name(&self) -> String {
        match self.kind {
            Kind::StaticRows(1) => "one row".to_owned(),
            Kind::StaticRows(rows) => format!("{rows} rows"),
            _ => "JSON".to_owned(),
        }
    }

    /// Adds a turn; returns its rows per second.
    fn take(&mut self, responses: &Responses, seconds: f64, cpu: Cpu) -> f64 {
        let rows_per_second = (responses.latency.len() * u64::from(self.kind.rows())) as f64 / seconds;
        self.responses.add(responses);
        self.seconds += seconds;
        self.rows_per_second.push(rows_per_second);
        self.cpu.push(cpu);
        rows_per_second
    }

    fn way(&self) -> Way {
        Way {
            turns: self.rows_per_second.clone(),
            cpu: Some(Cpu::sum(&self.cpu, self.seconds)),
            ..Way::of(self.name(), &self.responses, self.seconds, self.kind.rows())
        }
    }
}

/// The ratios between ways, from the fewest rows per request on.
#[derive(Debug)]
struct Ratios {
    /// Rows to JSON.
    to_json: Vec<Ratio>,
    /// Many rows to the next fewer.
    to_fewer: Vec<Ratio>,
}

impl Ratios {
    /// Checks the limits.
    fn facts(&self, limits: RowLimits) -> Vec<Fact> {
        let to_json = self.to_json.first();
        let rate = |ratio: &Ratio| ratio.rows_per_second;
        let slowest = self.to_fewer.iter().map(rate).reduce(f64::min);
        let fact = |what, found: Option<f64>, limit: Option<f64>, is_least: bool| {
            let (found, limit) = (found.unwrap_or(f64::NAN), limit?);
            let word = if is_least { "least" } else { "most" };
            let holds = if is_least { found >= limit } else { found <= limit };
            Some(Fact { what, found: format!("{found:.3}"), expected: format!("at {word} {limit}"), holds })
        };
        [
            fact("rows/s to JSON", to_json.map(rate), limits.least_to_json, true),
            fact("rows/s to fewer rows", slowest, limits.least_to_fewer, true),
            fact("bytes to JSON", to_json.map(|ratio| ratio.bytes), limits.most_bytes, false),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Returns the ways, and the ratios of rows to JSON, and of many rows in a request to fewer.
fn compared(turns: &[WayTurns]) -> (Vec<Way>, Ratios) {
    let ways: Vec<Way> = turns.iter().map(WayTurns::way).collect();
    let (mut rows, json): (Vec<_>, Vec<_>) =
        turns.iter().zip(&ways).partition(|(turns, _)| turns.kind.is_csv());
    rows.sort_by_key(|(turns, _)| turns.kind.rows());
    let to_json = json.iter().flat_map(|(_, json)| rows.iter().map(|(_, way)| Ratio::of(way, json)));
    let to_fewer = rows.windows(2).map(|pair| Ratio::of(pair[1].1, pair[0].1));
    let ratios = Ratios { to_json: to_json.collect(), to_fewer: to_fewer.collect() };
    (ways, ratios)
}

/// Checks that everything was acknowledged. A response line is an error, because none of the rows has a
/// response.
fn facts(turns: &[WayTurns]) -> Vec<Fact> {
    let failures = turns.iter().map(|turns| turns.responses.failures()).sum::<u64>();
    let silent = turns.iter().filter(|turns| turns.responses.latency.is_empty()).count();
    let mut facts = vec![
        Fact::number("posts not acknowledged", failures as usize, 0),
        Fact::number("ways without posts", silent, 0),
    ];
    let lines = turns.iter().flat_map(|turns| &turns.responses.lines);
    facts.extend(lines.map(|line| Fact::any("unexpected line", line.clone())));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::csv::verdict::CLEAN;

    /// Returns a way with this many posts in each of two turns, which took two seconds each.
    fn turns(kind: Kind, posts: [u64; 2], answered: &str) -> WayTurns {
        let mut turns = WayTurns::new(kind, "".into());
        for posts in posts {
            let mut responses = Responses::default();
            responses.latency.record_n(1000, posts);
            responses.by_status.insert(answered.to_owned(), posts);
            responses.traffic.sent = posts * 100;
            turns.take(&responses, 2.0, Cpu::of(Some(1.0), 0.5, 2.0));
        }
        turns
    }

    #[test]
    fn rows_are_compared_with_json_and_many_with_one() {
        let turns = [
            turns(Kind::StaticRows(100), [40, 60], CLEAN),
            turns(Kind::StaticRows(1), [600, 400], CLEAN),
            turns(Kind::Reading, [500, 500], "201"),
        ];
        let (ways, ratios) = compared(&turns);
        assert_eq!(ways.iter().map(|way| way.rows_per_second).collect::<Vec<_>>(), [2500.0, 250.0, 250.0]);
        let figures = |ratios: &[Ratio]| -> Vec<(String, f64, f64)> {
            let figures = ratios.iter().map(|ratio| (ratio.of.clone(), ratio.rows_per_second, ratio.bytes));
            figures.collect()
        };
        assert_eq!(
            figures(&ratios.to_json),
            [("one row to JSON".to_owned(), 1.0, 1.0), ("100 rows to JSON".to_owned(), 10.0, 0.01)]
        );
        assert_eq!(figures(&ratios.to_fewer), [("100 rows to one row".to_owned(), 10.0, 0.01)]);
        assert!(facts(&turns).iter().all(|fact| fact.holds));
    }

    #[test]
    fn responses_with_lines_and_ways_without_posts_are_reported() {
        let wrong = |turns: &[WayTurns]| -> Vec<&'static str> {
            facts(turns).iter().filter(|fact| !fact.holds).map(|fact| fact.what).collect()
        };
        let mut refused = turns(Kind::StaticRows(1), [1, 0], CLEAN);
        refused.responses.by_status.insert("200 50,*,422".to_owned(), 3);
        refused.responses.lines.push("50,1,422".to_owned());
        assert_eq!(facts(std::slice::from_ref(&refused))[2].found, "50,1,422");
        assert_eq!(wrong(&[refused]), ["posts not acknowledged"]);
        assert_eq!(wrong(&[turns(Kind::Reading, [0, 0], "201")]), ["ways without posts"]);
    }

    #[test]
    fn violated_limits_are_reported() {
        let ways = [
            turns(Kind::StaticRows(100), [30, 30], CLEAN),
            turns(Kind::StaticRows(1), [500, 500], CLEAN),
            turns(Kind::Reading, [500, 500], "201"),
        ];
        let (_, ratios) = compared(&ways);
        let wrong = |least_to_json, least_to_fewer, most_bytes| -> Vec<&'static str> {
            let limits = RowLimits { least_to_json, least_to_fewer, most_bytes };
            ratios.facts(limits).iter().filter(|fact| !fact.holds).map(|fact| fact.what).collect()
        };
        assert!(wrong(None, None, None).is_empty());
        assert!(wrong(Some(1.0), Some(6.0), Some(1.0)).is_empty());
        assert_eq!(
            wrong(Some(1.1), Some(6.1), Some(0.9)),
            ["rows/s to JSON", "rows/s to fewer rows", "bytes to JSON"]
        );
        // A limit on something that was not measured does not hold.
        let (_, none) = compared(&ways[2..]);
        let limits = RowLimits { least_to_fewer: Some(5.0), ..RowLimits::default() };
        assert!(!none.facts(limits)[0].holds);
    }
}
