//! Creates a tenant from a file, which is read to its end and checked before anything is written.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use platform_front::config::StoreSettings;
use platform_front::secrets::secret_key;
use platform_model::id::{MANAGEMENT, TenantId};
use platform_model::tenancy::tenant::parse_domain;
use platform_store::Database;
use platform_store::schema::restoration::newest_schema;
use platform_store::tenancy::transfer::{self, Existing, Mode, Secrets, Source, TableContent, Target};
use tokio::sync::Mutex;
use zip::ZipArchive;

use super::{FORMAT, Failure, MANIFEST, Manifest, entry, has_own_schema, proof, sealed_again};
use crate::administration::by_operator;
use crate::cli::TenantImport;

/// The greatest size in bytes of a manifest.
const LARGEST_MANIFEST: u64 = 1 << 24;

/// A checked file.
pub struct TenantFile {
    path: PathBuf,
    archive: Archive,
    manifest: Manifest,
}

impl TenantFile {
    /// Opens a file, reads all of it and checks it.
    ///
    /// # Errors
    /// The file cannot be read, is not the file of a tenant, is damaged, or was written for another schema.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let wrong = |cause: &dyn std::fmt::Display| format!("{} cannot be imported: {cause}", path.display());
        let file = File::open(path).map_err(|error| wrong(&error))?;
        let archive = ZipArchive::new(file)
            .map_err(|error| wrong(&format!("it is damaged, or not the file of a tenant ({error})")))?;
        let mut archive = Archive(archive);
        let manifest =
            archive.manifest().map_err(|error| wrong(&format!("its manifest cannot be read ({error})")))?;
        if manifest.schema != newest_schema() {
            return Err(wrong(&format!(
                "it has schema {} of platform {}, and this program schema {}. Bring both deployments to the same \
                 version and export the tenant again",
                manifest.schema,
                manifest.program,
                newest_schema()
            ))
            .into());
        }
        archive.verify(&manifest).map_err(|error| wrong(&format!("it is damaged ({error})")))?;
        Ok(Self { path: path.into(), archive, manifest })
    }

    /// Creates the tenant and returns the message for the operator.
    ///
    /// # Errors
    /// The tenant or its domain exists, or the file does not fit the deployment: its schema, its secret key, its
    /// applications. The database is then unchanged.
    pub async fn import(
        self,
        store: &StoreSettings,
        database: &Database,
        arguments: &TenantImport,
    ) -> Result<String, Failure> {
        let Self { path, archive, manifest: Manifest { content, keys, created, .. } } = self;
        let target = Target {
            tenant: TenantId::parse(arguments.id.as_deref().unwrap_or(&content.tenant))?,
            domain: parse_domain(arguments.domain.as_deref().unwrap_or(&content.domain))?,
        };
        has_own_schema(database).await?;
        let key = Box::pin(secret_key::open(store, database)).await?;
        let own = store.secret_key_file();
        let file = arguments.source_secret_key_file.as_deref().unwrap_or(&own);
        let there = keys.source(file, "--source-secret-key-file")?;
        let by = by_operator(database, &TenantId::parse(MANAGEMENT)?).await?;
        let mode = if arguments.dry_run { Mode::Rehearsal } else { Mode::Real };
        let existing = if arguments.replace { Existing::Replaced } else { Existing::Refused };
        let seal = |at_source: &_, here: &_| sealed_again((&there, &key), at_source, here);
        let (archive, secrets) =
            (Mutex::new(archive), Secrets { seal: &seal, hashing: there.hashing_facts(&key) });
        let closed =
            transfer::import(database, &by, (&content, &archive), &target, (existing, mode), &secrets)
                .await?;
        let mut told = format!("{}\n", proof(&content.tables));
        if closed > 0 {
            told += &format!("{closed} secrets cannot be opened, as before the export\n");
        }
        let Target { tenant, domain } = &target;
        let (from, done) = (path.display(), if arguments.dry_run { "could be" } else { "is" });
        told += &format!("{tenant} ({domain}) {done} imported from {from} of {created}, {}", content.status);
        Ok(told)
    }
}

/// The archive that is read.
struct Archive(ZipArchive<File>);

impl Archive {
    fn manifest(&mut self) -> Result<Manifest, Failure> {
        let mut text = Vec::new();
        self.0.by_name(MANIFEST)?.take(LARGEST_MANIFEST).read_to_end(&mut text)?;
        // A later format may have other members, so it is recognized by this one alone.
        let described: serde_json::Value = serde_json::from_slice(&text)?;
        if described["format"] != FORMAT {
            return Err(
                format!("it has format {}, and this program knows {FORMAT}", described["format"]).into()
            );
        }
        Ok(serde_json::from_value(described)?)
    }

    /// Reads every entry to its end, which verifies its checksum, and counts the rows.
    fn verify(&mut self, manifest: &Manifest) -> Result<(), Failure> {
        let tables = &manifest.content.tables;
        let mut expected: BTreeSet<_> = tables.iter().map(|table| entry(&table.table)).collect();
        expected.insert(MANIFEST.to_owned());
        let found = self.0.file_names().map(|name| name.map(Cow::into_owned));
        let found = found.collect::<Result<BTreeSet<_>, _>>()?;
        if let Some(name) = found.symmetric_difference(&expected).next() {
            return Err(format!("it has no {name}, or its manifest does not name it").into());
        }
        for TableContent { table, rows, .. } in tables {
            let counted = count_lines(&mut *self.rows(table)?)?;
            if counted != *rows {
                return Err(format!("the table {table} has {counted} rows instead of {rows}").into());
            }
        }
        Ok(())
    }
}

impl Source for Archive {
    fn rows<'a>(&'a mut self, table: &str) -> io::Result<Box<dyn BufRead + 'a>> {
        Ok(Box::new(BufReader::new(self.0.by_name(&entry(table))?)))
    }
}

fn count_lines(rows: &mut dyn BufRead) -> io::Result<u64> {
    let mut lines = 0;
    loop {
        let part = rows.fill_buf()?;
        if part.is_empty() {
            return Ok(lines);
        }
        lines += part.iter().filter(|byte| **byte == b'\n').count() as u64;
        let read = part.len();
        rows.consume(read);
    }
}
