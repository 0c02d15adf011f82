//! Whether a command uses the default data directory, which depends on the machine and not only on the arguments.

use clap::ArgMatches;
use clap::parser::ValueSource;
use platform_front::config::{Environment, Settings};

use super::Command;

/// The variable of `--data-dir`, which the file of `--config` sets as well.
const VARIABLE: &str = "PLATFORM_DATA_DIR";
const ARGUMENT: &str = "data_dir";

/// Returns whether neither an argument nor the environment names the data directory.
pub(super) fn is_default(matches: &ArgMatches, environment: &Environment) -> bool {
    let innermost = innermost(matches);
    !environment.contains_key(VARIABLE)
        && innermost.try_contains_id(ARGUMENT).unwrap_or_default()
        && innermost.value_source(ARGUMENT) == Some(ValueSource::DefaultValue)
}

/// Returns the arguments of the command that the line names, such as those of `show` in `platform config show`.
pub(super) fn innermost(matches: &ArgMatches) -> &ArgMatches {
    let mut innermost = matches;
    while let Some((_, matches)) = innermost.subcommand() {
        innermost = matches;
    }
    innermost
}

impl Command {
    /// Returns the settings of a command that has some.
    pub(super) fn settings_mut(&mut self) -> Option<&mut Settings> {
        match self {
            Self::Client { .. } => None,
            Self::Serve(settings)
            | Self::TenantCreate { settings, .. }
            | Self::UserCreate { settings, .. }
            | Self::UserPasswd { settings, .. }
            | Self::Tokens { settings, .. }
            | Self::Applications { settings, .. }
            | Self::Secrets { settings, .. }
            | Self::Transfers { settings, .. }
            | Self::Servers { settings, .. }
            | Self::Status { settings, .. }
            | Self::Doctor { settings, .. }
            | Self::ConfigCheck { settings, .. }
            | Self::ConfigShow { settings, .. }
            | Self::Backup { settings, .. }
            | Self::Restore { settings, .. }
            | Self::Demo { settings, .. } => Some(settings),
        }
    }
}
