//! The texts that are sealed under the secret key of the deployment, and how it gets another key (Z-05).
//!
//! The database has only ciphertext; the caller of [`replace_key`] opens and seals. All of it is one transaction, which
//! also changes the fingerprint of the key. It holds the lock of migrations, so servers that start meanwhile wait and
//! then see the new fingerprint, and it fails if a server lives.

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::tenancy::tenant_option::SECRET_KEYS;
use tokio_postgres::{Row, Transaction};

use crate::Database;
use crate::schema::migrations;

const LIST: &str = include_str!("../../../../sql/queries/sealed_texts/list.sql");
const COUNT_LOST: &str = include_str!("../../../../sql/queries/sealed_texts/count_lost.sql");
const SET_FACT: &str = include_str!("../../../../sql/queries/sealed_texts/set_fact.sql");
const OPTION: &str = include_str!("../../../../sql/queries/sealed_texts/replace_option.sql");
const DEVICE_CREDENTIALS: &str =
    include_str!("../../../../sql/queries/sealed_texts/replace_device_credentials.sql");
const APPLICATION_KEY: &str =
    include_str!("../../../../sql/queries/sealed_texts/replace_application_key.sql");
const RESOURCES_PASSWORD: &str =
    include_str!("../../../../sql/queries/sealed_texts/replace_resources_password.sql");
const APPLICATION_USER: &str =
    include_str!("../../../../sql/queries/sealed_texts/replace_application_user.sql");
const SECOND_FACTOR: &str = include_str!("../../../../sql/queries/sealed_texts/replace_second_factor.sql");
const AUTHORITY_KEY: &str = include_str!("../../../../sql/queries/sealed_texts/replace_authority_key.sql");
const FORGET_AUTHORITY_KEYS: &str =
    include_str!("../../../../sql/queries/sealed_texts/forget_authority_keys.sql");
const FORGET_OPTIONS: &str = include_str!("../../../../sql/queries/sealed_texts/forget_options.sql");
const FORGET_DEVICE_CREDENTIALS: &str =
    include_str!("../../../../sql/queries/sealed_texts/forget_device_credentials.sql");
const FORGET_RESOURCES_PASSWORDS: &str =
    include_str!("../../../../sql/queries/sealed_texts/forget_resources_passwords.sql");
const FORGET_SECOND_FACTORS: &str =
    include_str!("../../../../sql/queries/sealed_texts/forget_second_factors.sql");
const LIST_LIVING: &str = include_str!("../../../../sql/queries/servers/list_living.sql");

/// The kind of a sealed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedKind {
    /// The value of a secret option; the place is its category and its key.
    Option,
    /// The password that a device may collect once more; the place is the id of the device.
    DeviceCredentials,
    /// The key of an application, by its id.
    ApplicationKey,
    /// The password of an application's external resources, by its id.
    ResourcesPassword,
    /// The password of a user of a microservice; the place is the id of the application and the duty of the user.
    ApplicationUser,
    /// The secret of a second factor; the place is the user.
    SecondFactor,
    /// The private key of a certificate authority of a tenant, by its fingerprint.
    AuthorityKey,
}

/// A sealed text with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedText {
    /// Its kind.
    pub kind: SealedKind,
    /// The tenant.
    pub tenant: String,
    /// The category, the device, the application or the user.
    pub name: String,
    /// The key of the option or the duty of the user; otherwise empty.
    pub part: String,
    /// The ciphertext.
    pub sealed: String,
}

/// The text that replaces a sealed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The ciphertext under the new key.
    pub sealed: String,
    /// The keyed hash of the text, if the text is another one.
    pub hash: Option<String>,
}

/// The fate of the texts under the old key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldTexts {
    /// They are sealed again.
    Kept,
    /// The old key is lost: options, credentials to collect, passwords of external resources and second
    /// factors are dropped.
    Lost,
}

/// Numbers of what is lost with the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    /// Secret options.
    pub options: i64,
    /// Registrations whose devices could collect their passwords once more.
    pub device_credentials: i64,
    /// Applications, whose keys are generated anew.
    pub applications: i64,
    /// Passwords of external resources of applications.
    pub resources_passwords: i64,
    /// Users of microservices, whose passwords are generated anew.
    pub application_users: i64,
    /// Devices whose passwords can no longer be verified.
    pub devices: i64,
    /// People whose generated passwords can no longer be verified.
    pub users: i64,
    /// Clients of access tokens whose secrets can no longer be verified.
    pub token_clients: i64,
    /// Second factors of people.
    pub second_factors: i64,
    /// Certificate authorities that can no longer issue certificates.
    pub authorities: i64,
}

/// Counts what is lost with the key. Keyed hashes begin with `keyed`.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn count_lost(database: &Database, keyed: &str) -> Result<Lost> {
    let row = database.loader().await?.query_one(COUNT_LOST, &[&SECRET_KEYS, &keyed]).await?;
    Ok(Lost {
        options: row.get(0),
        device_credentials: row.get(1),
        applications: row.get(2),
        resources_passwords: row.get(3),
        application_users: row.get(4),
        devices: row.get(5),
        users: row.get(6),
        token_clients: row.get(7),
        second_factors: row.get(8),
        authorities: row.get(9),
    })
}

/// Replaces the texts that are sealed under the secret key, and sets `facts` of the deployment, in one transaction.
/// `replace` returns `None` for a text that stays as it is. Returns how many texts were replaced, and how many stayed.
///
/// # Errors
/// `Invalid` if a server runs or starts on the database; `Unavailable` or `Database`. An error leaves everything as it
/// was.
pub async fn replace_key(
    database: &Database,
    facts: &[(&str, Option<&str>)],
    old: OldTexts,
    replace: impl Fn(&SealedText) -> Option<Replacement>,
) -> Result<(usize, usize)> {
    let mut client = database.patient_loader().await?;
    let transaction = client.transaction().await?;
    refuse_servers(&transaction).await?;
    if old == OldTexts::Lost {
        transaction.execute(FORGET_OPTIONS, &[&SECRET_KEYS]).await?;
        transaction.batch_execute(FORGET_DEVICE_CREDENTIALS).await?;
        transaction.batch_execute(FORGET_RESOURCES_PASSWORDS).await?;
        transaction.batch_execute(FORGET_SECOND_FACTORS).await?;
        transaction.batch_execute(FORGET_AUTHORITY_KEYS).await?;
    }
    let rows = transaction.query(LIST, &[&SECRET_KEYS]).await?;
    let mut replaced = 0;
    for text in rows.iter().map(sealed_text) {
        let text = text?;
        if let Some(replacement) = replace(&text) {
            store(&transaction, &text, &replacement).await?;
            replaced += 1;
        }
    }
    for (name, value) in facts {
        match value {
            Some(value) => transaction.execute(SET_FACT, &[name, value]).await?,
            None => transaction.execute("DELETE FROM deployment WHERE name = $1", &[name]).await?,
        };
    }
    transaction.commit().await?;
    Ok((replaced, rows.len() - replaced))
}

/// Lists the texts of one tenant that are sealed under the secret key.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn list_of_tenant(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
) -> Result<Vec<SealedText>> {
    let list = format!("SELECT * FROM ({LIST}) texts WHERE tenant = $2");
    let rows = transaction.query(&list, &[&SECRET_KEYS, &tenant.as_str()]).await?;
    rows.iter().map(sealed_text).collect()
}

/// Keeps servers from starting until the transaction ends.
///
/// # Errors
/// `Invalid` if a server runs or starts: it would continue with the old key.
async fn refuse_servers(transaction: &Transaction<'_>) -> Result<()> {
    let lock = "SELECT pg_try_advisory_xact_lock($1)";
    let locked: bool = transaction.query_one(lock, &[&migrations::ADVISORY_LOCK]).await?.get(0);
    if !locked {
        return Err(Error::Invalid("a server is starting on the database; stop it first".into()));
    }
    // A server that has passed its migrations and has not joined yet waits here, and then checks its key again.
    transaction.batch_execute("LOCK TABLE servers IN SHARE ROW EXCLUSIVE MODE").await?;
    let living = transaction.query(LIST_LIVING, &[]).await?;
    if living.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = living.iter().map(|row| row.get(1)).collect();
    Err(Error::Invalid(format!(
        "servers run on the database and would go on with the old key; stop them first: {}",
        names.join(", ")
    )))
}

fn sealed_text(row: &Row) -> Result<SealedText> {
    let kind = match row.get::<_, &str>(0) {
        "option" => SealedKind::Option,
        "device credentials" => SealedKind::DeviceCredentials,
        "application key" => SealedKind::ApplicationKey,
        "resources password" => SealedKind::ResourcesPassword,
        "application user" => SealedKind::ApplicationUser,
        "second factor" => SealedKind::SecondFactor,
        "authority key" => SealedKind::AuthorityKey,
        other => return Err(Error::Invalid(format!("sealed text of the unknown kind {other}"))),
    };
    Ok(SealedText { kind, tenant: row.get(1), name: row.get(2), part: row.get(3), sealed: row.get(4) })
}

/// Stores a text in the place of a sealed one. A part of a transaction.
pub(crate) async fn store(transaction: &Transaction<'_>, text: &SealedText, new: &Replacement) -> Result<()> {
    let (tenant, name, part, sealed, hash) = (&text.tenant, &text.name, &text.part, &new.sealed, &new.hash);
    match text.kind {
        SealedKind::Option => transaction.execute(OPTION, &[tenant, name, part, sealed]).await?,
        SealedKind::DeviceCredentials => {
            transaction.execute(DEVICE_CREDENTIALS, &[tenant, name, sealed]).await?
        }
        SealedKind::ApplicationKey => transaction.execute(APPLICATION_KEY, &[name, sealed, hash]).await?,
        SealedKind::AuthorityKey => transaction.execute(AUTHORITY_KEY, &[tenant, name, sealed]).await?,
        SealedKind::ResourcesPassword => transaction.execute(RESOURCES_PASSWORD, &[name, sealed]).await?,
        SealedKind::ApplicationUser => {
            transaction.execute(APPLICATION_USER, &[tenant, name, part, sealed, hash]).await?
        }
        SealedKind::SecondFactor => transaction.execute(SECOND_FACTOR, &[tenant, name, sealed]).await?,
    };
    Ok(())
}
