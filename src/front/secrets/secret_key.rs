//! The secret key of a deployment, in a file that all servers of a database share.
//!
//! A rotation writes the new key to a file beside it, then changes the database in one transaction, then gives the file
//! its name. The fingerprint in the database says which of the two files counts, so whatever uses the key after a
//! rotation was killed completes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use platform_store::Database;

use super::foreign_keys::FOREIGN;
use super::password::SecretKey;
use crate::config::StoreSettings;
use crate::directory;
use crate::start_error::StartError;

/// The time for which a server waits for a key file that another server has created. A directory that several machines
/// share may show a new file late.
const OTHERS_KEY: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// The name under which the database stores the fingerprint of the key.
pub const FINGERPRINT: &str = "secret key fingerprint";
/// The name under which the database stores the key that hashes generated secrets, sealed, once the key was rotated.
pub const HASHING_KEY: &str = "hashing key";

/// Reads the key from its file; `None` if there is no file.
///
/// # Errors
/// `SecretKey` when the file cannot be used.
pub fn load(store: &StoreSettings) -> Result<Option<SecretKey>, StartError> {
    let path = store.secret_key_file();
    SecretKey::load(&path).map_err(|e| StartError::SecretKey(format!("{}: {e}", path.display())))
}

/// Checks that the file of the key can be used, or can be created where `--secret-key-file` names it.
///
/// # Errors
/// `SecretKey` when the file cannot be used, or its directory does not exist: a mistyped path would otherwise become a
/// directory with a second key.
pub fn check(store: &StoreSettings) -> Result<(), StartError> {
    let key = load(store)?;
    match &store.secret_key {
        Some(path) if key.is_none() && !directory::of(path).is_dir() => Err(StartError::SecretKey(format!(
            "--secret-key-file {}: the directory {} does not exist; create it, or correct the path",
            path.display(),
            directory::of(path).display()
        ))),
        _ => Ok(()),
    }
}

/// Returns the key of a deployment, and creates it with its file when the database is new. All servers of a database
/// must use the same key, because a device that registers with one server could otherwise not log in to another.
/// Several servers may start at once on a new database: one of them creates the key, and the others read it. From then
/// on the process signs what it sends to servers.
///
/// # Errors
/// `SecretKey` when the file cannot be used, or when the database was set up with a key that differs or is missing: a
/// new key would replace the original one in the next backup. `Database` when the database cannot be read.
pub async fn open(store: &StoreSettings, database: &Database) -> Result<SecretKey, StartError> {
    let until = Instant::now() + OTHERS_KEY;
    let key = loop {
        if let Some(key) = load_or_create(store, database).await? {
            break key;
        }
        if Instant::now() > until {
            return Err(missing(store, database.agreed(FINGERPRINT).await?));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    };
    let known = database.agree(FINGERPRINT, &key.fingerprint()).await?;
    let key = complete(store, key, &known)?;
    let key = Box::pin(with_hashing_key(key, database)).await?;
    database.sign_with(key.messages().clone()).await?;
    Ok(key)
}

/// Returns the key in the file, or creates both when neither the file nor the database has a key. Returns `None` if
/// there is a key, but its file cannot be seen: another server has created it a moment ago, or the file is lost.
async fn load_or_create(store: &StoreSettings, database: &Database) -> Result<Option<SecretKey>, StartError> {
    if let Some(key) = load(store)? {
        return Ok(Some(key));
    }
    if let Some(known) = database.agreed(FINGERPRINT).await? {
        // The file is created before the database knows its key, so it may be there now.
        return match load(store)? {
            Some(key) => Ok(Some(key)),
            None => successor(store, &known),
        };
    }
    let path = store.secret_key_file();
    match SecretKey::create(&path) {
        Ok(key) => Ok(Some(key)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => load(store),
        Err(error) => Err(StartError::SecretKey(format!("{} cannot be made: {error}", path.display()))),
    }
}

/// Returns the error for a key whose file is not there although the database, or the directory, says that it is.
fn missing(store: &StoreSettings, known: Option<String>) -> StartError {
    let path = store.secret_key_file();
    StartError::SecretKey(match known {
        Some(known) => format!(
            "{} is missing, and this database uses the key {known}…: put that file back, or name it with \
             --secret-key-file; `platform admin secret forget` goes on without it and says what is lost",
            path.display()
        ),
        None => format!("{} exists, but it cannot be read", path.display()),
    })
}

/// Returns the key of a deployment that exists, and creates nothing.
///
/// # Errors
/// `SecretKey` when the file is missing or cannot be used, or when the database was set up with another key. `Database`
/// when the database cannot be read.
pub async fn existing(store: &StoreSettings, database: &Database) -> Result<SecretKey, StartError> {
    let missing = || {
        let path = store.secret_key_file();
        StartError::SecretKey(format!("{} is missing; name the file with --secret-key-file", path.display()))
    };
    let known = database.agreed(FINGERPRINT).await?;
    let key = match (load(store)?, &known) {
        (Some(key), Some(known)) => complete(store, key, known)?,
        (Some(key), None) => return Ok(key),
        (None, Some(known)) => successor(store, known)?.ok_or_else(missing)?,
        (None, None) => return Err(missing()),
    };
    Box::pin(with_hashing_key(key, database)).await
}

/// Checks, after a server has joined the others, that the key was not rotated since the server read it. Later rotations
/// see the server and refuse.
///
/// # Errors
/// `SecretKey` when it was. `Database` when the database cannot be read.
pub async fn confirm(store: &StoreSettings, key: &SecretKey, database: &Database) -> Result<(), StartError> {
    match database.agreed(FINGERPRINT).await? {
        Some(known) if known != key.fingerprint() => Err(StartError::SecretKey(format!(
            "{} was replaced while the server started; start it again",
            store.secret_key_file().display()
        ))),
        _ => Ok(()),
    }
}

/// Returns the file of the key that is about to replace the one in `place`.
pub fn successor_file(place: &Path) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    place.with_file_name(name)
}

/// Gives the file of a new key, whose fingerprint the database has, the name of the old one.
///
/// # Errors
/// The file cannot be renamed, or that cannot be stored on the disk.
pub fn promote(place: &Path) -> io::Result<()> {
    fs::rename(successor_file(place), place)?;
    directory::synchronize(place)
}

/// Returns the key with which an interrupted rotation has sealed the database, and completes the rotation. Returns
/// `None` if there is no such key.
fn successor(store: &StoreSettings, known: &str) -> Result<Option<SecretKey>, StartError> {
    let (place, new) = (store.secret_key_file(), successor_file(&store.secret_key_file()));
    let unusable = |error| StartError::SecretKey(format!("{}: {error}", new.display()));
    let key = SecretKey::load(&new).map_err(unusable)?.filter(|key| key.fingerprint() == known);
    if key.is_some() {
        promote(&place).map_err(unusable)?;
        tracing::warn!(
            "a rotation of the secret key was interrupted; {} has the new key now",
            place.display()
        );
    }
    Ok(key)
}

/// Returns the key with the fingerprint that the database knows: the one that was read, or that of an interrupted
/// rotation.
fn complete(store: &StoreSettings, key: SecretKey, known: &str) -> Result<SecretKey, StartError> {
    if key.fingerprint() != known
        && let Some(key) = successor(store, known)?
    {
        return Ok(key);
    }
    matching(key, known)
}

/// Returns the key with the one that hashes generated secrets, which is an earlier key if this one was rotated, and
/// with those of deployments from which tenants came.
async fn with_hashing_key(key: SecretKey, database: &Database) -> Result<SecretKey, StartError> {
    let broken = || StartError::SecretKey("the database has a hashing key that this key did not seal".into());
    let key = match database.agreed(HASHING_KEY).await? {
        Some(sealed) => key.with_hashing_key(&sealed).ok_or_else(broken)?,
        None => key,
    };
    if learn(&key, database).await? { Ok(key) } else { Err(broken()) }
}

/// Reads the hashing keys of deployments from which tenants came. Returns whether all could be opened.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn learn(key: &SecretKey, database: &Database) -> platform_model::error::Result<bool> {
    Ok(key.learn(&database.list_agreed(FOREIGN).await?))
}

/// Returns the key if it has the fingerprint that the database knows.
fn matching(key: SecretKey, known: &str) -> Result<SecretKey, StartError> {
    let own = key.fingerprint();
    if own == known {
        return Ok(key);
    }
    Err(StartError::SecretKey(format!(
        "this database uses the key {known}…, but this server has {own}…; set the right --secret-key-file, or copy the \
         file from the machine where the key was rotated"
    )))
}
