//! The commands `backup` and `restore`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `platform backup`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct BackupArguments {
    /// File to write, with mode 600; must not exist
    pub file: PathBuf,
}

/// Arguments of `platform restore`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct RestoreArguments {
    /// File that `platform backup` wrote
    pub file: PathBuf,
    /// Replace what the database contains, and the secret key
    #[arg(long)]
    pub replace: bool,
}
