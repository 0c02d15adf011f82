//! The commands `admin tenant export` and `admin tenant import`.

use std::path::PathBuf;

use clap::Args;
use platform_front::config;

/// A command for the file of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferTask {
    /// Write the file.
    Export(TenantExport),
    /// Create a tenant from it.
    Import(TenantImport),
}

/// Arguments of `platform admin tenant export`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct TenantExport {
    /// Id of the tenant
    #[arg(value_parser = config::tenant_id)]
    pub id: String,
    /// File to write, with mode 600; must not exist
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
}

/// Arguments of `platform admin tenant import`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct TenantImport {
    /// File that `platform admin tenant export` wrote
    pub file: PathBuf,
    /// Id of the new tenant [default: that of the exported one]
    #[arg(long = "as", value_name = "ID", value_parser = config::tenant_id)]
    pub id: Option<String>,
    /// Domain of the new tenant [default: that of the exported one]
    #[arg(long)]
    pub domain: Option<String>,
    /// Do everything, and undo it at the end
    #[arg(long)]
    pub dry_run: bool,
}
