//! The command `application`: where microservices run (W-14).

use clap::{Args, Subcommand};

use super::OnStore;
use crate::config::StoreSettings;

/// What is to be done with applications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplicationTask {
    /// Say where a microservice runs.
    Route(ApplicationRoute),
    /// List those that run somewhere.
    Routes,
}

/// Arguments of `platform application route`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ApplicationRoute {
    /// Id or context path of the microservice
    pub application: String,
    /// Where it runs: http://host:port or http://host:port/base, and nothing more
    #[arg(required_unless_present = "none")]
    pub address: Option<String>,
    /// It runs nowhere any more
    #[arg(long, conflicts_with = "address")]
    pub none: bool,
}

/// Arguments of `platform application routes`: there are none.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(super) struct Nothing {}

#[derive(Debug, Subcommand)]
pub(super) enum ApplicationCommand {
    /// Say where a microservice runs; takes effect at once
    Route(OnStore<ApplicationRoute>),
    /// List the microservices that run somewhere: id, context path, owner, address
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
