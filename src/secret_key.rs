//! The secret key of a deployment: in a file beside the database, the same for all servers on it.

use platform_actors::store::Database;

use crate::auth::password::SecretKey;
use crate::config::StoreSettings;
use crate::server::StartError;

/// Under what name servers of one database agree on the key.
const FINGERPRINT: &str = "secret key fingerprint";

/// The key of the file; `None` where there is no file.
///
/// # Errors
/// `SecretKey` when the file cannot be used.
pub(crate) fn load(store: &StoreSettings) -> Result<Option<SecretKey>, StartError> {
    let path = store.secret_key_file();
    SecretKey::load(&path).map_err(|e| StartError::SecretKey(format!("{}: {e}", path.display())))
}

/// The key of a deployment; made with its file when the database is new. Servers of one database must hash with one key, else
/// devices that register at one cannot come in at another.
///
/// # Errors
/// `SecretKey` when the file cannot be used, or when the database was set up under another key or under one that is gone: a new
/// one would take its place in the next backup. `Database` when it cannot be read.
pub async fn open(store: &StoreSettings, database: &Database) -> Result<SecretKey, StartError> {
    let path = store.secret_key_file();
    let key = match (load(store)?, database.agreed(FINGERPRINT).await?) {
        (Some(key), _) => key,
        (None, None) => SecretKey::create(&path)
            .map_err(|e| StartError::SecretKey(format!("{} cannot be made: {e}", path.display())))?,
        (None, Some(known)) => {
            return Err(StartError::SecretKey(format!(
                "{} is missing, and this database was set up under the key {known}…: put that file back, or name it with \
                 --secret-key-file",
                path.display()
            )));
        }
    };
    let own = key.fingerprint();
    match database.agree(FINGERPRINT, &own).await? {
        known if known == own => Ok(key),
        known => Err(StartError::SecretKey(format!(
            "this database was set up under the key {known}…, this server has {own}…; give it the right --secret-key-file"
        ))),
    }
}
