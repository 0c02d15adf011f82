//! The commands `admin …`, which use the database of a server. Tenants and users are in this file, the others have
//! their own.

use clap::{Args, Subcommand};
use platform_front::config::{self, Password, Settings, StoreSettings};

use super::applications::ApplicationCommand;
use super::secrets::SecretCommand;
use super::tokens::{LimitsCommand, TokenCommand};
use super::transfers::{TenantExport, TenantImport, TenantMove, TransferTask};
use super::{Command, OnStore};

/// Arguments of `platform admin tenant create`.
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

/// Arguments of `platform admin user create`.
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

/// Arguments of `platform admin user passwd`.
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
    /// Also remove the second factor of the user, who has lost it
    #[arg(long)]
    pub remove_second_factor: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum AdminCommand {
    /// Create tenants, and carry them to other deployments
    #[command(subcommand)]
    Tenant(TenantCommand),
    /// Create users and change their passwords
    #[command(subcommand)]
    User(UserCommand),
    /// Manage clients of the access-token service
    #[command(subcommand)]
    Token(TokenCommand),
    /// Manage accounts of the limits query and their tokens
    #[command(subcommand)]
    Limits(LimitsCommand),
    /// Set the addresses of microservices
    #[command(subcommand)]
    Application(ApplicationCommand),
    /// Replace the secret key
    #[command(subcommand)]
    Secret(SecretCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum TenantCommand {
    /// Create a tenant and its first user
    Create(OnStore<TenantCreate>),
    /// Write everything that belongs to a tenant to one file, also while servers run
    Export(OnStore<TenantExport>),
    /// Create a tenant from such a file; running servers know it at once
    ///
    /// The import is one transaction, which is committed only if each table has the rows that the file claims.
    Import(OnStore<TenantImport>),
    /// Move a tenant to the database of another deployment while it is used
    ///
    /// Its rows are copied while it is used. Then its writes get 503 for some seconds, the last rows are copied, and
    /// both sides prove that they have the same ones. Afterwards all its requests get 503 here, so clients that try
    /// again arrive there when its domain leads there. A command that was killed is run again.
    Move(OnStore<TenantMove>),
}

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// Create a user of a tenant
    Create(OnStore<UserCreate>),
    /// Give a user a new password; takes effect at once
    Passwd(OnStore<UserPasswd>),
}

impl AdminCommand {
    /// Returns the command with the settings of the server whose database it uses.
    pub(super) fn parsed(
        self,
        settings: impl FnOnce(StoreSettings) -> Result<Box<Settings>, clap::Error>,
    ) -> Result<Command, clap::Error> {
        Ok(match self {
            Self::Tenant(TenantCommand::Create(OnStore { arguments, store })) => {
                Command::TenantCreate { settings: settings(store)?, tenant: arguments }
            }
            Self::Tenant(TenantCommand::Export(OnStore { arguments, store })) => {
                Command::Transfers { settings: settings(store)?, task: TransferTask::Export(arguments) }
            }
            Self::Tenant(TenantCommand::Import(OnStore { arguments, store })) => {
                Command::Transfers { settings: settings(store)?, task: TransferTask::Import(arguments) }
            }
            Self::Tenant(TenantCommand::Move(OnStore { arguments, store })) => {
                Command::Transfers { settings: settings(store)?, task: TransferTask::Move(arguments) }
            }
            Self::User(UserCommand::Create(OnStore { arguments, store })) => {
                Command::UserCreate { settings: settings(store)?, user: arguments }
            }
            Self::User(UserCommand::Passwd(OnStore { arguments, store })) => {
                Command::UserPasswd { settings: settings(store)?, user: arguments }
            }
            Self::Token(command) => {
                let (task, store) = command.task();
                Command::Tokens { settings: settings(store)?, task }
            }
            Self::Limits(command) => {
                let (task, store) = command.task();
                Command::Tokens { settings: settings(store)?, task }
            }
            Self::Application(command) => {
                let (task, store) = command.task();
                Command::Applications { settings: settings(store)?, task }
            }
            Self::Secret(command) => {
                let (task, store) = command.task();
                Command::Secrets { settings: settings(store)?, task }
            }
        })
    }
}
