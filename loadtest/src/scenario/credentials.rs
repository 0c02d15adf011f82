//! `credentials`: the server's cost of a request with Basic credentials, and of one with an access token,
//! both already cached. They alternate, so that other load affects both alike.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::task::JoinSet;

use super::Bench;
use super::closed_loop::PAUSE_AFTER_FAILURE;
use crate::cli::Credentials;
use crate::error::Error;
use crate::progress::Progress;
use crate::report::{Cpu, Fact, Report};
use crate::target::Target;
use crate::target::process::Process;

const CLIENTS: &str = "/application/tokenClients";
const TOKENS: &str = "/v1/oauth/accesstokens";

/// A client of the access-token service.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Client {
    client_id: String,
    client_secret: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Token {
    access_token: String,
}

/// The results of one kind of credentials, turn by turn.
#[derive(Debug)]
struct CredentialTurns {
    name: &'static str,
    target: Arc<Target>,
    requests: u64,
    failures: u64,
    seconds: f64,
    server: Option<f64>,
    per_second: Vec<f64>,
}

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Credentials) -> Result<Report, Error> {
    let (client, token) = token(&bench.target).await?;
    let mut ways = [
        CredentialTurns::new("Basic", Arc::clone(&bench.target)),
        CredentialTurns::new("access token", Arc::new(bench.target.with_bearer(&token))),
    ];
    let (begun, generator) = (Instant::now(), Process::own().cpu_seconds().unwrap_or_default());
    for turn in 0..settings.turns {
        // The order is reversed each time, so that no kind always follows the same other.
        ways.reverse();
        for way in &mut ways {
            way.take(bench, settings).await;
            let per_second = way.per_second.last().copied().unwrap_or_default();
            eprintln!("turn {}: {} {per_second:.0} requests/s", turn + 1, way.name);
        }
    }
    if settings.turns % 2 == 1 {
        ways.reverse();
    }
    let mut connection = bench.target.connect().await?;
    let removed =
        connection.call("removing the client", &bench.target.delete(&format!("{CLIENTS}/{client}"))).await?;
    let [basic, by_token] = &ways;
    let mut facts = vec![Fact::number(
        "requests without a 200",
        ways.iter().map(|way| way.failures).sum::<u64>() as usize,
        0,
    )];
    facts.extend(ways.iter().map(|way| Fact::any(way.name, way.figures())));
    let rates = by_token.rate() / basic.rate();
    facts.push(Fact::any("requests/s, ratio", format!("{rates:.3}")));
    facts.extend(cpu_ratio(basic, by_token, settings.most_cpu));
    let seconds = begun.elapsed().as_secs_f64();
    let server = ways.iter().map(|way| way.server).sum();
    let generator = Process::own().cpu_seconds().unwrap_or_default() - generator;
    Ok(Report {
        seconds,
        clean: removed.status == 204 && facts.iter().all(|fact| fact.holds),
        facts,
        cpu: Some(Cpu::of(server, generator, seconds)),
        ..bench.report("credentials", settings)
    })
}

/// Creates a client for this run, and a token of it.
async fn token(target: &Target) -> Result<(String, String), Error> {
    let mut connection = target.connect().await?;
    let request = target.post(CLIENTS, r#"{"name":"load test"}"#);
    let Client { client_id, client_secret } =
        connection.json(201, "creating a token client", &request).await?;
    let request = serde_json::json!({
        "grantType": "client_credentials", "clientId": client_id, "clientSecret": client_secret,
    });
    let request = target.post(TOKENS, &request.to_string());
    let Token { access_token } = connection.json(200, "asking for a token", &request).await?;
    Ok((client_id, access_token))
}

impl CredentialTurns {
    fn new(name: &'static str, target: Arc<Target>) -> Self {
        Self {
            name,
            target,
            requests: 0,
            failures: 0,
            seconds: 0.0,
            server: Some(0.0),
            per_second: Vec::new(),
        }
    }

    /// Sends requests for a turn over all connections, and adds the results.
    async fn take(&mut self, bench: &Bench, settings: &Credentials) {
        let from = Instant::now() + Duration::from_secs(settings.warmup);
        let end = from + Duration::from_secs(settings.seconds);
        let request: Arc<[u8]> = self.target.get(&settings.path).into();
        let mut connections = JoinSet::new();
        for _ in 0..settings.connections {
            connections.spawn(ask_until(from, end, Arc::clone(&self.target), Arc::clone(&request)));
        }
        Progress::pass("warming up", from).await;
        let (begun, server) = (Instant::now(), bench.server.and_then(Process::cpu_seconds));
        Progress::pass(self.name, end).await;
        let seconds = begun.elapsed().as_secs_f64();
        let used = bench.server.and_then(Process::cpu_seconds).zip(server).map(|(now, then)| now - then);
        let (mut requests, mut failures) = (0, 0);
        while let Some(Ok((answered, failed))) = connections.join_next().await {
            requests += answered;
            failures += failed;
        }
        self.requests += requests;
        self.failures += failures;
        self.seconds += seconds;
        self.server = self.server.zip(used).map(|(before, used)| before + used);
        self.per_second.push(requests as f64 / seconds);
    }

    fn rate(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    /// Returns the server's CPU time per request, in microseconds.
    fn cpu(&self) -> Option<f64> {
        self.server.map(|seconds| seconds * 1_000_000.0 / self.requests.max(1) as f64)
    }

    fn figures(&self) -> String {
        let turns: Vec<String> = self.per_second.iter().map(|turn| format!("{turn:.0}")).collect();
        let cpu = self.cpu().map_or("unknown".to_owned(), |cpu| format!("{cpu:.2} µs"));
        format!("{:.0} requests/s (turns: {}), server CPU for each {cpu}", self.rate(), turns.join(" "))
    }
}

/// Returns the ratio of CPU time per request, if the server's process is known.
fn cpu_ratio(basic: &CredentialTurns, by_token: &CredentialTurns, most: Option<f64>) -> Option<Fact> {
    let ratio = by_token.cpu().zip(basic.cpu()).map(|(token, basic)| token / basic);
    match (ratio, most) {
        (None, None) => None,
        (ratio, None) => ratio.map(|ratio| Fact::any("CPU, ratio", format!("{ratio:.3}"))),
        (ratio, Some(most)) => {
            let ratio = ratio.unwrap_or(f64::NAN);
            let (found, expected) = (format!("{ratio:.3}"), format!("at most {most}"));
            Some(Fact { what: "CPU, ratio", found, expected, holds: ratio <= most })
        }
    }
}

/// Sends requests over one connection; returns the number of 200 responses between `from` and `end`, and that
/// of all others at any time.
async fn ask_until(from: Instant, end: Instant, target: Arc<Target>, request: Arc<[u8]>) -> (u64, u64) {
    let (mut answered, mut failed) = (0, 0);
    let mut connection = None;
    while Instant::now() < end {
        if connection.is_none() {
            connection = target.connect().await.ok();
        }
        let status = match &mut connection {
            Some(open) => open.call("asking", &request).await.map(|response| response.status).ok(),
            None => None,
        };
        match status {
            Some(200) => answered += u64::from((from..end).contains(&Instant::now())),
            other => {
                failed += 1;
                connection = connection.filter(|_| other.is_some());
                tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
            }
        }
    }
    (answered, failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Reach;

    fn turns(requests: u64, server: Option<f64>) -> CredentialTurns {
        let target = Target::resolve("http://127.0.0.1:1", Reach::Loopback, "u", "p").unwrap();
        CredentialTurns { requests, server, seconds: 2.0, ..CredentialTurns::new("Basic", Arc::new(target)) }
    }

    #[test]
    fn cpu_is_compared_for_each_request() {
        let (basic, token) = (turns(1000, Some(0.1)), turns(500, Some(0.055)));
        let holds = |most| cpu_ratio(&basic, &token, most).map(|fact| (fact.found, fact.holds));

        assert_eq!(basic.figures(), "500 requests/s (turns: ), server CPU for each 100.00 µs");
        assert_eq!(holds(None), Some(("1.100".to_owned(), true)));
        assert_eq!(holds(Some(1.1)), Some(("1.100".to_owned(), true)));
        assert_eq!(holds(Some(1.05)), Some(("1.100".to_owned(), false)));
    }

    #[test]
    fn unmeasured_figure_does_not_hold() {
        let (basic, token) = (turns(1000, None), turns(500, None));

        assert!(cpu_ratio(&basic, &token, None).is_none());
        assert!(!cpu_ratio(&basic, &token, Some(1.05)).unwrap().holds);
    }
}
