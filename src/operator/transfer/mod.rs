//! A tenant that is taken to another deployment: by `platform admin tenant move` (Z-22), or in one file, which
//! `platform admin tenant export` writes and `platform admin tenant import` reads (Z-21).
//!
//! The file is a ZIP archive: `manifest.json`, and one entry `<table>.copy` for each table, with its rows in the text
//! format of `COPY` and without the id of the tenant. The manifest has the proof: the number of rows of each table and
//! a digest of them, which PostgreSQL computes on both sides.

mod export;
mod import;
mod relocation;

use std::path::Path;
use std::time::SystemTime;

use platform_front::secrets::foreign_keys::Fact;
use platform_front::secrets::password::SecretKey;
use platform_store::Database;
use platform_store::schema::restoration::newest_schema;
use platform_store::schema::sealed_texts::{Replacement, SealedText};
use platform_store::tenancy::transfer::{Content, TableContent};
use serde::{Deserialize, Serialize};

use crate::administration::secrets::place_of;

pub use export::export;
pub use import::TenantFile;
pub use relocation::relocate;

/// An error that ends the command and is printed for the operator.
type Failure = Box<dyn std::error::Error>;

/// The version of the format.
const FORMAT: u32 = 1;
const MANIFEST: &str = "manifest.json";

/// The description of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    /// The version of the format.
    format: u32,
    /// The version of the program that wrote it.
    program: String,
    /// The version of the schema.
    schema: i64,
    /// The time of the export, RFC 3339.
    created: String,
    keys: Keys,
    content: Content,
}

/// The keys on which the secrets in the file depend.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Keys {
    /// The fingerprint of the secret key, which seals secrets.
    sealing: String,
    /// The key that hashes generated secrets, sealed under the secret key.
    hashing_key: String,
    /// The hashing keys of deployments from which tenants came, sealed in the same way, with their names.
    foreign: Vec<Fact>,
}

impl Keys {
    fn of(key: &SecretKey) -> Self {
        Self {
            sealing: key.fingerprint(),
            hashing_key: key.seal_hashing_key(key),
            foreign: key.seal_foreign(key),
        }
    }

    /// Returns the key of the source from its file.
    ///
    /// # Errors
    /// The file cannot be used, or has another key; `flag` names it.
    fn source(&self, file: &Path, flag: &str) -> Result<SecretKey, Failure> {
        let refused = |why: String| format!("{}: {why}", file.display());
        let key = SecretKey::load(file).map_err(|error| refused(error.to_string()))?;
        let key = key.ok_or_else(|| refused("the file is missing".into()))?;
        let fingerprint = key.fingerprint();
        if fingerprint != self.sealing {
            return Err(refused(format!(
                "it has the key {fingerprint}…, and the secrets in the file depend on {}…; name the secret.key of its \
                 deployment with {flag}",
                self.sealing
            ))
            .into());
        }
        let key = key.with_hashing_key(&self.hashing_key).filter(|key| key.learn(&self.foreign));
        Ok(key.ok_or_else(|| refused("it did not seal the hashing keys in the file".into()))?)
    }
}

impl Manifest {
    fn of_now(key: &SecretKey, content: Content) -> Self {
        let created = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let program = env!("CARGO_PKG_VERSION").into();
        Self { format: FORMAT, program, schema: newest_schema(), created, keys: Keys::of(key), content }
    }
}

/// Returns the name of the entry with the rows of a table.
fn entry(table: &str) -> String {
    format!("{table}.copy")
}

/// Checks that the schema of the database is the newest that this program knows.
async fn has_own_schema(database: &Database) -> Result<(), Failure> {
    match database.schema_version().await? {
        Some(version) if version == newest_schema() => Ok(()),
        Some(version) => Err(format!(
            "the database has schema {version}, and this program {}: use the program of the servers, or upgrade them \
             first",
            newest_schema()
        )
        .into()),
        None => Err("no server has used this database; start one first".into()),
    }
}

/// Returns the proof for the operator: a line for each table that has rows.
fn proof(tables: &[TableContent]) -> String {
    let (filled, empty): (Vec<_>, Vec<_>) = tables.iter().partition(|table| table.rows > 0);
    let width = filled.iter().map(|table| table.table.len()).max().unwrap_or_default();
    let line =
        |table: &&TableContent| format!("{:<width$}  {:>10}  {}\n", table.table, table.rows, table.digest);
    let lines: String = filled.iter().map(line).collect();
    format!("{lines}{} tables with {} rows, {} without", filled.len(), rows_of(tables), empty.len())
}

fn rows_of(tables: &[TableContent]) -> u64 {
    tables.iter().map(|table| table.rows).sum()
}

/// Seals a secret of the deployment of `from` for its place in that of `to`.
fn sealed_again(
    (from, to): (&SecretKey, &SecretKey),
    there: &SealedText,
    here: &SealedText,
) -> Option<Replacement> {
    let opened = from.sealing().open(place_of(there), &there.sealed)?;
    Some(Replacement { sealed: to.sealing().seal(place_of(here), &opened), hash: None })
}
