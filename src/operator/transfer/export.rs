//! Writes a tenant to a file.

use std::io::{self, Seek, Write};
use std::path::Path;

use platform_front::config::StoreSettings;
use platform_front::secrets::secret_key;
use platform_model::id::{MANAGEMENT, TenantId};
use platform_store::Database;
use platform_store::data::audit_records::insert_operators_record;
use platform_store::tenancy::transfer::{self, Output};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{Failure, MANIFEST, Manifest, entry, has_own_schema, proof};
use crate::backup::{give_name, refuse_existing, unfinished_beside};
use crate::cli::TenantExport;

/// Writes a tenant to a file and returns the message for the operator. The file has mode 600 and gets its name when it
/// is complete and synchronized to the disk.
///
/// # Errors
/// The file exists or cannot be written, the tenant is unknown or cannot leave its deployment, the database has another
/// schema than this program, or its secret key is missing.
pub async fn export(
    store: &StoreSettings,
    database: &Database,
    arguments: &TenantExport,
) -> Result<String, Failure> {
    let (tenant, target) = (TenantId::parse(&arguments.id)?, &arguments.output);
    if tenant.as_str() == MANAGEMENT {
        return Err(format!("tenant {MANAGEMENT} belongs to its deployment; `platform backup` has it").into());
    }
    if target == Path::new("-") {
        return Err(
            "the file has password hashes and is not written to the standard output; name a file".into()
        );
    }
    refuse_existing(target)?;
    has_own_schema(database).await?;
    let key = secret_key::existing(store, database).await?;
    let mut file = unfinished_beside(target)?;
    let mut archive = Archive(ZipWriter::new(file.as_file_mut()));
    let content = transfer::export(database, &tenant, &mut archive).await?;
    let manifest = Manifest::of_now(&key, content);
    archive.finish(&manifest).map_err(|error| format!("{} cannot be written: {error}", target.display()))?;
    file.as_file().sync_all()?;
    let size = file.as_file().metadata()?.len();
    insert_operators_record(
        database,
        &TenantId::parse(MANAGEMENT)?,
        "Tenant",
        "Tenant exported",
        tenant.as_str(),
    )
    .await?;
    give_name(file, target)?;
    let Manifest { schema, content, .. } = &manifest;
    Ok(format!("{}\n{} ({size} bytes, schema {schema})", proof(&content.tables), target.display()))
}

/// The archive that is written.
struct Archive<W: Write + Seek>(ZipWriter<W>);

impl<W: Write + Seek> Archive<W> {
    fn finish(mut self, manifest: &Manifest) -> io::Result<()> {
        self.begin_entry(MANIFEST)?;
        self.0.write_all(&serde_json::to_vec_pretty(manifest)?)?;
        self.0.finish()?;
        Ok(())
    }

    fn begin_entry(&mut self, name: &str) -> io::Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .large_file(true)
            .unix_permissions(0o600);
        Ok(self.0.start_file(name, options)?)
    }
}

impl<W: Write + Seek> Output for Archive<W> {
    fn begin(&mut self, table: &str) -> io::Result<()> {
        self.begin_entry(&entry(table))
    }

    fn write(&mut self, rows: &[u8]) -> io::Result<()> {
        self.0.write_all(rows)
    }
}
