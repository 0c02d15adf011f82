//! Backups: database and secret key in one file, which `platform backup` writes and `platform restore` reads.
//!
//! The file is a ZIP archive with three entries: `manifest.json`, `secret.key` and `database.dump`. The dump is the
//! output of `pg_dump --format=custom`, a consistent snapshot that can be taken beside a running server.

mod previous_key;
mod progress;
mod restore;

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use platform_front::config::StoreSettings;
use platform_front::directory;
use platform_front::secrets::secret_key;
use platform_front::terminal::say;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::embedded_postgres::client_program;
use platform_store::{Database, libpq_environment};

pub use restore::{RestorableBackup, undo};

/// An error that ends the command and is printed for the operator.
type Failure = Box<dyn std::error::Error>;

/// The version of the archive's format.
const FORMAT: u32 = 1;
const MANIFEST: &str = "manifest.json";
const SECRET_KEY: &str = "secret.key";
const DUMP: &str = "database.dump";

/// The prefix of the names of incomplete files.
const UNFINISHED: &str = ".platform-unfinished-";
/// The age up to which an unlocked file may belong to a command that is just creating it and has not locked it yet.
const NEW: Duration = Duration::from_secs(60);

/// The description of a backup, which the archive contains as `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    /// The version of the format. A program rejects backups with a newer one.
    format: u32,
    /// The version of the program that wrote the backup.
    program: String,
    /// The version of the database's schema.
    schema: i64,
    /// The major version of PostgreSQL.
    postgres: u32,
    /// The time of the backup, RFC 3339.
    created: String,
    /// The fingerprint of the secret key, which does not reveal it.
    secret_key_fingerprint: String,
}

impl Manifest {
    /// Describes a backup that this program makes now.
    fn of_now(schema: i64, postgres: u32, secret_key_fingerprint: String) -> Self {
        let created = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let program = env!("CARGO_PKG_VERSION").into();
        Self { format: FORMAT, program, schema, postgres, created, secret_key_fingerprint }
    }
}

/// Writes a backup and returns the message for the operator. The file has mode 600 and gets its name when it is
/// complete and synchronized to the disk. The target `-` is the standard output; the message then goes to the standard
/// error.
///
/// # Errors
/// The file exists or cannot be written, no server has used the database, its secret key is missing or differs, or
/// pg_dump is missing or fails.
pub async fn create(
    store: &StoreSettings,
    database: &Database,
    url: &str,
    target: &Path,
) -> Result<String, Failure> {
    let to_stdout = target == Path::new("-");
    if to_stdout && io::stdout().is_terminal() {
        return Err(
            "a backup has the secret key and is not written to a terminal: send it to a file or a pipe"
                .into(),
        );
    }
    if !to_stdout {
        refuse_existing(target)?;
    }
    let Some(schema) = database.schema_version().await? else {
        return Err("no server has used this database, so there is nothing to back up".into());
    };
    let key_file = store.secret_key_file();
    let fingerprint = secret_key::existing(store, database).await?.fingerprint();
    let postgres = database.postgres_version().await?;
    let dump = client_program("pg_dump", store.postgres_bin_dir.as_deref(), postgres)?;
    let manifest = Manifest::of_now(schema, postgres, fingerprint);
    let mut dump = client(&dump, url)?;
    dump.args(["--format=custom", "--no-owner", "--no-privileges"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let key = fs::read(key_file)?;
    let described = |size: u64| format!("({size} bytes, schema {schema}, PostgreSQL {postgres})");
    if to_stdout {
        let archive = ZipWriter::new_stream(Counted { out: io::stdout().lock(), bytes: 0 });
        let written = write_entries(archive, &manifest, &key, dump.spawn()?)?.into_inner();
        is_unchanged(database, schema).await?;
        say(format_args!("backup written {}", described(written.bytes)));
        return Ok(String::new());
    }
    let mut file = unfinished_beside(target)?;
    write_entries(ZipWriter::new(file.as_file_mut()), &manifest, &key, dump.spawn()?)?;
    is_unchanged(database, schema).await?;
    file.as_file().sync_all()?;
    let size = file.as_file().metadata()?.len();
    give_name(file, target)?;
    Ok(format!("{} {}", target.display(), described(size)))
}

/// Checks that no server has upgraded the database during the backup.
async fn is_unchanged(database: &Database, schema: i64) -> Result<(), Failure> {
    if database.schema_version().await? == Some(schema) {
        return Ok(());
    }
    Err("a server upgraded the database meanwhile; start the backup again".into())
}

/// Counts the bytes that are written.
struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes the entries of the archive. The dump is streamed from the output of pg_dump.
fn write_entries<W: Write + Seek>(
    mut archive: ZipWriter<W>,
    manifest: &Manifest,
    key: &[u8],
    mut dump: Child,
) -> Result<W, Failure> {
    let output = dump.stdout.take();
    let written = || -> io::Result<W> {
        // pg_dump has compressed the dump already.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(true)
            .unix_permissions(0o600);
        archive.start_file(MANIFEST, options)?;
        archive.write_all(&serde_json::to_vec_pretty(manifest)?)?;
        archive.start_file(SECRET_KEY, options)?;
        archive.write_all(key)?;
        archive.start_file(DUMP, options)?;
        if let Some(mut output) = output {
            io::copy(&mut output, &mut archive)?;
        }
        Ok(archive.finish()?)
    };
    let written = written();
    // If the disk is full, reading stops and pg_dump fails too. The error of the write is reported first, because it is
    // the cause.
    let said = ended("pg_dump", dump);
    let written = written.map_err(|error| format!("the backup cannot be written: {error}"))?;
    said.map(|()| written)
}

/// Returns a command that runs a program of PostgreSQL against the database and collects its errors.
fn client(program: &Path, url: &str) -> Result<Command, Failure> {
    let mut command = Command::new(program);
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("LC_ALL", "C.UTF-8").env("PGCONNECT_TIMEOUT", "10");
    command.envs(libpq_environment(url)?).arg("--no-password").stderr(Stdio::piped());
    Ok(command)
}

/// Waits for the end of a program of PostgreSQL.
///
/// # Errors
/// The program failed; the error contains its error output.
fn ended(name: &str, mut child: Child) -> Result<(), Failure> {
    let mut said = String::new();
    if let Some(errors) = &mut child.stderr {
        // Even if the error output cannot be read, the exit status decides.
        errors.read_to_string(&mut said).ok();
    }
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(format!("{name} failed ({status}): {}", said.trim()).into()) }
}

/// Refuses to write a file that exists.
pub(crate) fn refuse_existing(target: &Path) -> Result<(), Failure> {
    if target.try_exists()? {
        return Err(format!("{} exists already; choose another name", target.display()).into());
    }
    Ok(())
}

/// Gives a file of [`unfinished_beside`] its name, unless another file has got it meanwhile.
pub(crate) fn give_name(file: NamedTempFile, target: &Path) -> Result<(), Failure> {
    let named = file.persist_noclobber(target);
    named.map_err(|failed| format!("{} cannot be made: {}", target.display(), failed.error))?;
    Ok(())
}

/// Creates a file of mode 600 in the directory of `target`. It is locked while it is open, and deleted unless it is
/// renamed to `target`.
pub(crate) fn unfinished_beside(target: &Path) -> Result<NamedTempFile, Failure> {
    let directory = directory::of(target);
    let refused = |error: io::Error| format!("{} cannot be written: {error}", directory.display());
    remove_leftovers(directory);
    let file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(directory).map_err(refused)?;
    file.as_file().lock().map_err(refused)?;
    Ok(file)
}

/// Deletes the incomplete files that killed commands have left in a directory. Files that cannot be deleted are left to
/// the next command.
fn remove_leftovers(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_old = entry.metadata().is_ok_and(|found| {
            // A new file may not be locked yet.
            found.is_file() && found.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > NEW))
        });
        if !is_old || !entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            continue;
        }
        if File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
            && fs::remove_file(entry.path()).is_ok()
        {
            tracing::info!("deleting {}, which a killed command has left", entry.path().display());
        }
    }
}
