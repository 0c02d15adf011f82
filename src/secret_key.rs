//! The secret key of a deployment, in a file that all servers of a database share.

use std::io;
use std::time::{Duration, Instant};

use platform_store::Database;

use crate::auth::password::SecretKey;
use crate::config::StoreSettings;
use crate::start_error::StartError;

/// The time for which a server waits for a key file that another server has created. A directory that several machines
/// share may show a new file late.
const OTHERS_KEY: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// The name under which the database stores the fingerprint of the key.
const FINGERPRINT: &str = "secret key fingerprint";

/// Reads the key from its file; `None` if there is no file.
///
/// # Errors
/// `SecretKey` when the file cannot be used.
pub(crate) fn load(store: &StoreSettings) -> Result<Option<SecretKey>, StartError> {
    let path = store.secret_key_file();
    SecretKey::load(&path).map_err(|e| StartError::SecretKey(format!("{}: {e}", path.display())))
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
    let key = matching(key, &known)?;
    database.sign_with(key.messages().clone()).await?;
    Ok(key)
}

/// Returns the key in the file, or creates both when neither the file nor the database has a key. Returns `None` if
/// there is a key, but its file cannot be seen: another server has created it a moment ago, or the file is lost.
async fn load_or_create(store: &StoreSettings, database: &Database) -> Result<Option<SecretKey>, StartError> {
    if let Some(key) = load(store)? {
        return Ok(Some(key));
    }
    if database.agreed(FINGERPRINT).await?.is_some() {
        // The file is created before the database knows its key, so it may be there now.
        return load(store);
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
            "{} is missing, and this database was created with the key {known}…: put that file back, or name it \
             with --secret-key-file",
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
pub(crate) async fn existing(store: &StoreSettings, database: &Database) -> Result<SecretKey, StartError> {
    let missing = || {
        let path = store.secret_key_file();
        StartError::SecretKey(format!("{} is missing; name the file with --secret-key-file", path.display()))
    };
    let key = load(store)?.ok_or_else(missing)?;
    match database.agreed(FINGERPRINT).await? {
        Some(known) => matching(key, &known),
        None => Ok(key),
    }
}

/// Returns the key if it has the fingerprint that the database knows.
fn matching(key: SecretKey, known: &str) -> Result<SecretKey, StartError> {
    let own = key.fingerprint();
    if own == known {
        return Ok(key);
    }
    Err(StartError::SecretKey(format!(
        "this database was created with the key {known}…, but this server uses {own}…; set the right --secret-key-file"
    )))
}
