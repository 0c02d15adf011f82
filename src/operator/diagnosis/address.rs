//! The addresses of the server on this machine, and what responds there.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use platform_front::config::Settings;
use platform_front::prerequisites::ADMIN_LISTEN;
use platform_front::self_request::{self, Answer, Protocol};

use super::{Finding, jobs};

/// The time within which the server on this machine must accept a connection and respond.
const PATIENCE: Duration = Duration::from_secs(2);
/// The request for readiness with the states of background jobs, which only the address with the metrics returns.
const READINESS: &str = "/health/ready?withDetails=true";
const START: &str = "start the server; its log says why it ended";

/// Returns one finding for each address of the server: whether the server there is ready for clients.
pub(super) async fn server(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for place in ServerAddress::all(settings) {
        let answer = place.ask(READINESS).await;
        findings.push(place.told_of(place.server, &answer));
        findings.extend(answer.ok().as_ref().and_then(jobs::finding));
    }
    findings
}

/// Returns one finding for each address of the server: whether it responds at all, ready or not. An address without a
/// response is a fault.
pub(super) async fn life(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for place in ServerAddress::all(settings) {
        findings.push(match place.ask("/health/live").await {
            Ok(Answer::Response { status: 200, .. }) => {
                Finding::good(place.server, format!("responds at {place}"))
            }
            Ok(_) => Finding::fault(place.server, format!("another program responds at {place}"), START),
            Err(error) => Finding::fault(place.server, format!("none at {place}: {error}"), START),
        });
    }
    findings
}

/// Checks that each address is either free or used by a server that responds.
pub(super) async fn check(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for place in ServerAddress::all(settings) {
        let answer = place.ask(READINESS).await;
        findings.push(place.check(&answer));
        findings.extend(answer.ok().as_ref().and_then(jobs::finding));
    }
    findings
}

/// An address on which the server listens.
struct ServerAddress {
    /// The subject of this address in the findings of `platform doctor`.
    subject: &'static str,
    /// The subject of this address in the findings of `platform status`.
    server: &'static str,
    flag: &'static str,
    address: SocketAddr,
    protocol: Protocol,
}

impl std::fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.protocol == Protocol::Encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.address)
    }
}

impl ServerAddress {
    /// Returns the address for clients, and the address for operators if one is configured.
    fn all(settings: &Settings) -> Vec<Self> {
        let encrypted = settings.tls.cert.is_some();
        let protocol = if encrypted { Protocol::Encrypted } else { Protocol::Plain };
        let clients = Self {
            subject: "address",
            server: "server",
            flag: "--listen",
            address: settings.listen,
            protocol,
        };
        let operators = settings.admin_listen.map(|address| Self {
            subject: "admin address",
            server: "metrics",
            flag: ADMIN_LISTEN,
            address,
            protocol: Protocol::Plain,
        });
        [clients].into_iter().chain(operators).collect()
    }

    fn check(&self, answer: &io::Result<Answer>) -> Finding {
        let (subject, address, flag) = (self.subject, self.address, self.flag);
        match answer {
            Ok(Answer::Stranger) => Finding::fault(
                subject,
                format!("another program has {address}"),
                format!("`ss -ltnp 'sport = :{}'` names it; {flag} chooses another address", address.port()),
            ),
            Ok(_) => self.told_of(subject, answer),
            Err(_) => match TcpListener::bind(address) {
                Ok(_) => Finding::good(subject, format!("{address} is free; no server runs on it")),
                Err(error) => Finding::fault(
                    subject,
                    format!("{address} cannot be used: {error}"),
                    format!(
                        "{flag} chooses an address of this machine; ports below 1024 need CAP_NET_BIND_SERVICE"
                    ),
                ),
            },
        }
    }

    async fn ask(&self, path: &str) -> io::Result<Answer> {
        self_request::get(self.address, self.protocol, path, PATIENCE).await
    }

    /// Returns the finding for a response of the server, or for a missing response.
    fn told_of(&self, subject: &'static str, answer: &io::Result<Answer>) -> Finding {
        match answer {
            Ok(Answer::Response { status: 200, .. }) => Finding::good(subject, format!("ready at {self}")),
            Ok(Answer::Response { status, .. }) => {
                let remedy = "the log of the server says why; `platform server list` shows one that drains";
                Finding::warning(subject, format!("not ready at {self} ({status})"), remedy)
            }
            Ok(Answer::Stranger) => {
                Finding::unknown(subject, format!("another program has the address {}", self.address))
            }
            Err(_) => Finding::unknown(subject, format!("none at {self}")),
        }
    }
}
