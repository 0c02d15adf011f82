//! Restores: a backup is checked completely before anything is changed, and a restore that fails changes nothing.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use platform_front::config::StoreSettings;
use platform_front::secrets::password::SecretKey;
use platform_front::secrets::secret_key;
use zip::ZipArchive;

use super::{
    DUMP, FORMAT, Failure, MANIFEST, Manifest, SECRET_KEY, client, ended, previous_key, progress,
    unfinished_beside,
};
use crate::cli::RestoreArguments;
use crate::embedded_postgres::{client_program, running_database_url};
use platform_store::schema::restoration::{Restoration, SET_ASIDE, newest_schema};
use platform_store::{Database, libpq_environment};
use tempfile::NamedTempFile;

const BUSY: &str = "a server is starting on the database, or another restore runs; stop it first";
/// The greatest size in bytes of an entry other than the dump.
const SMALL: u64 = 65_536;

/// A checked backup.
pub struct RestorableBackup {
    path: PathBuf,
    archive: ZipArchive<File>,
    manifest: Manifest,
    key: Vec<u8>,
}

impl RestorableBackup {
    /// Opens a backup, reads all of it and checks it.
    ///
    /// # Errors
    /// The file cannot be read, is not a backup, is damaged, or was written by a newer program.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let wrong = |cause: &dyn std::fmt::Display| format!("{} cannot be restored: {cause}", path.display());
        let file = File::open(path).map_err(|error| wrong(&error))?;
        let mut archive =
            ZipArchive::new(file).map_err(|error| wrong(&format!("it is not a backup ({error})")))?;
        let manifest = small(&mut archive, MANIFEST).map_err(|error| wrong(&error))?;
        let manifest: Manifest = serde_json::from_slice(&manifest).map_err(|error| wrong(&error))?;
        if manifest.format > FORMAT || manifest.schema > newest_schema() {
            return Err(wrong(&format!(
                "it has schema {} and was written by platform {}, this program knows schemas up to {}: use the newer \
                 program",
                manifest.schema,
                manifest.program,
                newest_schema()
            ))
            .into());
        }
        let key = small(&mut archive, SECRET_KEY).map_err(|error| wrong(&error))?;
        // Reading an entry to its end verifies its checksum.
        let mut dump = archive.by_name(DUMP).map_err(|error| wrong(&error))?;
        io::copy(&mut dump, &mut io::sink()).map_err(|error| wrong(&format!("it is damaged ({error})")))?;
        drop(dump);
        Ok(Self { path: path.into(), archive, manifest, key })
    }

    /// Checks the preconditions on this machine, before a private PostgreSQL is started.
    ///
    /// # Errors
    /// A server uses the data directory, or the file of the secret key contains another key.
    pub fn check(&self, store: &StoreSettings, arguments: &RestoreArguments) -> Result<(), Failure> {
        if store.database_url.is_none() && running_database_url(&store.data_dir).is_some() {
            return Err(
                format!("a server runs on {}; stop it, then restore", store.data_dir.display()).into()
            );
        }
        let path = store.secret_key_file();
        match secret_key::load(store) {
            Ok(None) => Ok(()),
            Ok(Some(key)) if key.fingerprint() == self.manifest.secret_key_fingerprint => Ok(()),
            _ if arguments.replace => Ok(()),
            _ => Err(format!(
                "{} holds another key than the backup; move it away, or replace it and the database with --replace",
                path.display()
            )
            .into()),
        }
    }

    /// Restores the database and the secret key, and returns the message for the operator.
    ///
    /// # Errors
    /// The database is in use or not empty, or pg_restore fails. The database is then unchanged.
    pub async fn restore(
        &mut self,
        store: &StoreSettings,
        database: &Database,
        url: &str,
        arguments: &RestoreArguments,
    ) -> Result<String, Failure> {
        let mut key = self.unfinished_key(&store.secret_key_file())?;
        let postgres = database.postgres_version().await?;
        let program = client_program("pg_restore", store.postgres_bin_dir.as_deref(), postgres)?;
        let Some(restoration) = Restoration::begin(database).await? else {
            return Err(BUSY.into());
        };
        let place = store.secret_key_file();
        match free_for_restore(&restoration, arguments).await? {
            Content::Nothing => self.fill(&program, url, postgres)?,
            Content::Something => {
                restoration.set_aside().await?;
                if let Err(failure) =
                    previous_key::keep(&place).and_then(|()| self.fill(&program, url, postgres))
                {
                    restoration.put_back().await?;
                    previous_key::forget(&place);
                    return Err(failure);
                }
            }
            Content::SetAside => {
                restoration.begin_again().await?;
                self.fill(&program, url, postgres)?;
            }
        }
        restoration.leave_room_in_journals().await?;
        self.write_key(key.as_file_mut())?;
        key.persist(&place).map_err(|failed| {
            format!("the database is restored, but {} is not: {}", place.display(), failed.error)
        })?;
        if restoration.was_interrupted().await? {
            restoration.drop_previous().await?;
        }
        previous_key::forget(&place);
        let Manifest { created, schema, .. } = &self.manifest;
        Ok(format!("restored {} of {created} (schema {schema}); start the server", self.path.display()))
    }

    /// Checks the key and reserves an unfinished file for it beside its final place. The file has the key only when the
    /// database is restored, so a restore that is killed leaves no copy of it.
    fn unfinished_key(&self, place: &Path) -> Result<NamedTempFile, Failure> {
        let key = std::str::from_utf8(&self.key).ok().and_then(|text| SecretKey::parse(text.trim()));
        if key.map(|key| key.fingerprint()).as_ref() != Some(&self.manifest.secret_key_fingerprint) {
            return Err(format!("{} holds a key that its manifest does not name", self.path.display()).into());
        }
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = unfinished_beside(place)?;
        file.write_all(&vec![b'0'; self.key.len()])?;
        file.as_file().sync_all()?;
        Ok(file)
    }

    fn write_key(&self, file: &mut File) -> io::Result<()> {
        file.rewind()?;
        file.write_all(&self.key)?;
        file.sync_all()
    }

    /// Runs pg_restore in one transaction, for a database of this major version of PostgreSQL.
    fn fill(&mut self, program: &Path, url: &str, postgres: u32) -> Result<(), Failure> {
        let name = libpq_environment(url)?.into_iter().find(|(name, _)| *name == "PGDATABASE");
        let name = name.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap_or_default();
        let quoted = name.replace('\\', "\\\\").replace('\'', "\\'");
        let mut command = client(program, url)?;
        command.arg(format!("--dbname=dbname='{quoted}'"));
        command.args(["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let copied = match child.stdin.take() {
            Some(input) => {
                let entry = self.archive.by_name(DUMP)?;
                let bytes = entry.size();
                progress::copy(entry, input, bytes)
            }
            None => Ok(()),
        };
        // If pg_restore ended early, its error output is more helpful than the broken pipe.
        ended("pg_restore", child).map_err(|failure| self.explained(failure, postgres))?;
        Ok(copied?)
    }

    /// Adds to an error of pg_restore that the backup is of a newer PostgreSQL, which an older one usually cannot read.
    fn explained(&self, failure: Failure, postgres: u32) -> Failure {
        let from = self.manifest.postgres;
        if from <= postgres {
            return failure;
        }
        let remedy = format!("restore it into PostgreSQL {from} or newer");
        format!("{failure}\nThe backup is of PostgreSQL {from}, and the database of {postgres}: {remedy}")
            .into()
    }
}

/// The content of a database before a restore.
enum Content {
    Nothing,
    /// Data that may be replaced.
    Something,
    /// The unfinished result of an interrupted restore; the previous content has been set aside.
    SetAside,
}

/// Returns the content of the database if a restore may begin.
///
/// # Errors
/// The database has other connections, or is not empty and may not be replaced.
async fn free_for_restore(
    restoration: &Restoration,
    arguments: &RestoreArguments,
) -> Result<Content, Failure> {
    let content = if restoration.was_interrupted().await? {
        Content::SetAside
    } else if restoration.is_empty().await? {
        Content::Nothing
    } else {
        Content::Something
    };
    match content {
        Content::SetAside if !arguments.replace => {
            return Err(format!(
                "a restore was interrupted, and the schema {SET_ASIDE} of the database holds what it contained before: \
                 --replace repeats the restore, `platform restore --undo` brings that back"
            )
            .into());
        }
        Content::Something if !arguments.replace => {
            return Err(
                "the database is not empty; restore into an empty one, or replace its content with --replace"
                    .into(),
            );
        }
        _ => {}
    }
    is_unused(restoration).await?;
    Ok(content)
}

async fn is_unused(restoration: &Restoration) -> Result<(), Failure> {
    match restoration.count_others().await? {
        0 => Ok(()),
        others => {
            Err(format!("{others} other connections use the database; stop the servers on it, then restore")
                .into())
        }
    }
}

/// Undoes an interrupted restore: the database gets its previous content again, and the server its previous secret key.
///
/// # Errors
/// The database is in use, or no restore was interrupted.
pub async fn undo(store: &StoreSettings, database: &Database) -> Result<String, Failure> {
    let Some(restoration) = Restoration::begin(database).await? else {
        return Err(BUSY.into());
    };
    if !restoration.was_interrupted().await? {
        return Err("no restore was interrupted, so there is nothing to undo".into());
    }
    is_unused(&restoration).await?;
    restoration.put_back().await?;
    previous_key::bring_back(&store.secret_key_file())?;
    Ok("the database has its previous content again; start the server".into())
}

/// Reads an entry that must not exceed [`SMALL`].
fn small(archive: &mut ZipArchive<File>, name: &str) -> Result<Vec<u8>, Failure> {
    let mut content = Vec::new();
    let entry = archive.by_name(name).map_err(|error| format!("{name}: {error}"))?;
    entry.take(SMALL).read_to_end(&mut content)?;
    Ok(content)
}
