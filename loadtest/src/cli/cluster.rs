//! Several servers on one database.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

/// Settings of `cluster`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Cluster {
    /// Shell command that starts a server in the foreground; its address, database, secret key and the password
    /// of admin are set by environment variables
    #[arg(long)]
    pub(crate) server_command: String,
    /// Servers
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=16))]
    pub(crate) servers: u16,
    /// Port of the first server on 127.0.0.1; the others use the following ones
    #[arg(long, default_value_t = 18_100, value_parser = clap::value_parser!(u16).range(1024..=65_000))]
    pub(crate) port: u16,
    /// PostgreSQL of the servers [default: the private one of one more server, which clients do not use]
    #[arg(long, conflicts_with = "immediate")]
    #[serde(skip)]
    pub(crate) database_url: Option<String>,
    /// Directory of the secret key, the logs of the servers, and the private PostgreSQL
    #[arg(long, default_value = "cluster-data")]
    pub(crate) directory: PathBuf,
    /// Devices; each has a session on its own alarms, at the servers in turn
    #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) polls: u32,
    /// Transports of the devices' sessions, which use them in turn
    #[arg(long, value_delimiter = ',', default_value = "long-polling")]
    pub(crate) transports: Vec<ClusterTransport>,
    /// Sessions on the alarms of all devices at the servers in turn, half by long polling, half by WebSocket
    #[arg(long, default_value_t = 30)]
    pub(crate) dashboards: u32,
    /// Alarms posted per second at the servers in turn, on a fixed schedule regardless of the responses
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: u32,
    /// Measured seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Seconds before, in the ledger but not measured
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
    /// Connections that post
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) posters: u32,
    /// After each response, or frame of a WebSocket, go on at the next server over a new connection, as a client does
    /// behind a balancer that knows no sessions
    #[arg(long)]
    pub(crate) round_robin: bool,
    /// Falsify every thousandth notification before it is recorded, as a control: the run must not be clean
    #[arg(long)]
    pub(crate) falsify: Option<Falsification>,
    /// Kill a server with SIGKILL every few seconds, in turn, and restart it
    #[arg(long, group = "disturbance")]
    pub(crate) kill: bool,
    /// Pause a server with SIGSTOP for this many seconds every few seconds, in turn
    #[arg(long, group = "disturbance", value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) pause: Option<u64>,
    /// Terminate the listening database connections of all servers every few seconds
    #[arg(long, group = "disturbance")]
    pub(crate) cut: bool,
    /// Stop a server with SIGTERM every few seconds, in turn, and start another one in its place
    #[arg(long, group = "disturbance")]
    pub(crate) restart: bool,
    /// Stop the private PostgreSQL every few seconds, like `pg_ctl stop -m immediate`, and start it again
    #[arg(long, group = "disturbance")]
    pub(crate) immediate: bool,
    /// Seconds before the first disturbance, and from the end of one to the next
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) every: u64,
}

/// The transport of a device's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ClusterTransport {
    /// HTTP long polling
    LongPolling,
    /// Frames over an upgraded connection
    WebSocket,
    /// Long polling with rows of CSV
    Csv,
}

/// What is done to received notifications before they are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Falsification {
    /// It is not recorded
    Drop,
    /// It is recorded twice
    Double,
    /// It is recorded after the next one of its device
    Swap,
}

/// What is done to the servers while they are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// SIGKILL to a server, and a restart.
    Kill,
    /// SIGSTOP to a server, and SIGCONT after this many seconds.
    Pause(u64),
    /// The listening database connections of all servers are terminated.
    Cut,
    /// SIGTERM to a server, and another one in its place when it has ended.
    Restart,
    /// The private PostgreSQL is stopped immediately, and started again.
    Immediate,
}

impl Cluster {
    /// Returns the disturbance, if there is to be one.
    pub(crate) fn disturbance(&self) -> Option<Disturbance> {
        let pause = self.pause.map(Disturbance::Pause);
        let chosen = |flag: bool, disturbance| flag.then_some(disturbance);
        pause
            .or(chosen(self.kill, Disturbance::Kill))
            .or(chosen(self.cut, Disturbance::Cut))
            .or(chosen(self.restart, Disturbance::Restart))
            .or(chosen(self.immediate, Disturbance::Immediate))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Arguments, Scenario};

    fn parse(flags: &[&str]) -> Option<Cluster> {
        let words = ["loadtest", "cluster", "--server-command", "platform"].iter().chain(flags);
        match Arguments::try_parse_from(words).ok()?.scenario {
            Scenario::Cluster(settings) => Some(settings),
            _ => None,
        }
    }

    #[test]
    fn one_disturbance_or_none_is_chosen() {
        let disturbance = |flags: &[&str]| parse(flags).unwrap().disturbance();
        assert_eq!(disturbance(&[]), None);
        assert_eq!(disturbance(&["--kill"]), Some(Disturbance::Kill));
        assert_eq!(disturbance(&["--pause", "40"]), Some(Disturbance::Pause(40)));
        assert_eq!(disturbance(&["--cut"]), Some(Disturbance::Cut));
        assert_eq!(disturbance(&["--restart"]), Some(Disturbance::Restart));
        assert_eq!(disturbance(&["--immediate", "--round-robin"]), Some(Disturbance::Immediate));
        assert!(parse(&["--kill", "--cut"]).is_none());
        assert!(parse(&["--immediate", "--database-url", "host=/tmp"]).is_none());
    }

    #[test]
    fn transports_are_a_list() {
        let transports = |flags: &[&str]| parse(flags).unwrap().transports;
        assert_eq!(transports(&[]), [ClusterTransport::LongPolling]);
        let all = [ClusterTransport::LongPolling, ClusterTransport::WebSocket, ClusterTransport::Csv];
        assert_eq!(transports(&["--transports", "long-polling,web-socket,csv"]), all);
    }
}
