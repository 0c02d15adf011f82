//! Several servers on one database.

use std::path::PathBuf;

use clap::Args;
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
    #[arg(long)]
    #[serde(skip)]
    pub(crate) database_url: Option<String>,
    /// Directory of the secret key, the logs of the servers, and the private PostgreSQL
    #[arg(long, default_value = "cluster-data")]
    pub(crate) directory: PathBuf,
    /// Devices; each holds a long poll on its own alarms, at the servers in turn
    #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) polls: u32,
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
    /// Send each long poll to the next server over a new connection, as a balancer does that knows no sessions; latencies
    /// are those of the server of the handshake
    #[arg(long)]
    pub(crate) round_robin: bool,
    /// Kill a server with SIGKILL every few seconds, in turn, and restart it
    #[arg(long, group = "disturbance")]
    pub(crate) kill: bool,
    /// Pause a server with SIGSTOP for this many seconds every few seconds, in turn
    #[arg(long, group = "disturbance", value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) pause: Option<u64>,
    /// Terminate the listening database connections of all servers every few seconds
    #[arg(long, group = "disturbance")]
    pub(crate) cut: bool,
    /// Seconds before the first disturbance, and from the end of one to the next
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) every: u64,
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
}

impl Cluster {
    /// Returns the disturbance, if there is to be one.
    pub(crate) fn disturbance(&self) -> Option<Disturbance> {
        match (self.kill, self.pause, self.cut) {
            (true, _, _) => Some(Disturbance::Kill),
            (_, Some(seconds), _) => Some(Disturbance::Pause(seconds)),
            (_, _, true) => Some(Disturbance::Cut),
            _ => None,
        }
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
        assert!(parse(&["--kill", "--cut"]).is_none());
    }
}
