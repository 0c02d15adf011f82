//! `registration`: one file registers many devices. All of them must be created, the server's memory must not
//! grow with the file, and a sample of them must be able to log in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::Bench;
use crate::cli::Registration;
use crate::devices::fleet_registration::{Fleet, Rows, Upload};
use crate::error::Error;
use crate::protocol::bayeux;
use crate::protocol::bayeux::long_polling;
use crate::report::{Fact, Posts, Report};
use crate::target::process::Process;
use crate::traffic::poster::Responses;

/// The interval of samples of the server's memory.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Registration) -> Result<Report, Error> {
    let count = settings.rows as usize;
    let fleet = Fleet::new(&bench.target, count).await?;
    let before = bench.memory();
    let watch = bench.server.map(MemoryWatch::start);
    let window = bench.open_window();
    let uploaded = fleet.upload(&bench.target, Rows { devices: count, agents: 0, group: None }).await;
    let (seconds, cpu) = bench.close_window(&window);
    let most = watch.map(MemoryWatch::stop);
    let upload = uploaded?;
    let after = bench.memory_at_rest().await;

    let mut facts = facts(&upload, settings);
    let mebibytes = |bytes: Option<u64>| bytes.map_or(f64::NAN, |bytes| bytes as f64 / 1_048_576.0);
    let (before, most, after) = (mebibytes(before), mebibytes(most), mebibytes(after));
    facts.push(Fact::any(
        "server PSS",
        format!("before {before:.1}  most {most:.1}  after {after:.1} MiB; grew by {:.1}", most - before),
    ));
    let asked = settings.sample.min(settings.rows) as usize;
    facts.push(Fact::number("signed in", sign_in(bench, &fleet, asked).await?, asked));
    let ids = fleet.ids(&bench.target).await;
    facts.push(Fact::number("in the inventory", ids.as_ref().map_or(0, Vec::len), count));
    let clean = facts.iter().all(|fact| fact.holds);
    Ok(Report {
        seconds,
        clean,
        posts: Some(posts(&upload, settings)),
        cpu: Some(cpu),
        facts,
        devices_left: bench.remove_fleet(&fleet, &ids.unwrap_or_default()).await,
        ..bench.report("registration", settings)
    })
}

/// Returns the figures of the only post, with its rows per second.
fn posts(upload: &Upload, settings: &Registration) -> Posts {
    let mut responses = Responses::default();
    responses.by_status.insert("201".to_owned(), 1);
    responses.latency.record(upload.took.as_micros() as u64);
    Posts::of_rows(&responses, upload.took.as_secs_f64(), settings.rows)
}

/// Checks that every row created a device, and fast enough.
fn facts(upload: &Upload, settings: &Registration) -> Vec<Fact> {
    let (result, count) = (&upload.result, settings.rows as usize);
    let mut facts = vec![
        Fact::number("rows", result.number_of_all, count),
        Fact::number("created", result.number_of_created, count),
        Fact::number("successful", result.number_of_successful, count),
        Fact::number("failed", result.number_of_failed, 0),
    ];
    if result.number_of_failed > 0 {
        facts.push(Fact::any("failed because", result.reasons()));
    }
    let rate = f64::from(settings.rows) / upload.took.as_secs_f64();
    facts.extend(settings.at_least.map(|least| Fact {
        what: "fast enough",
        found: format!("{rate:.0} rows/s"),
        expected: format!("at least {least}"),
        holds: rate >= f64::from(least),
    }));
    facts
}

/// Lets some devices, evenly spread, send a handshake with their own credentials; returns how many succeeded.
async fn sign_in(bench: &Bench, fleet: &Fleet, asked: usize) -> Result<usize, Error> {
    let mut connection = bench.target.connect().await?;
    let mut signed_in = 0;
    for number in 0..asked {
        let target = fleet.target(&bench.target, number * fleet.len() / asked);
        let request = target.post(bayeux::OPERATIONS, &long_polling::handshake());
        let response = connection.call(bayeux::HANDSHAKE, &request).await?;
        let is_in = response.status == 200 && bayeux::client_id(response.body).is_ok();
        signed_in += usize::from(is_in);
    }
    Ok(signed_in)
}

/// Repeated samples of a server's memory.
#[derive(Debug)]
struct MemoryWatch {
    most: Arc<AtomicU64>,
    looks: JoinHandle<()>,
}

impl MemoryWatch {
    fn start(server: Process) -> Self {
        let most = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&most);
        let looks = tokio::spawn(async move {
            loop {
                seen.fetch_max(server.memory().unwrap_or_default(), Ordering::Relaxed);
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
        });
        Self { most, looks }
    }

    /// Returns the maximum, in bytes.
    fn stop(self) -> u64 {
        self.looks.abort();
        self.most.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(result: &str, at_least: Option<u32>) -> Vec<&'static str> {
        let settings = Registration { rows: 100, sample: 1, at_least };
        let upload =
            Upload { took: Duration::from_millis(50), result: serde_json::from_str(result).unwrap() };
        facts(&upload, &settings).into_iter().filter(|fact| !fact.holds).map(|fact| fact.what).collect()
    }

    #[test]
    fn every_row_must_create_a_device_and_meet_a_required_rate() {
        let all = r#"{"numberOfAll":100,"numberOfCreated":100,"numberOfFailed":0,"numberOfSuccessful":100}"#;
        assert!(wrong(all, None).is_empty());
        assert!(wrong(all, Some(2000)).is_empty());
        assert_eq!(wrong(all, Some(2001)), ["fast enough"]);
        let some = r#"{"numberOfAll":100,"numberOfCreated":98,"numberOfFailed":1,"numberOfSuccessful":99,
            "failedCreationList":[{"failureReason":"duplicate ID"}]}"#;
        assert_eq!(wrong(some, None), ["created", "successful", "failed"]);
    }
}
