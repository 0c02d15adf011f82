//! Scenario files: several scenarios at the same time and one after the other, with thresholds.

use std::path::PathBuf;

use clap::Args;

/// Settings of `run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunFile {
    /// Scenario file
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// Also write the result to this file, as one HTML page that needs no other file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Also write the thresholds to this file, as JUnit XML: a suite for each phase
    #[arg(long, value_name = "FILE.xml")]
    pub(crate) junit: Option<PathBuf>,
}

/// Settings of `check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckFile {
    /// Scenario file
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
}

/// Settings of `explain`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Explain {
    /// Figure, such as `late` or `server memory` [default: all of them]
    #[arg(value_name = "FIGURE", num_args = 0..)]
    pub(crate) words: Vec<String>,
}
