//! The commands `admin tenant export`, `admin tenant import` and `admin tenant move`.

use std::path::PathBuf;

use clap::Args;
use platform_front::config::{self, DatabaseUrl};

/// A command that takes a tenant elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferTask {
    /// Write the file.
    Export(TenantExport),
    /// Create a tenant from it.
    Import(TenantImport),
    /// Move a tenant without a file.
    Move(TenantMove),
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
    /// secret.key of the deployment of the export [default: that of this one]
    #[arg(long, value_name = "FILE")]
    pub source_secret_key_file: Option<PathBuf>,
    /// Replace the tenant, which must be suspended; what it has now is lost
    #[arg(long)]
    pub replace: bool,
    /// Do everything, and undo it at the end
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `platform admin tenant move`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct TenantMove {
    /// Id of the tenant
    #[arg(value_parser = config::tenant_id)]
    pub id: String,
    /// Database of the other deployment, written like --database-url
    #[arg(long, value_name = "URL")]
    pub to: DatabaseUrl,
    /// File with the password for --to in its first line, which no other user of this machine can see
    #[arg(long, value_name = "FILE")]
    pub to_password_file: Option<PathBuf>,
    /// secret.key of the other deployment [default: that of this one]
    #[arg(long, value_name = "FILE")]
    pub to_secret_key_file: Option<PathBuf>,
    /// Copy everything, compare it, and undo it at the end; the tenant is used as before
    #[arg(long)]
    pub dry_run: bool,
    /// Let the tenant be used here again; refused if the other deployment has it
    #[arg(long, conflicts_with = "dry_run")]
    pub undo: bool,
}

impl TenantMove {
    /// Returns the connection string of the other database.
    ///
    /// # Errors
    /// The file with the password cannot be used.
    pub fn target(&self) -> Result<DatabaseUrl, String> {
        let Some(file) = &self.to_password_file else { return Ok(self.to.clone()) };
        self.to.with_password_in(file).map_err(|why| format!("--to-password-file {why}"))
    }
}
