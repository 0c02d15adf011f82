//! The commands `server …`, which list the servers of a deployment and take them out of service.

use clap::{Args, Subcommand, ValueEnum};
use platform_front::config::StoreSettings;

use super::OnStore;

/// A command for servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTask {
    /// List the servers.
    List(ServerList),
    /// Make a server unready for new clients.
    Drain(ServerChoice),
    /// Make a server ready for new clients again.
    Undrain(ServerChoice),
    /// Free the slot of a server that is gone.
    Evict(ServerEvict),
}

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Columns for people.
    Table,
    /// JSON for programs.
    Json,
}

/// Arguments of `platform server list`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ServerList {
    /// Shape of the output
    #[arg(long, value_enum, value_name = "SHAPE", default_value = "table")]
    pub output: Output,
}

/// Arguments of `platform server drain` and `undrain`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ServerChoice {
    /// Slot or name of the server
    pub server: String,
    /// Shape of the output
    #[arg(long, value_enum, value_name = "SHAPE", default_value = "table")]
    pub output: Output,
}

/// Arguments of `platform server evict`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ServerEvict {
    /// The server, and the shape of the output.
    #[command(flatten)]
    pub choice: ServerChoice,
    /// Take the slot away even from a server that renews its lease; if it lives, it takes another one
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum ServerCommand {
    /// List the servers: slot, name, version, state, age, rest of the lease, address
    List(OnStore<ServerList>),
    /// Let a server hand its sessions to others and get no new clients: its readiness becomes 503 within two seconds
    Drain(OnStore<ServerChoice>),
    /// Let a draining server get new clients again
    Undrain(OnStore<ServerChoice>),
    /// Free the slot of a server that is gone, before it is free by itself
    Evict(OnStore<ServerEvict>),
}

impl ServerCommand {
    pub(super) fn task(self) -> (ServerTask, StoreSettings) {
        match self {
            Self::List(OnStore { arguments, store }) => (ServerTask::List(arguments), store),
            Self::Drain(OnStore { arguments, store }) => (ServerTask::Drain(arguments), store),
            Self::Undrain(OnStore { arguments, store }) => (ServerTask::Undrain(arguments), store),
            Self::Evict(OnStore { arguments, store }) => (ServerTask::Evict(arguments), store),
        }
    }
}
