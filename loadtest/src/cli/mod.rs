//! The command line.

mod consumers;
mod costs;
mod csv;
mod device_control;
mod fairness;
mod faults;
pub(crate) mod interruption;
mod notifications;
#[cfg(test)]
mod readme_tests;
mod scenario_file;
mod volumes;
mod writes;

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand};

pub(crate) use self::consumers::{ConsumerFigure, Consumers};
pub(crate) use self::costs::{Cost, Credentials, Hosted, Modules, Service};
pub(crate) use self::csv::{CsvRows, RowLimits, SentBy};
pub(crate) use self::device_control::{Bulk, Reconnect, Registration};
pub(crate) use self::fairness::{Fairness, NoiseKind};
pub(crate) use self::faults::{Availability, Trickle};
pub(crate) use self::notifications::{Fanout, SharedChannel};
pub(crate) use self::scenario_file::{CheckFile, Clean, Compare, Explain, Record, RunFile, Worker};
pub(crate) use self::volumes::{DataFill, InventoryFill, Series, SeriesFill, Shape};
pub(crate) use self::writes::{Measurements, Ramp};
use crate::error::Error;
use crate::target::process::Process;
use crate::target::{CA_FILE, Floor, Reach, Target};

/// Loads a running server over HTTP and WebSocket, and proves with a ledger that nothing was lost, doubled or
/// reordered. Exit code 0: clean; 1: measured, not clean; 2: not measured.
#[derive(Debug, Parser)]
#[command(name = "loadtest", version)]
pub(crate) struct Arguments {
    /// Settings of every scenario.
    #[command(flatten)]
    pub(crate) common: Common,
    /// The scenario to run.
    #[command(subcommand)]
    pub(crate) scenario: Scenario,
}

/// The program: a scenario, or what is done with a file of them.
#[derive(Debug, Parser)]
#[command(name = "loadtest", version)]
#[command(about = Arguments::command().get_about().map(ToString::to_string).unwrap_or_default())]
pub(crate) struct Program {
    /// Settings of every scenario.
    #[command(flatten)]
    pub(crate) common: Common,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: ProgramCommand,
}

/// The subcommands of the program.
#[derive(Debug, Subcommand)]
pub(crate) enum ProgramCommand {
    /// Runs a scenario file, and judges its thresholds
    Run(RunFile),
    /// Waits for runs with `--workers`, and does its share of their load
    Worker(Worker),
    /// Explains what `run` would do with a scenario file, without doing it
    Check(CheckFile),
    /// Counts or removes the devices and users that runs left because they were killed
    Clean(Clean),
    /// Compares two results of `run`: what is better, what is worse, and what is noise
    Compare(Compare),
    /// Writes a scenario file with the arrivals, the mix and the sizes of a tenant, without its content
    Record(Record),
    /// Explains the words of scenario files and reports
    Explain(Explain),
    /// A scenario.
    #[command(flatten)]
    Scenario(Scenario),
}

/// Settings of every scenario.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Server to load; must be a loopback address unless --allow-remote-target is given
    #[arg(long, global = true, default_value = "http://127.0.0.1:8080")]
    pub(crate) url: String,
    /// User name, or tenant/user
    #[arg(long, global = true, env = "LOADTEST_USER", default_value = "admin")]
    pub(crate) user: String,
    /// Password of the user
    #[arg(long, global = true, env = "LOADTEST_PASSWORD", hide_env_values = true, default_value = "")]
    pub(crate) password: String,
    /// Also write the result to this file, as JSON
    #[arg(long, global = true)]
    pub(crate) json: Option<PathBuf>,
    /// Process whose memory and CPU are measured [default: the one that listens on the target port]
    #[arg(long, global = true)]
    pub(crate) server_pid: Option<u32>,
    /// Threads of the generator; use one when it is pinned to one core
    #[arg(long, global = true, default_value_t = 1)]
    pub(crate) threads: usize,
    /// Connections being opened at the same time
    #[arg(long, global = true, default_value_t = 64)]
    pub(crate) connecting: usize,
    /// Seconds of idling before the memory with all polls open is read
    #[arg(long, global = true, default_value_t = 3)]
    pub(crate) settle: u64,
    /// Longest wait in seconds for outstanding deliveries after the last post
    #[arg(long, global = true, default_value_t = 20)]
    pub(crate) drain: u64,
    /// Leave the devices and alarms on the server
    #[arg(long, global = true)]
    pub(crate) keep: bool,
    /// Header to send with every post that is measured, such as "X-Platform-Processing-Mode: TRANSIENT"
    #[arg(long, global = true, alias = "alarm-header", value_name = "NAME: VALUE")]
    pub(crate) post_header: Option<String>,
    /// PEM file with the certificates that an https target is checked against [default: those of the system]
    #[arg(long, global = true, value_name = "FILE.pem")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Accept a target that is not this machine; only load servers that are yours
    #[arg(long, global = true)]
    pub(crate) allow_remote_target: bool,
    /// The target is this server of another kind: for `fanout` over long polling
    #[arg(long, global = true, value_enum)]
    pub(crate) floor: Option<Floor>,
}

impl Common {
    /// Returns which targets are accepted.
    pub(crate) fn reach(&self) -> Reach {
        if self.allow_remote_target { Reach::Anywhere } else { Reach::Loopback }
    }

    /// Checks https targets against the certificates of `--ca-file` from now on, if there is one.
    pub(crate) fn accept_certificates(&self) {
        self.ca_file.iter().for_each(|file| drop(CA_FILE.set(file.clone())));
    }

    /// Returns who creates devices, or tenants at servers that the run started.
    pub(crate) fn creator(&self, creates_tenants: bool) -> &str {
        if creates_tenants { "management/admin" } else { &self.user }
    }

    /// Returns the target, and its process if that is known.
    ///
    /// # Errors
    /// The target is not accepted.
    pub(crate) fn target_and_server(&self) -> Result<(Target, Option<Process>), Error> {
        let reach = self.reach();
        self.accept_certificates();
        let target = Target::resolve(&self.url, reach, &self.user, &self.password)?;
        let server = match (self.server_pid, reach) {
            (Some(pid), _) => Some(Process::with_pid(pid)),
            (None, Reach::Loopback) => Process::listening_on(target.port()),
            (None, Reach::Anywhere) => None,
        };
        Ok((target, server))
    }
}

/// The scenarios.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Scenario {
    /// Many polls on one channel; each alarm goes to all, the next is posted when all have received it. Or a channel
    /// for
    /// each, and alarms at a fixed rate
    Fanout(Fanout),
    /// Named consumers: what each costs, how fast one catches up, what idle ones need, and how one lapses
    Consumers(Consumers),
    /// Measurements, one or many per post, as fast as the server accepts them or on a fixed schedule
    Measurements(Measurements),
    /// Measurements as rows of the compact CSV protocol, one or many per request, compared with the same as
    /// JSON
    CsvRows(CsvRows),
    /// Reads by Basic credentials and by an access token, in turns: what each costs the server
    Credentials(Credentials),
    /// Measurements with and without event-processing modules, in turns: what the modules cost the server
    Modules(Modules),
    /// One device's year of measurements, sent in collections
    SeriesFill(SeriesFill),
    /// Reads of that year: series by day, by hour and raw, a page of a day
    Series(Series),
    /// One tenant at full load of each kind in turn, another at a fixed rate: how much slower the other one gets
    Fairness(Fairness),
    /// Many devices send messages, some stop: exactly those must be reported, once and in time
    Availability(Availability),
    /// Fills a database with many alarms, events and measurements, by SQL
    DataFill(DataFill),
    /// Calls of a microservice, directly and through the platform
    Service(Service),
    /// Downloads of one file of a hosted application, alone or in turns with the same file from another
    /// server
    Hosted(Hosted),
    /// Fills a database with a large inventory, by SQL
    InventoryFill(InventoryFill),
    /// One bulk operation over a group: each device gets one operation, and the ramp is kept
    Bulk(Bulk),
    /// One file registers many devices
    Registration(Registration),
    /// All devices of a fleet reconnect at once
    Reconnect(Reconnect),
    /// Many connections send nothing, or their requests byte by byte, while a few clients work as usual
    Trickle(Trickle),
}

impl Scenario {
    /// Returns whether it loads a server that runs already, which is the platform and stays.
    pub(crate) fn uses_running_target(&self) -> bool {
        match self {
            Self::InventoryFill(_) | Self::DataFill(_) => false,
            Self::Reconnect(settings) => settings.server_command.is_none() && !settings.without_users,
            _ => true,
        }
    }

    /// Returns how many clients are connected at the same time, or none for scenarios with few clients.
    pub(crate) fn clients(&self) -> usize {
        let clients: &[u32] = match self {
            Self::Fanout(settings) => &[settings.clients],
            Self::Reconnect(settings) => &[settings.devices],
            Self::Trickle(settings) => &[settings.connections, settings.clients],
            Self::Consumers(settings) => &[settings.connections, settings.most_readers()],
            Self::Fairness(settings) => &[settings.polls, settings.noisy, settings.connections],
            _ => &[],
        };
        clients.iter().map(|count| *count as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_consistent() {
        Program::command().debug_assert();
    }

    #[test]
    fn common_flags_may_follow_the_scenario() {
        let arguments =
            Arguments::parse_from(["loadtest", "fanout", "--clients", "7", "--url", "http://127.0.0.1:1"]);
        assert_eq!(arguments.common.url, "http://127.0.0.1:1");
        assert!(matches!(arguments.scenario, Scenario::Fanout(Fanout { clients: 7, .. })));
    }

    #[test]
    fn help_cites_no_rule() {
        fn check(command: &mut clap::Command) {
            let help = command.render_long_help().to_string();
            let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            let is_code = |word: &&str| {
                matches!(
                    word.as_bytes(),
                    [b'A'..=b'Z', b'-', b'0'..=b'9', b'0'..=b'9']
                        | [b'A'..=b'Z', b'-', b'0'..=b'9', b'0'..=b'9', b'a'..=b'z']
                )
            };
            assert_eq!(words.filter(is_code).collect::<Vec<_>>(), [""; 0], "{}", command.get_name());
            command.get_subcommands_mut().for_each(check);
        }
        let mut command = Program::command();
        assert!(command.get_subcommands().count() > 10);
        check(&mut command);
    }
}
