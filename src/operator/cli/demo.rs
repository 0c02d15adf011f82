//! The arguments of `platform demo`.

use clap::{Args, value_parser};
use platform_front::config::{Password, Settings};

/// The arguments of `platform demo` without the settings of its server.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Demo")]
pub struct DemoArguments {
    /// Simulated devices, from 8 to 2000
    #[arg(long, value_name = "COUNT", default_value = "200",
          value_parser = value_parser!(u32).range(Self::FEWEST as i64..=Self::MOST as i64))]
    pub devices: u32,

    /// Seed of all random numbers: the same seed gives the same fleet
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub seed: u64,

    /// Password of demo/admin, 6 to 32 Latin-1 characters [default: generated at the first start and printed once]
    ///
    /// Other users of this machine can see the arguments of a command.
    #[arg(long, value_name = "PASSWORD")]
    pub password: Option<Password>,

    /// Server that runs already, such as http://127.0.0.1:8080 [default: the demo starts one]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,

    /// With --url: management/admin, who creates the tenant demo, or demo/admin, if it exists; the password is asked
    /// for, or read from a pipe, or from PLATFORM_PASSWORD
    #[arg(long, value_name = "NAME", default_value = "management/admin", requires = "url")]
    pub user: String,

    /// Delete the tenant demo with all its data, and end
    #[arg(long)]
    pub remove: bool,
}

impl DemoArguments {
    /// The fewest devices of a demo, so that it has each kind.
    pub(crate) const FEWEST: u32 = 8;
    /// The most devices of a demo: each has two connections.
    pub(crate) const MOST: u32 = 2000;
}

/// `platform demo` as it is given: with the settings of the server that it starts.
#[derive(Debug, Args)]
pub(super) struct DemoCommand {
    #[command(flatten)]
    pub(super) demo: DemoArguments,
    #[command(flatten)]
    pub(super) settings: Settings,
}
