//! The command line of `platform`: its commands and arguments.
//!
//! `serve` is the default and takes every setting of [`Settings`]. The other commands take the location of
//! the data as flags and everything else from the environment, so that they use the settings of the server.

mod applications;
mod backups;
mod servers;
#[cfg(test)]
mod tests;
mod tokens;

use std::ffi::OsString;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};

pub use applications::{ApplicationRoute, ApplicationTask};
pub use backups::{BackupArguments, RestoreArguments};
pub use servers::{Output, ServerChoice, ServerEvict, ServerList, ServerTask};
pub use tokens::{
    ClientCreate, ClientDelete, ClientList, LimitsSet, LimitsTokenCreate, LimitsTokenDelete, TokenTask,
};

use crate::config::{self, Environment, Password, Settings, StoreSettings};

/// A parsed command.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Run the server until it is stopped.
    Serve(Box<Settings>),
    /// Create a tenant and its first user.
    TenantCreate {
        /// The settings of the server, with the flags of the command.
        settings: Box<Settings>,
        /// The tenant.
        tenant: TenantCreate,
    },
    /// Create a user of a tenant.
    UserCreate {
        /// The settings of the server, with the flags of the command.
        settings: Box<Settings>,
        /// The user.
        user: UserCreate,
    },
    /// Give a user a new password.
    UserPasswd {
        /// The settings of the server, with the flags of the command.
        settings: Box<Settings>,
        /// The user.
        user: UserPasswd,
    },
    /// Manage access tokens, or accounts of the limits query.
    Tokens {
        /// The settings of the server, with the flags of the command.
        settings: Box<Settings>,
        /// The task.
        task: TokenTask,
    },
    /// Manage applications.
    Applications {
        /// The settings of the server, with the flags of the command.
        settings: Box<Settings>,
        /// The task.
        task: ApplicationTask,
    },
    /// Manage the servers of a deployment.
    Servers {
        /// The settings of the server, with the flags of the command.
        settings: Box<Settings>,
        /// The task.
        task: ServerTask,
    },
    /// Write a backup.
    Backup {
        /// The settings of the server, with the flags of the command.
        settings: Box<Settings>,
        /// The file.
        backup: BackupArguments,
    },
    /// Restore a backup.
    Restore {
        /// The settings of the server, with the flags of the command.
        settings: Box<Settings>,
        /// The file.
        restore: RestoreArguments,
    },
}

/// Arguments of `platform tenant create`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct TenantCreate {
    /// Id of the new tenant: 1 to 32 letters, digits, hyphens and underscores; fixed afterwards
    #[arg(value_parser = config::tenant_id)]
    pub id: String,
    /// Domain by which requests find the tenant, such as factory.example.com
    #[arg(long)]
    pub domain: String,
    /// Company the tenant belongs to
    #[arg(long)]
    pub company: String,
    /// Name of its first user, who may administer it
    #[arg(long, value_name = "NAME", default_value = "admin", value_parser = config::user_name)]
    pub admin_user: String,
    /// Password of that user, 6 to 32 Latin-1 characters [default: read from a pipe, else generated and printed]
    ///
    /// Other users of this machine can see the arguments of a command; a pipe hides the password from them.
    #[arg(long, value_name = "PASSWORD")]
    pub admin_password: Option<Password>,
}

/// Arguments of `platform user create`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct UserCreate {
    /// Tenant of the user
    #[arg(value_parser = config::tenant_id)]
    pub tenant: String,
    /// Name of the new user, without spaces and / + $ :
    #[arg(value_parser = config::user_name)]
    pub name: String,
    /// Password, 6 to 32 Latin-1 characters [default: read from a pipe, else generated and printed]
    ///
    /// Other users of this machine can see the arguments of a command; a pipe hides the password from them.
    #[arg(long)]
    pub password: Option<Password>,
    /// Role of the user, such as ROLE_ALARM_READ; may be repeated
    #[arg(long = "role", value_name = "ROLE", num_args = 1..)]
    pub roles: Vec<String>,
}

/// Arguments of `platform user passwd`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct UserPasswd {
    /// Tenant of the user
    #[arg(value_parser = config::tenant_id)]
    pub tenant: String,
    /// Name of the user
    #[arg(value_parser = config::user_name)]
    pub name: String,
    /// New password, 6 to 32 Latin-1 characters [default: read from a pipe, else generated and printed]
    ///
    /// Other users of this machine can see the arguments of a command; a pipe hides the password from them.
    #[arg(long)]
    pub password: Option<Password>,
}

const ABOUT: &str =
    "A multi-tenant device-management server: REST, and notifications over long polling and WebSocket";

const EXPLAINED: &str = "\
A multi-tenant device-management server: devices and applications use REST, and are notified over
Bayeux long polling and WebSocket.

Started without anything it serves on http://127.0.0.1:8080 with a private PostgreSQL of its own below
./platform-data; only the programs of PostgreSQL 14 or newer must be installed, nothing needs to be set
up. The first start creates the tenants `management` and `main`, prints the passwords of their users
once, and ends its output with the line `ready http://<address>`. Ctrl-C or SIGTERM stops it, the
database included.";

const EXAMPLES: &str = "\
Examples:
  platform                               serve on 127.0.0.1:8080, everything in ./platform-data
  platform --listen 0.0.0.0:80 --data-dir /var/lib/platform
  platform --database-url postgres://platform:secret@db/platform
  PLATFORM_LISTEN=127.0.0.1:0 platform   on any free port; the last line names it
  platform tenant create plant7 --domain plant7.example.com --company Acme
  platform user create plant7 mia --role ROLE_ALARM_READ
  echo \"$NEW_PASSWORD\" | platform user passwd main admin
  platform token client create main --user mia --scope READ
  platform application route rules http://10.0.0.7:8080
  platform server drain web2
  platform backup /var/backups/platform.zip

Every setting is a flag and a variable; a flag goes before its variable, that before the default. An
unknown or malformed setting is rejected. The unit of a number is part of its name; bytes and times may
also have a unit of their own: 64KiB, 16MB, 250ms, 10s, 90min, 7d.";

#[derive(Debug, Parser)]
#[command(name = "platform", version, about = ABOUT, long_about = EXPLAINED, after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<TopLevel>,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Debug, Subcommand)]
enum TopLevel {
    /// Run the server (the default: its flags are accepted without this word)
    Serve(Box<Settings>),
    /// Create tenants, also beside a running server
    #[command(subcommand)]
    Tenant(TenantCommand),
    /// Create users and change their passwords, also beside a running server
    #[command(subcommand)]
    User(UserCommand),
    /// Manage clients of the access-token service, also beside a running server
    #[command(subcommand)]
    Token(tokens::TokenCommand),
    /// Manage accounts of the limits query and their tokens, also beside a running server
    #[command(subcommand)]
    Limits(tokens::LimitsCommand),
    /// Set the addresses of microservices, also beside a running server
    #[command(subcommand)]
    Application(applications::ApplicationCommand),
    /// List the servers of a deployment, and take them out of service
    #[command(subcommand)]
    Server(servers::ServerCommand),
    /// Write database and secret key to one file, also beside a running server
    Backup(OnStore<BackupArguments>),
    /// Restore database and secret key from such a file, while no server runs
    Restore(OnStore<RestoreArguments>),
}

#[derive(Debug, Subcommand)]
enum TenantCommand {
    /// Create a tenant and its first user
    Create(OnStore<TenantCreate>),
}

#[derive(Debug, Subcommand)]
enum UserCommand {
    /// Create a user of a tenant
    Create(OnStore<UserCreate>),
    /// Give a user a new password; takes effect at once
    Passwd(OnStore<UserPasswd>),
}

/// The arguments of a command, with the location of the data.
#[derive(Debug, Args)]
struct OnStore<A: Args> {
    #[command(flatten)]
    arguments: A,
    #[command(flatten)]
    store: StoreSettings,
}

/// Parses the command line and the environment of this process. On a request for help or invalid arguments it
/// prints clap's message and exits (exit code 2 for invalid arguments).
pub fn parse() -> Command {
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
    parse_from(std::env::args_os(), &environment).unwrap_or_else(|error| error.exit())
}

/// Parses a command line (`arguments` starts with the program's name) and an environment.
///
/// # Errors
/// clap's error: the unknown or malformed argument, and the allowed values. Help and version are such errors
/// too.
pub fn parse_from(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    environment: &Environment,
) -> Result<Command, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let described = CommandLine::command();
    let mut command = config::with_environment(described.clone(), environment);
    let matches = match command.try_get_matches_from_mut(&arguments) {
        Ok(matches) => matches,
        // Help shows the variables and the true defaults, which the parsing command has replaced.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            return Err(described.try_get_matches_from(&arguments).err().unwrap_or(error));
        }
        Err(error) => return Err(config::in_our_words(error, &described, environment, &arguments)),
    };
    config::refuse_unknown(&described, environment)?;
    let line = CommandLine::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    let settings = |store| -> Result<_, clap::Error> {
        Ok(Box::new(Settings { store, ..Settings::from_environment(environment)? }))
    };
    Ok(match line.command {
        None => Command::Serve(Box::new(line.settings)),
        Some(TopLevel::Serve(settings)) => Command::Serve(settings),
        Some(TopLevel::Tenant(TenantCommand::Create(OnStore { arguments, store }))) => {
            Command::TenantCreate { settings: settings(store)?, tenant: arguments }
        }
        Some(TopLevel::User(UserCommand::Create(OnStore { arguments, store }))) => {
            Command::UserCreate { settings: settings(store)?, user: arguments }
        }
        Some(TopLevel::User(UserCommand::Passwd(OnStore { arguments, store }))) => {
            Command::UserPasswd { settings: settings(store)?, user: arguments }
        }
        Some(TopLevel::Token(command)) => {
            let (task, store) = command.task();
            Command::Tokens { settings: settings(store)?, task }
        }
        Some(TopLevel::Limits(command)) => {
            let (task, store) = command.task();
            Command::Tokens { settings: settings(store)?, task }
        }
        Some(TopLevel::Application(command)) => {
            let (task, store) = command.task();
            Command::Applications { settings: settings(store)?, task }
        }
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
    })
}
