//! The operator's commands beside the API: the first start, the commands `tenant` and `user`, and those of
//! [`applications`] and of [`tokens`].

pub mod applications;
pub mod in_force;
pub mod secrets;
pub mod servers;
pub mod tokens;

use std::fmt;
use std::io::{self, IsTerminal, Read};

use platform_front::config::{Password, Settings};
use platform_front::secrets::password::{self, SecretKey};
use platform_model::applications::application::{self, NewApplication, STANDARD};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ApplicationId, MANAGEMENT, TenantId};
use platform_model::role::{self, Role};
use platform_model::tenancy::tenant::{NewTenant, parse_domain};
use platform_model::users::user::{Administration, User, parse_password, parse_user_name};
use platform_store::{self, Database};

use crate::cli::{TenantCreate, UserCreate, UserPasswd};

/// A created user, with its password if the server generated it.
#[derive(Debug)]
pub struct NewUser {
    /// `tenant/user`.
    pub name: String,
    /// The generated password; `None` if the operator chose it.
    pub generated_password: Option<String>,
}

/// The output of a command: the name, and the password if it was generated.
impl fmt::Display for NewUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.generated_password {
            Some(password) => write!(f, "{} {password}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Creates tenant `management` with `admin` and `devicebootstrap`, the default tenant with `admin` (N-09), and the
/// standard applications (W-16). Existing objects do not change; tenants from before groups existed get the default
/// groups (U-10).
///
/// Each new user is reported at once: only hashes are stored, so a password that is not printed before a
/// later step fails would be lost.
///
/// # Errors
/// `Unavailable` or `Database`; `Invalid` when a user cannot be reported.
pub async fn first_start(
    database: &Database,
    key: &SecretKey,
    settings: &Settings,
    report: &mut dyn FnMut(NewUser) -> io::Result<()>,
) -> Result<()> {
    platform_store::users::groups::ensure_default_groups(database).await?;
    let (admin_password, bootstrap_password) =
        (settings.admin_password.as_ref(), settings.bootstrap_password.as_ref());
    for (tenant, user, rights, password) in [
        (MANAGEMENT, "admin", Rights::Administrator, admin_password),
        (MANAGEMENT, "devicebootstrap", Rights::Bootstrap, bootstrap_password),
        (&*settings.default_tenant, "admin", Rights::Administrator, admin_password),
    ] {
        let id = TenantId::parse(tenant)?;
        ensure_tenant(database, &id).await?;
        if platform_store::users::find_user(database, &id, user).await?.is_none() {
            let secret = Secret::choose_or_generate(password);
            match insert_user(database, key, None, (&id, user), rights, &secret).await {
                // Another server created the user first and reports its password.
                Err(Error::Duplicate { .. }) => continue,
                inserted => inserted?,
            }
            let new = NewUser { name: format!("{tenant}/{user}"), generated_password: secret.generated() };
            report(new).map_err(|e| {
                Error::Invalid(format!("the password of {tenant}/{user} cannot be printed: {e}"))
            })?;
        }
    }
    make_standard_applications(database, key).await
}

/// Creates a tenant of the installation, unless it exists. Another server may create it at the same time.
async fn ensure_tenant(database: &Database, id: &TenantId) -> Result<()> {
    match platform_store::users::ensure_tenant(database, id).await {
        Err(Error::NotFound { .. }) => {
            let new = NewTenant::of_installation(id.clone(), format!("{id}.localhost"), "-".into());
            ignore_duplicate(platform_store::tenancy::tenants::insert_tenant(database, None, &new).await)
        }
        exists => exists,
    }
}

/// Creates the applications of tenant `management` that every deployment starts with, once: applications that
/// were deleted or renamed are not created again (W-16). Their keys are generated.
async fn make_standard_applications(database: &Database, key: &SecretKey) -> Result<()> {
    if platform_store::applications::standard::were_made(database).await? {
        return Ok(());
    }
    let (ids, owner) = (database.membership().ids(), TenantId::parse(MANAGEMENT)?);
    let made = STANDARD.into_iter().map(|(name, kind)| {
        let (id, secret) =
            (ApplicationId::numbered(ids.next()?), application::Secret::new(password::generate()));
        let new = NewApplication::standard(name, kind, id, owner.clone(), secret);
        let secrets = key.store_application_secrets(&new);
        Ok((new.application, secrets))
    });
    platform_store::applications::standard::make(database, &made.collect::<Result<Vec<_>>>()?).await
}

/// `platform admin tenant create`: creates a tenant with its first user, a member of group `admins`.
///
/// # Errors
/// `Duplicate` for a known id or domain, `Invalid` for values that are not allowed.
pub async fn create_tenant(database: &Database, key: &SecretKey, tenant: &TenantCreate) -> Result<NewUser> {
    let id = TenantId::parse(&tenant.id)?;
    let secret = Secret::from_argument(tenant.admin_password.as_ref())?;
    let new = NewTenant::of_installation(id.clone(), parse_domain(&tenant.domain)?, tenant.company.clone());
    let by = by_operator(database, &TenantId::parse(MANAGEMENT)?).await?;
    platform_store::tenancy::tenants::insert_tenant(database, Some(&by), &new).await?;
    let (by, user) = (by_operator(database, &id).await?, (&id, &*tenant.admin_user));
    insert_user(database, key, Some(&by), user, Rights::Administrator, &secret).await?;
    Ok(NewUser { name: format!("{id}/{}", tenant.admin_user), generated_password: secret.generated() })
}

/// `platform admin user create`: creates a user with the given roles, held directly, and the two roles every user
/// has (U-05).
///
/// # Errors
/// `Duplicate` for a known name, `NotFound` for an unknown tenant, `Invalid` for values that are not allowed.
pub async fn create_user(database: &Database, key: &SecretKey, user: &UserCreate) -> Result<NewUser> {
    let id = TenantId::parse(&user.tenant)?;
    let roles = user.roles.iter().map(|role| Role::assignable(role)).collect::<Result<Vec<_>>>()?;
    let secret = Secret::from_argument(user.password.as_ref())?;
    let by = by_operator(database, &id).await?;
    insert_user(database, key, Some(&by), (&id, &user.name), Rights::Roles(&roles), &secret).await?;
    Ok(NewUser { name: format!("{id}/{}", user.name), generated_password: secret.generated() })
}

/// `platform admin user passwd`: sets a new password, and removes the second factor if that is lost, too. Running
/// servers drop cached credentials of the user and end its sessions.
///
/// # Errors
/// `NotFound` for an unknown user.
pub async fn change_password(database: &Database, key: &SecretKey, user: &UserPasswd) -> Result<NewUser> {
    let id = TenantId::parse(&user.tenant)?;
    let secret = Secret::from_argument(user.password.as_ref())?;
    let by = by_operator(database, &id).await?;
    platform_store::users::changes::update_password(database, &by, &user.name, &secret.hash(key)).await?;
    if user.remove_second_factor {
        remove_second_factor(database, &id, &user.name).await?;
    }
    Ok(NewUser { name: format!("{id}/{}", user.name), generated_password: secret.generated() })
}

/// Removes the second factor of a user, if it has one.
async fn remove_second_factor(database: &Database, tenant: &TenantId, user: &str) -> Result<()> {
    let by = by_operator(database, tenant).await?;
    match platform_store::users::second_factors::delete_second_factor(database, &by, user).await {
        Err(Error::NotFound { noun: Noun::SecondFactor, .. }) => Ok(()),
        other => other,
    }
}

/// Gives an administrator of a tenant a generated password; creates the user if it does not exist.
///
/// # Errors
/// `NotFound` for an unknown tenant, `Invalid` for values that are not allowed.
pub(crate) async fn ensure_administrator(
    database: &Database,
    key: &SecretKey,
    tenant: &str,
    name: &str,
    generated: &str,
) -> Result<()> {
    let (id, secret) = (TenantId::parse(tenant)?, Secret::Generated(generated.to_owned()));
    let by = by_operator(database, &id).await?;
    if platform_store::users::find_user(database, &id, name).await?.is_some() {
        return platform_store::users::changes::update_password(database, &by, name, &secret.hash(key)).await;
    }
    insert_user(database, key, Some(&by), (&id, name), Rights::Administrator, &secret).await
}

/// Returns the authorization of the operator in a tenant, with the id of an audit record (Y-07).
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn by_operator(database: &Database, tenant: &TenantId) -> Result<Administration> {
    let id = platform_store::data::audit_records::next_operators_id(database).await?;
    Ok(Administration::of_operator(tenant.clone(), id))
}

/// The rights of a new user.
enum Rights<'a> {
    /// The rights of a member of group `admins`.
    Administrator,
    /// The right to collect device credentials, and no other (N-09).
    Bootstrap,
    /// Roles held directly.
    Roles(&'a [Role]),
}

async fn insert_user(
    database: &Database,
    key: &SecretKey,
    by: Option<&Administration>,
    (tenant, name): (&TenantId, &str),
    rights: Rights<'_>,
    secret: &Secret,
) -> Result<()> {
    let mut user = User::new(tenant, parse_user_name(name)?);
    let hash = secret.hash(key);
    match rights {
        Rights::Administrator => {
            return platform_store::users::changes::insert_administrator(database, by, &user, &hash).await;
        }
        Rights::Bootstrap => user.roles = [role::DEVICE_BOOTSTRAP].into_iter().collect(),
        Rights::Roles(roles) => {
            user.roles = roles.iter().fold(user.roles, |held, role| held.with(&role.name));
        }
    }
    platform_store::users::changes::insert_user(database, by, &user, Some(&hash)).await.map(drop)
}

fn ignore_duplicate(outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(Error::Duplicate { .. }) => Ok(()),
        other => other,
    }
}

/// A password with its origin, which determines how it is hashed (U-16).
enum Secret {
    Chosen(String),
    Generated(String),
}

impl Secret {
    fn choose_or_generate(chosen: Option<&Password>) -> Self {
        match chosen {
            Some(password) => Self::Chosen(password.as_str().to_owned()),
            None => Self::Generated(password::generate()),
        }
    }

    /// Returns the password from the argument, or else from standard input if that is a pipe, or else
    /// generates one.
    fn from_argument(argument: Option<&Password>) -> Result<Self> {
        if argument.is_some() || io::stdin().is_terminal() {
            return Ok(Self::choose_or_generate(argument));
        }
        let mut piped = String::new();
        let read = io::stdin().take(1024).read_to_string(&mut piped);
        read.map_err(|e| Error::Invalid(format!("the password cannot be read from standard input: {e}")))?;
        match piped.trim_end_matches(['\r', '\n']) {
            "" => Ok(Self::choose_or_generate(None)),
            password => Ok(Self::Chosen(parse_password(password)?.to_owned())),
        }
    }

    fn hash(&self, key: &SecretKey) -> String {
        match self {
            Self::Chosen(password) => password::hash_chosen(password),
            Self::Generated(secret) => key.hash(secret),
        }
    }

    fn generated(self) -> Option<String> {
        match self {
            Self::Chosen(_) => None,
            Self::Generated(secret) => Some(secret),
        }
    }
}
