//! The commands `backup` and `restore`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `platform backup`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct BackupArguments {
    /// File to write, with mode 600; must not exist. `-` is the standard output
    pub file: PathBuf,
}

/// The arguments of `platform restore`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct RestoreArguments {
    /// File that `platform backup` wrote
    #[arg(required_unless_present = "undo")]
    pub file: Option<PathBuf>,
    /// Replace what the database contains, and the secret key
    #[arg(long)]
    pub replace: bool,
    /// Bring back what the database contained before a restore with --replace that was interrupted
    #[arg(long, conflicts_with_all = ["file", "replace"])]
    pub undo: bool,
}
