//! The commands `admin application …`, which set the addresses of microservices (W-14).

use clap::{Args, Subcommand};
use platform_front::config::StoreSettings;

use super::OnStore;

/// A command for applications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplicationTask {
    /// Set the address of a microservice.
    Route(ApplicationRoute),
    /// List the microservices with an address.
    Routes,
}

/// Arguments of `platform admin application route`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ApplicationRoute {
    /// Id or context path of the microservice
    pub application: String,
    /// Address of the microservice: http://host:port or http://host:port/base
    #[arg(required_unless_present = "none")]
    pub address: Option<String>,
    /// The microservice has no address any more
    #[arg(long, conflicts_with = "address")]
    pub none: bool,
}

/// The arguments of `platform admin application routes`, which has none.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(super) struct Nothing {}

#[derive(Debug, Subcommand)]
pub(super) enum ApplicationCommand {
    /// Set the address of a microservice; takes effect at once
    Route(OnStore<ApplicationRoute>),
    /// List the microservices with an address: id, context path, owner, address
    Routes(OnStore<Nothing>),
}

impl ApplicationCommand {
    pub(super) fn task(self) -> (ApplicationTask, StoreSettings) {
        match self {
            Self::Route(OnStore { arguments, store }) => (ApplicationTask::Route(arguments), store),
            Self::Routes(OnStore { store, .. }) => (ApplicationTask::Routes, store),
        }
    }
}
