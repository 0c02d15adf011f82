//! The transfer of a tenant to another deployment, or to another id of the same one (Z-21): all its rows are copied out
//! in one snapshot and copied in by one transaction, which is committed only if PostgreSQL counts the same rows with
//! the same contents.
//!
//! [`tables`] says what belongs to a tenant, [`export`] and [`import`] copy it. The caller keeps the file.

mod arrival;
mod copying;
mod delta;
mod export;
mod fence;
mod import;
mod partitions;
mod relocation;
mod sealed;
mod sequences;
mod snapshot;
mod tables;

use std::io::{self, BufRead};

use platform_model::error::Error;
use platform_model::id::TenantId;
use serde::{Deserialize, Serialize};

use crate::schema::sealed_texts::{Replacement, SealedText};

pub use export::export;
pub use fence::list_interrupted;
pub use import::import;
pub use relocation::{Moved, Place, Relocation, Step};
pub use sequences::NUMBERED;
pub use tables::{LEFT_COLUMNS, LEFT_TABLES};

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// The id of the tenant.
    pub tenant: String,
    /// Its domain.
    pub domain: String,
    /// Its status. While it was suspended, nobody could write anything that the file does not have.
    pub status: String,
    /// Its tables; a table comes after those that its rows refer to.
    pub tables: Vec<TableContent>,
    /// The applications of other tenants that its rows refer to.
    pub applications: Vec<ForeignApplication>,
    /// The partitions that have rows of it.
    pub partitions: Vec<String>,
}

/// The proof of one table: how many rows it has, and which ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TableContent {
    /// The name of the table.
    pub table: String,
    /// Its columns, without that of the tenant.
    pub columns: Vec<String>,
    /// The number of rows.
    pub rows: u64,
    /// A digest of the rows in any order, which does not depend on the tenant's id.
    pub digest: String,
}

/// An application of another tenant, which has another id in another deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForeignApplication {
    /// The id in the deployment of the export.
    pub id: i64,
    /// The tenant that owns it.
    pub owner: String,
    /// Its name.
    pub name: String,
}

/// The tenant that an import creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The id.
    pub tenant: TenantId,
    /// The domain.
    pub domain: String,
}

/// A file to which an export writes.
pub trait Output {
    /// Begins the rows of a table.
    ///
    /// # Errors
    /// The file cannot be written.
    fn begin(&mut self, table: &str) -> io::Result<()>;

    /// Adds a part of the rows, in the text format of `COPY`.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write(&mut self, rows: &[u8]) -> io::Result<()>;
}

/// A file from which an import reads.
pub trait Source {
    /// Returns the rows of a table, one per line.
    ///
    /// # Errors
    /// The file cannot be read.
    fn rows<'a>(&'a mut self, table: &str) -> io::Result<Box<dyn BufRead + 'a>>;
}

/// The treatment of a tenant that has the id already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The import is refused.
    Refused,
    /// It is deleted in the transaction of the import; it has to be suspended.
    Replaced,
}

/// Whether an import counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It creates the tenant.
    Real,
    /// It is rolled back at the end.
    Rehearsal,
}

/// The secrets of a tenant that arrives.
pub struct Secrets<'a> {
    /// Seals a secret of the source, the first one, for its place here, the second one. Returns `None` for one that
    /// cannot be opened.
    pub seal: &'a dyn Fn(&SealedText, &SealedText) -> Option<Replacement>,
    /// The facts by which this deployment verifies what the source hashed, with their names.
    pub hashing: Vec<(String, String)>,
}

/// How values are written, whatever the settings of the database and of its roles are.
const FORMAT: &str = "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; \
    SET LOCAL IntervalStyle = 'iso_8601'; SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'";

/// Returns the error of a file that cannot be used.
fn unusable(error: &io::Error) -> Error {
    Error::Invalid(format!("the file cannot be used: {error}"))
}
