//! The commands `admin secret …`, which replace the secret key of a deployment.

use clap::{Args, Subcommand};
use platform_front::config::StoreSettings;

use super::OnStore;

/// A command for the secret key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretTask {
    /// Seal everything under a new key.
    Rotate,
    /// Go on without the key.
    Forget(SecretForget),
}

/// Arguments of `platform admin secret forget`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SecretForget {
    /// Do not ask; needed where nobody can be asked
    #[arg(long, short)]
    pub yes: bool,
}

/// The command `platform admin secret rotate` has no arguments of its own.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(super) struct SecretRotate {}

#[derive(Debug, Subcommand)]
pub(super) enum SecretCommand {
    /// Replace the secret key while no server runs; all passwords stay valid
    ///
    /// Everything that is sealed under the key is sealed again, in one transaction. A rotation that was killed is
    /// completed by the next start or command.
    Rotate(OnStore<SecretRotate>),
    /// Go on without a secret key that is lost
    ///
    /// Drops what only the key could open: secret options, and the generated passwords of devices and users. Asks
    /// first, with the numbers.
    Forget(OnStore<SecretForget>),
}

impl SecretCommand {
    pub(super) fn task(self) -> (SecretTask, StoreSettings) {
        match self {
            Self::Rotate(OnStore { store, .. }) => (SecretTask::Rotate, store),
            Self::Forget(OnStore { arguments, store }) => (SecretTask::Forget(arguments), store),
        }
    }
}
