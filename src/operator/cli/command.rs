//! A command line that was understood.

use std::path::PathBuf;

use clap::ArgMatches;
use platform_front::config::{Settings, ShownSetting};

use super::{
    ApplicationTask, BackupArguments, DemoArguments, Output, RestoreArguments, SecretTask, ServerTask,
    TenantCreate, TokenTask, TransferTask, UserCreate, UserPasswd,
};

/// The subject of `platform status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The server, its database, and the other servers of the deployment.
    Everything,
    /// Whether the server responds. If it does not, that is a fault.
    Life,
}

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
    /// Replace the secret key.
    Secrets {
        /// The settings of the server, with the flags of the command.
        settings: Box<Settings>,
        /// The task.
        task: SecretTask,
    },
    /// Write a tenant to a file, or create one from it.
    Transfers {
        /// The settings of the server, with the flags of the command.
        settings: Box<Settings>,
        /// The task.
        task: TransferTask,
    },
    /// Manage the servers of a deployment.
    Servers {
        /// The settings of the server, with the flags of the command.
        settings: Box<Settings>,
        /// The task.
        task: ServerTask,
    },
    /// Print the running servers and their database.
    Status {
        /// All settings.
        settings: Box<Settings>,
        /// The shape of the output.
        output: Output,
        /// The subject of the command.
        scope: Scope,
    },
    /// Check this machine, the database and the settings.
    Doctor {
        /// All settings.
        settings: Box<Settings>,
        /// The shape of the output.
        output: Output,
    },
    /// Check the settings.
    ConfigCheck {
        /// All settings.
        settings: Box<Settings>,
        /// The file of `--config`, and the number of its settings.
        file: Option<(PathBuf, usize)>,
    },
    /// Print the settings with their origins.
    ConfigShow {
        /// All settings.
        settings: Box<Settings>,
        /// The shape of the output.
        output: Output,
        /// The settings as they are printed.
        shown: Vec<ShownSetting>,
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
    /// Run a simulated fleet.
    Demo {
        /// The settings of the server that the demo starts.
        settings: Box<Settings>,
        /// The fleet.
        demo: DemoArguments,
    },
    /// Send requests to a server over REST.
    Client {
        /// The name of the command: a noun such as `alarm`, or `login`.
        name: String,
        /// The arguments after it.
        matches: ArgMatches,
    },
}
