//! The command line of `platform`: its commands and arguments.
//!
//! `serve` is the default and takes every setting of [`Settings`]. The other commands take the location of the data as
//! flags, and everything else from the environment, so that they use the same settings as the server.

mod admin;
mod applications;
mod backups;
mod command;
mod data_dir;
mod demo;
mod place;
mod secrets;
mod servers;
#[cfg(test)]
mod settings_tests;
#[cfg(test)]
mod tests;
mod tokens;
mod transfers;

use std::ffi::{OsStr, OsString};

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};
use platform_front::config::{self, Environment, Settings, Sources, StoreSettings};

use admin::AdminCommand;
pub use admin::{TenantCreate, UserCreate, UserPasswd};
pub use applications::{ApplicationRoute, ApplicationTask};
pub use backups::{BackupArguments, RestoreArguments};
pub use command::{Command, Scope};
pub use demo::DemoArguments;
use demo::DemoCommand;
use place::Place;
pub use secrets::{SecretForget, SecretTask};
pub use servers::{Output, ServerChoice, ServerEvict, ServerList, ServerTask};
pub use tokens::{
    ClientCreate, ClientDelete, ClientList, LimitsSet, LimitsTokenCreate, LimitsTokenDelete, TokenTask,
};
pub use transfers::{TenantExport, TenantImport, TenantMove, TransferTask};

use crate::client;

const ABOUT: &str = "A multi-tenant device-management server: REST, and notifications over long\n\
     polling and WebSocket";

const EXPLAINED: &str = "\
A multi-tenant device-management server: devices and applications use REST, and are notified over
Bayeux long polling and WebSocket.

Started without anything it serves on http://127.0.0.1:8080 with a private PostgreSQL of its own below
./platform-data; only the programs of PostgreSQL 14 or newer must be installed, nothing needs to be set
up. The first start creates the tenants `management` and `main`, prints the passwords of their users
once, and ends its output with the line `ready http://<address>`. Ctrl-C or SIGTERM stops it, the
database included.";

/// The end of the short help, which has the commands alone.
const MORE: &str = "\
`platform` alone serves on http://127.0.0.1:8080. `platform --help` has all
settings and examples, `platform COMMAND --help` the flags of a command.";

const EXAMPLES: &str = "\
Examples:
  platform demo                          a server with 200 simulated devices, to look at
  platform                               serve on 127.0.0.1:8080, everything in ./platform-data
  platform --listen 0.0.0.0:80 --data-dir /var/lib/platform
  platform --database-url postgres://platform@db/platform --database-password-file db-password
  PLATFORM_LISTEN=127.0.0.1:0 platform   on any free port; the last line names it
  platform admin tenant create plant7 --domain plant7.example.com --company Acme
  platform admin user create plant7 mia --role ROLE_ALARM_READ
  echo \"$NEW_PASSWORD\" | platform admin user passwd main admin
  platform admin token client create main --user mia --scope READ
  platform admin application route rules http://10.0.0.7:8080
  platform server drain web2
  platform doctor
  platform backup /var/backups/platform.zip
  platform login http://127.0.0.1:8080   store a server for the commands that speak to it
  platform alarm list --resolved false

Scripts that do not log in set PLATFORM_URL, PLATFORM_USER, PLATFORM_PASSWORD and, for an authority of
their own, PLATFORM_CA.

Every setting is a flag and a variable; a flag goes before its variable, that before the default. An
unknown or malformed setting is rejected. The unit of a number is part of its name; bytes and times may
also have a unit of their own: 64KiB, 16MB, 250ms, 10s, 90min, 7d.";

#[derive(Debug, Parser)]
#[command(name = "platform", version, about = ABOUT, long_about = EXPLAINED)]
#[command(after_help = MORE, after_long_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<TopLevel>,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Debug, Subcommand)]
enum TopLevel {
    /// Run the server, which `platform` without a command does too
    Serve(Box<Settings>),
    /// Run a simulated fleet with a server of its own, until Ctrl-C
    ///
    /// Its data is in ./platform-demo.
    Demo(Box<DemoCommand>),
    /// Administer the database of a server, also while it runs
    #[command(subcommand)]
    Admin(AdminCommand),
    /// List the servers of a deployment, take them out of service
    #[command(subcommand)]
    Server(servers::ServerCommand),
    /// Print what runs here: this server, its database, others
    Status(Box<StatusArguments>),
    /// Check machine, database and settings, with remedies
    ///
    /// Prints a remedy for each fault. The exit code is 1 if there is a fault.
    Doctor(Box<Diagnosis>),
    /// Check or show settings without starting a server
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Write database and secret key to a file, also while it runs
    Backup(OnStore<BackupArguments>),
    /// Restore database and secret key while no server runs
    Restore(OnStore<RestoreArguments>),
}

/// The arguments of `platform status`.
#[derive(Debug, Args)]
struct StatusArguments {
    /// Ask only whether the server responds, for health checks (exit code 1 if it does not)
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    diagnosis: Diagnosis,
}

/// The arguments of `platform status`, `platform doctor` and `platform config show`.
#[derive(Debug, Args)]
struct Diagnosis {
    /// Shape of the output
    #[arg(long, value_enum, value_name = "SHAPE", default_value = "table")]
    output: Output,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check the settings of the file, the environment and the flags, and the files that they name
    ///
    /// All faults are printed, those of the file with their lines.
    Check(Box<Settings>),
    /// Print every setting with its value and where that comes from
    ///
    /// Passwords are hidden.
    Show(Box<Diagnosis>),
}

/// The arguments of a command, with the location of the data.
#[derive(Debug, Args)]
struct OnStore<A: Args> {
    #[command(flatten)]
    arguments: A,
    #[command(flatten)]
    store: StoreSettings,
}

/// Returns the whole command line: the commands of the server, and the commands that send requests to one.
pub fn program() -> clap::Command {
    // By default, a demo does not use the data directory of a production server.
    let of_demo =
        |demo: clap::Command| demo.mut_arg("data_dir", |data_dir| data_dir.default_value("./platform-demo"));
    // Settings would fill several screens of the short help.
    let settings_in_long_help = |setting: clap::Arg| setting.hide_short_help(true);
    CommandLine::command()
        .mut_args(settings_in_long_help)
        .mut_subcommand("demo", of_demo)
        .subcommands(client::commands())
}

/// Returns whether a command sends requests to a server.
fn is_of_client(name: &OsStr) -> bool {
    client::commands().iter().any(|command| name == command.get_name())
}

/// Parses the command line and the environment of this process. `relocate` may replace a data directory that nobody has
/// chosen. For help or invalid arguments it prints clap's message and exits (exit code 2 for invalid arguments).
pub fn parse(relocate: impl Fn(&mut StoreSettings)) -> Command {
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
    parse_relocating(std::env::args_os(), &environment, &Place::here(&relocate))
        .unwrap_or_else(|error| error.exit())
}

/// Parses a command line (`arguments` starts with the program's name) and an environment.
///
/// # Errors
/// clap's error names the unknown or malformed argument and the allowed values. A request for help or the version is
/// also such an error.
pub fn parse_from(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    environment: &Environment,
) -> Result<Command, clap::Error> {
    parse_relocating(arguments, environment, &Place::nowhere())
}

fn parse_relocating(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    environment: &Environment,
    place: &Place<'_>,
) -> Result<Command, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let described = program();
    // Commands that send requests to a server take no settings; `--config` may have another meaning there.
    if arguments.get(1).is_some_and(|name| is_of_client(name)) {
        let nothing = Environment::new();
        let sources = Sources { environment: &nothing, file: None, merged: &nothing };
        return parse_with(&described, &arguments, &sources).map(|(command, _)| command);
    }
    let (file, unreadable) = match place.file(&arguments, environment, &described) {
        Ok(file) => (file, None),
        Err(refused) => (None, Some(refused)),
    };
    let merged = file.as_ref().map_or_else(|| environment.clone(), |file| file.behind(environment));
    let sources = Sources { environment, file: file.as_ref(), merged: &merged };
    let parsed = parse_from_sources(&described, &arguments, &sources, place);
    match (parsed, unreadable) {
        // Help is shown even if the settings are invalid.
        (Err(help), _) if help.exit_code() == 0 => Err(help),
        (_, Some(unreadable)) => Err(unreadable),
        (Ok(Command::Client { name, matches }), None) => Ok(Command::Client { name, matches }),
        (Ok(command), None) if sources.file.is_none_or(|file| file.faults().next().is_none()) => Ok(command),
        (parsed, None) => {
            let faults = |first| config::with_all_faults(first, &described, &sources, &client::VARIABLES);
            match parsed {
                Ok(command) => faults(None).map_or(Ok(command), Err),
                Err(first) => Err(faults(Some(first)).expect("there is at least the first one")),
            }
        }
    }
}

/// Parses a command line and completes its settings.
fn parse_from_sources(
    described: &clap::Command,
    arguments: &[OsString],
    sources: &Sources<'_>,
    place: &Place<'_>,
) -> Result<Command, clap::Error> {
    let (mut command, matches) =
        parse_with(described, arguments, sources).map_err(|error| match sources.file {
            Some(file) => file.in_our_words(error, sources.environment),
            None => error,
        })?;
    if let Some(settings) = command.settings_mut() {
        if data_dir::is_default(&matches, sources.merged) {
            (place.relocate)(&mut settings.store);
        }
        let refused = |why| clap::Error::raw(ErrorKind::ValueValidation, format!("{why}\n"));
        settings.store.read_password().map_err(refused)?;
    }
    Ok(command)
}

impl ConfigCommand {
    fn parsed(self, described: &clap::Command, matches: &ArgMatches, sources: &Sources<'_>) -> Command {
        match self {
            Self::Check(settings) => {
                let file = sources.file.map(|file| (file.path().to_owned(), file.count()));
                Command::ConfigCheck { settings, file }
            }
            Self::Show(given) => {
                let Diagnosis { settings, output } = *given;
                let shown = config::shown(described, data_dir::innermost(matches), sources);
                Command::ConfigShow { settings: settings.into(), output, shown }
            }
        }
    }
}

/// Parses a command line.
fn parse_with(
    described: &clap::Command,
    arguments: &[OsString],
    sources: &Sources<'_>,
) -> Result<(Command, ArgMatches), clap::Error> {
    let environment = sources.merged;
    let mut command = config::with_environment(described.clone(), environment);
    let matches = match command.try_get_matches_from_mut(arguments) {
        // Commands that send requests to a server take no settings of this machine's server.
        Ok(matches) if matches.subcommand_name().is_some_and(|name| is_of_client(name.as_ref())) => {
            let (name, arguments) = matches.subcommand().expect("a command of the client is one");
            let command = Command::Client { name: name.into(), matches: arguments.clone() };
            return Ok((command, matches));
        }
        Ok(matches) => matches,
        // Help lists the environment variables and the true defaults; in the command that parses both have been
        // replaced.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            return Err(described.clone().try_get_matches_from(arguments).err().unwrap_or(error));
        }
        Err(error) => return Err(config::in_our_words(error, described, environment, arguments)),
    };
    config::refuse_unknown(described, environment, &client::VARIABLES)?;
    let line = CommandLine::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    let settings = |store| -> Result<_, clap::Error> {
        Ok(Box::new(Settings { store, ..Settings::from_environment(environment)? }))
    };
    let command = match line.command {
        None => Command::Serve(Box::new(line.settings)),
        Some(TopLevel::Serve(settings)) => Command::Serve(settings),
        Some(TopLevel::Demo(given)) => Command::Demo { settings: Box::new(given.settings), demo: given.demo },
        Some(TopLevel::Admin(command)) => command.parsed(settings)?,
        Some(TopLevel::Status(given)) => {
            let scope = if given.live { Scope::Life } else { Scope::Everything };
            let Diagnosis { settings, output } = given.diagnosis;
            Command::Status { settings: settings.into(), output, scope }
        }
        Some(TopLevel::Doctor(given)) => {
            Command::Doctor { settings: given.settings.into(), output: given.output }
        }
        Some(TopLevel::Config(command)) => command.parsed(described, &matches, sources),
        Some(TopLevel::Server(command)) => {
            let (task, store) = command.task();
            Command::Servers { settings: settings(store)?, task }
        }
        Some(TopLevel::Backup(OnStore { arguments, store })) => {
            Command::Backup { settings: settings(store)?, backup: arguments }
        }
        Some(TopLevel::Restore(OnStore { arguments, store })) => {
            Command::Restore { settings: settings(store)?, restore: arguments }
        }
    };
    Ok((command, matches))
}
