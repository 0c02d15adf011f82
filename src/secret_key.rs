//! The secret key of a deployment, in a file that all servers of a database share.

use platform_store::Database;

use crate::auth::password::SecretKey;
use crate::config::StoreSettings;
use crate::start_error::StartError;

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
///
/// # Errors
/// `SecretKey` when the file cannot be used, or when the database was set up with a key that differs or is missing: a
/// new key would replace the original one in the next backup. `Database` when the database cannot be read.
pub async fn open(store: &StoreSettings, database: &Database) -> Result<SecretKey, StartError> {
    let path = store.secret_key_file();
    let key = match (load(store)?, database.agreed(FINGERPRINT).await?) {
        (Some(key), _) => key,
        (None, None) => SecretKey::create(&path)
            .map_err(|e| StartError::SecretKey(format!("{} cannot be made: {e}", path.display())))?,
        (None, Some(known)) => {
            return Err(StartError::SecretKey(format!(
                "{} is missing, and this database was created with the key {known}…: put that file back, or name it \
                 with --secret-key-file",
                path.display()
            )));
        }
    };
    let known = database.agree(FINGERPRINT, &key.fingerprint()).await?;
    matching(key, &known)
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
