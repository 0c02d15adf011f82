//! `platform admin secret`: another secret key for a deployment, because the old one may be known to others, or because
//! it is lost.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use platform_front::config::StoreSettings;
use platform_front::secrets::foreign_keys::FOREIGN;
use platform_front::secrets::password::{self, KEYED, SecretKey};
use platform_front::secrets::sealing::{
    place_of_application_key, place_of_application_user, place_of_authority_key, place_of_device_credentials,
    place_of_resources_password, place_of_second_factor,
};
use platform_front::secrets::secret_key::{self, FINGERPRINT, HASHING_KEY, promote, successor_file};
use platform_model::applications::application::UserPurpose;
use platform_model::id::{ApplicationId, TenantId};
use platform_store::Database;
use platform_store::schema::sealed_texts::{
    Lost, OldTexts, Replacement, SealedKind, SealedText, count_lost, replace_key,
};

use crate::cli::{SecretForget, SecretTask};

/// An error that ends the command and is printed for the operator.
type Failure = Box<dyn std::error::Error>;

/// Performs a command `platform admin secret` and returns the message for the operator.
///
/// # Errors
/// A server runs, the key cannot be used or is not lost, consent is refused, or the database cannot be used.
pub async fn perform(
    store: &StoreSettings,
    database: &Database,
    task: &SecretTask,
) -> Result<String, Failure> {
    if database.schema_version().await?.is_none() {
        return Err("no server has used this database, so there is no key to replace".into());
    }
    database.migrate().await?;
    match task {
        SecretTask::Rotate => Box::pin(rotate(store, database)).await,
        SecretTask::Forget(arguments) => forget(store, database, arguments).await,
    }
}

/// Seals everything under a new key. Devices, people and clients of access tokens keep their secrets.
async fn rotate(store: &StoreSettings, database: &Database) -> Result<String, Failure> {
    let place = store.secret_key_file();
    let old = secret_key::existing(store, database).await?;
    let new = create_successor(&place)?;
    let (hashing, fingerprint) = (old.seal_hashing_key(&new), new.fingerprint());
    let foreign = old.seal_foreign(&new);
    let mut facts = vec![(FINGERPRINT, Some(fingerprint.as_str())), (HASHING_KEY, Some(hashing.as_str()))];
    facts.extend(foreign.iter().map(|(name, sealed)| (name.as_str(), Some(sealed.as_str()))));
    let replace = |text: &SealedText| {
        let place = place_of(text);
        let opened = old.sealing().open(place.each_ref(), &text.sealed)?;
        Some(Replacement { sealed: new.sealing().seal(place, &opened), hash: None })
    };
    let (replaced, stayed) = replace_key(database, &facts, OldTexts::Kept, replace).await?;
    completed(&place)?;
    let mut told = format!("{} has a new key; {replaced} secrets are sealed under it", place.display());
    if stayed > 0 {
        write!(told, ", {stayed} could not be opened with the old key either")?;
    }
    Ok(
        told + "\ncopy the file to the other machines of the deployment, then start the servers; make a new backup"
    )
}

/// Creates a new key without the old one, and drops what only that could open.
async fn forget(
    store: &StoreSettings,
    database: &Database,
    arguments: &SecretForget,
) -> Result<String, Failure> {
    let place = store.secret_key_file();
    match secret_key::existing(store, database).await {
        Ok(_) => {
            return Err(format!(
                "{} has the key of this database, so nothing is lost; `platform admin secret rotate` replaces it",
                place.display()
            )
            .into());
        }
        Err(_) if place.try_exists()? => {
            return Err(format!(
                "{} is not the key of this database; move it away first, it may be that of another",
                place.display()
            )
            .into());
        }
        Err(_) => {}
    }
    let lost = count_lost(database, KEYED).await?;
    if !arguments.yes {
        consent(&lost)?;
    }
    let new = create_successor(&place)?;
    let fingerprint = new.fingerprint();
    let foreign = database.list_agreed(FOREIGN).await?;
    let mut facts = vec![(FINGERPRINT, Some(fingerprint.as_str())), (HASHING_KEY, None)];
    facts.extend(foreign.iter().map(|(name, _)| (name.as_str(), None)));
    replace_key(database, &facts, OldTexts::Lost, |text| redrawn(&new, text)).await?;
    completed(&place)?;
    Ok(format!("{} has a new key\n{}", place.display(), described(&lost)))
}

/// Creates the file of the new key beside the old one. That of a rotation that was killed before it changed the
/// database is replaced.
fn create_successor(place: &Path) -> Result<SecretKey, Failure> {
    let file = successor_file(place);
    let refused = |error: io::Error| format!("{}: {error}", file.display());
    if file.try_exists().map_err(refused)? {
        fs::remove_file(&file).map_err(refused)?;
    }
    Ok(SecretKey::create(&file).map_err(refused)?)
}

fn completed(place: &Path) -> Result<(), Failure> {
    let told = |error: io::Error| {
        let new = successor_file(place);
        format!(
            "the database has the new key, but {} cannot be renamed to {}: {error}; the next start tries it again",
            new.display(),
            place.display()
        )
    };
    Ok(promote(place).map_err(told)?)
}

/// Returns the place that a text is bound to.
pub(crate) fn place_of(text: &SealedText) -> [String; 3] {
    let SealedText { kind, tenant, name, part, .. } = text;
    match kind {
        SealedKind::Option => [tenant.clone(), name.clone(), part.clone()],
        SealedKind::DeviceCredentials => place_of_device_credentials(tenant, name),
        SealedKind::ApplicationKey => place_of_application_key(name),
        SealedKind::ResourcesPassword => place_of_resources_password(name),
        SealedKind::ApplicationUser => place_of_application_user(tenant, name, part),
        SealedKind::SecondFactor => place_of_second_factor(tenant, name),
        SealedKind::AuthorityKey => place_of_authority_key(tenant, name),
    }
}

/// Returns a new secret in the place of one that is lost.
fn redrawn(new: &SecretKey, text: &SealedText) -> Option<Replacement> {
    match text.kind {
        SealedKind::ApplicationKey => {
            let key =
                new.store_application_key(ApplicationId::parse(&text.name).ok()?, &password::generate());
            Some(Replacement { sealed: key.sealed, hash: Some(key.hash) })
        }
        SealedKind::ApplicationUser => {
            let (tenant, purpose) = (TenantId::parse(&text.tenant).ok()?, UserPurpose::parse(&text.part)?);
            let secret = new.draw_user_secret(&tenant, ApplicationId::parse(&text.name).ok()?, purpose);
            Some(Replacement { sealed: secret.sealed, hash: Some(secret.hash) })
        }
        _ => None,
    }
}

/// Returns what is lost with the key, and the remedies, one line each.
fn described(lost: &Lost) -> String {
    let lines = [
        (lost.options, "secret options are deleted; tenants must set them again"),
        (lost.resources_passwords, "passwords of external resources are dropped; set them again"),
        (lost.device_credentials, "registrations are deleted; their devices must register again"),
        (lost.devices, "devices with generated passwords cannot log in; they must register again"),
        (
            lost.users,
            "users with generated passwords cannot log in; `platform admin user passwd` gives new ones",
        ),
        (lost.second_factors, "second factors are removed; their users must set them up again"),
        (lost.token_clients, "clients of access tokens have no valid secret; delete and create them again"),
        (lost.authorities, "certificate authorities issue nothing any more; tenants must make new ones"),
        (lost.applications, "applications get new keys"),
        (lost.application_users, "users of microservices get new passwords; restart the microservices"),
    ];
    let lines: Vec<_> = lines
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("  {count} {what}"))
        .collect();
    lines.join("\n")
}

/// Asks the operator on a terminal.
///
/// # Errors
/// Consent is refused, or there is no terminal.
fn consent(lost: &Lost) -> Result<(), Failure> {
    let mut out = io::stderr();
    writeln!(out, "Without the old key\n{}", described(lost))?;
    if !io::stdin().is_terminal() {
        return Err("nobody can be asked; --yes says to go on without the old key".into());
    }
    write!(out, "There is no way back. Type \"forget\" to go on: ")?;
    out.flush()?;
    let mut typed = String::new();
    io::stdin().lock().read_line(&mut typed)?;
    if typed.trim() == "forget" { Ok(()) } else { Err("nothing was changed".into()) }
}
