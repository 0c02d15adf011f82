//! `trickle`: many connections send nothing, or their requests byte by byte, and never finish one in time. A
//! few clients post and poll as usual, before and meanwhile: they must lose nothing, and the server's memory
//! should hardly grow.

mod slow;

use std::sync::Arc;

use self::slow::SlowConnections;
use super::Bench;
use super::ordered::{self, Load};
use crate::cli::Trickle;
use crate::devices;
use crate::error::Error;
use crate::ledger::latency::{Delay, Latency, Times};
use crate::ledger::run::Run;
use crate::ledger::{Audit, Watch};
use crate::report::{Deliveries, Fact, Posts, Report};
use crate::traffic::audience::{Audience, ClientFailures, ClientSpec, Transport};
use crate::traffic::poster::{Poster, Responses};

/// The seconds of posting before the measurement.
const WARM_UP: u64 = 1;

/// The results of the clients that post and poll as usual.
struct ClientResults {
    responses: Responses,
    latency: Times,
    clients: ClientFailures,
    ledger: Audit,
}

impl ClientResults {
    fn is_clean(&self) -> bool {
        self.ledger.is_clean() && self.responses.failures() == 0 && self.clients.ended == 0
    }
}

/// PSS of the server in bytes.
#[derive(Debug, Clone, Copy)]
struct Pss {
    before: u64,
    slow: u64,
    after: u64,
}

/// Runs the scenario. Posts, deliveries and CPU are those during the slow connections.
pub(super) async fn run(bench: &Bench, settings: &Trickle) -> Result<Report, Error> {
    // Each part uses other devices: an alarm that is open already would be counted, not published as new.
    let ids = devices::create(&bench.target, 2 * settings.clients as usize).await?;
    let (first, second) = ids.split_at(settings.clients as usize);
    let quiet = run_clients(bench, settings, first).await?;
    let before = bench.memory();

    let slow = SlowConnections::open(&bench.target, settings).await;
    let rested = bench.memory_at_rest().await;
    let window = bench.open_window();
    let pressed = run_clients(bench, settings, second).await?;
    let (_, cpu) = bench.close_window(&window);
    let mut facts = vec![Fact::any("slow connections open", slow.count().to_string())];
    facts.extend(slow.end().await);
    let after = bench.memory_at_rest().await;

    let pss = before.zip(rested).zip(after).map(|((before, slow), after)| Pss { before, slow, after });
    facts.extend(pss.map(|pss| pss.fact(settings.connections)));
    let seconds = settings.seconds as f64;
    Ok(Report {
        seconds,
        clean: quiet.is_clean() && pressed.is_clean(),
        posts: Some(Posts::of(&pressed.responses, seconds)),
        deliveries: Some(Deliveries::of(&pressed.latency, seconds)),
        facts,
        delays: vec![
            Delay { kind: "posts, before", latency: Latency::of(&quiet.responses.latency) },
            Delay { kind: "posts, meanwhile", latency: Latency::of(&pressed.responses.latency) },
            Delay { kind: "deliveries, before", latency: Latency::of(&quiet.latency) },
            Delay { kind: "deliveries, meanwhile", latency: Latency::of(&pressed.latency) },
        ],
        cpu: Some(cpu),
        clients: Some(pressed.clients),
        ledger: Some(pressed.ledger),
        devices_left: bench.remove_devices(ids).await,
        ..bench.report("trickle", settings)
    })
}

/// Lets clients connect, poll and receive alarms for a while.
async fn run_clients(bench: &Bench, settings: &Trickle, ids: &[String]) -> Result<ClientResults, Error> {
    let ids = Arc::new(ids.to_vec());
    let run = Arc::new(Run::new(ids.len()));
    let client_spec = |(device, id)| ClientSpec {
        receiver: run.add_receiver(Watch::Device(device)),
        channel: format!("/alarms/{id}"),
        transport: Transport::LongPolling,
    };
    let client_specs = (0..).zip(ids.iter()).map(client_spec).collect();
    let audience = Audience::open(&bench.target, &run, client_specs, bench.common.connecting).await?;
    let load = Load {
        per_second: settings.alarms_per_second,
        warmup: WARM_UP,
        seconds: settings.seconds,
        posters: settings.clients,
    };
    let poster = |measured_from| Poster::new(&bench.target, &run, measured_from);
    let turns = |number| std::iter::repeat(number as usize);
    let responses = ordered::post_all(&run, &ids, load, poster, turns).await;
    bench.drain(&run).await;
    Ok(ClientResults { responses, latency: run.latency(), clients: audience.close(), ledger: run.audit() })
}

impl Pss {
    fn fact(self, connections: u32) -> Fact {
        let mebibytes = |bytes: u64| bytes as f64 / 1_048_576.0;
        let each = (self.slow as f64 - self.before as f64) / f64::from(connections);
        let found = format!(
            "before {:.1}  meanwhile {:.1}  after {:.1} MiB; {each:.0} bytes per slow connection",
            mebibytes(self.before),
            mebibytes(self.slow),
            mebibytes(self.after)
        );
        Fact::any("server PSS", found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reported_per_slow_connection() {
        let pss = Pss { before: 1_048_576, slow: 3_145_728, after: 2_097_152 };
        let found = pss.fact(1024).found;
        assert_eq!(found, "before 1.0  meanwhile 3.0  after 2.0 MiB; 2048 bytes per slow connection");
    }
}
