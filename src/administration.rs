//! What an operator does beside the API: the first start, the commands `tenant` and `user`, and those of [`applications`] and of
//! [`tokens`].

pub mod applications;
pub mod tokens;

use std::fmt;
use std::io::{self, IsTerminal, Read};

use platform_actors::model::application::{self, NewApplication, STANDARD};
use platform_actors::model::id::{ApplicationId, IdGenerator, TenantId};
use platform_actors::model::role::{self, Role};
use platform_actors::model::tenant::{MANAGEMENT, NewTenant, parse_domain};
use platform_actors::model::user::{User, parse_password, parse_user_name};
use platform_actors::store::{self, Database};
use platform_actors::{Error, Result};

use crate::auth::password::{self, SecretKey};
use crate::cli::{TenantCreate, UserCreate, UserPasswd};
use crate::config::{Password, Settings};

/// A user with the password to tell, when the server made it.
#[derive(Debug)]
pub struct NewUser {
    /// `tenant/user`.
    pub name: String,
    /// The password, unless the operator chose it and so knows it.
    pub generated_password: Option<String>,
}

/// What a command prints: the name, and the password if there is one to tell.
impl fmt::Display for NewUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.generated_password {
            Some(password) => write!(f, "{} {password}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Creates tenant `management` with `admin` and `devicebootstrap`, and the default tenant with `admin` (N-09), and the standard
/// applications (W-16). What exists stays as it is; tenants from before there were groups get theirs (U-10).
///
/// Each new user is told of at once: passwords are stored hashed, so one that is not told before the next thing goes wrong is lost.
///
/// # Errors
/// `Unavailable` or `Database`; `Invalid` when a user cannot be told of.
pub async fn first_start(
    database: &Database,
    key: &SecretKey,
    settings: &Settings,
    tell: &mut dyn FnMut(NewUser) -> io::Result<()>,
) -> Result<()> {
    store::groups::ensure_default_groups(database).await?;
    let (admin_password, bootstrap_password) =
        (settings.admin_password.as_ref(), settings.bootstrap_password.as_ref());
    for (tenant, user, rights, password) in [
        (MANAGEMENT, "admin", Rights::Administrator, admin_password),
        (MANAGEMENT, "devicebootstrap", Rights::Bootstrap, bootstrap_password),
        (&*settings.default_tenant, "admin", Rights::Administrator, admin_password),
    ] {
        let id = TenantId::parse(tenant)?;
        let new = NewTenant::of_installation(id.clone(), format!("{tenant}.localhost"), "-".into());
        ignore_duplicate(store::tenants::insert_tenant(database, &new).await)?;
        if store::users::find_user(database, &id, user).await?.is_none() {
            let secret = Secret::choose_or_generate(password);
            match insert_user(database, key, (&id, user), rights, &secret).await {
                // Another server was quicker and tells its password.
                Err(Error::Duplicate { .. }) => continue,
                inserted => inserted?,
            }
            let new = NewUser { name: format!("{tenant}/{user}"), generated_password: secret.generated() };
            tell(new).map_err(|e| {
                Error::Invalid(format!("the password of {tenant}/{user} cannot be told: {e}"))
            })?;
        }
    }
    make_standard_applications(database, key).await
}

/// Makes the applications of tenant `management` that every deployment starts with, once: those that were deleted or renamed
/// stay so (W-16). Nobody has chosen their keys, so these are drawn.
async fn make_standard_applications(database: &Database, key: &SecretKey) -> Result<()> {
    if store::standard_applications::were_made(database).await? {
        return Ok(());
    }
    let (ids, owner) =
        (IdGenerator::new(database.draw_process_number().await?), TenantId::parse(MANAGEMENT)?);
    let made = STANDARD.into_iter().map(|standard| {
        let (id, secret) =
            (ApplicationId::numbered(ids.next()), application::Secret::new(password::generate()));
        let new = NewApplication::standard(standard, id, owner.clone(), secret);
        let secrets = key.store_application_secrets(&new);
        (new.application, secrets)
    });
    store::standard_applications::make(database, &made.collect::<Vec<_>>()).await
}

/// `platform tenant create`: a tenant with its first user, a member of group `admins`.
///
/// # Errors
/// `Duplicate` for a known id or domain, `Invalid` for values that are not allowed.
pub async fn create_tenant(database: &Database, key: &SecretKey, tenant: &TenantCreate) -> Result<NewUser> {
    let id = TenantId::parse(&tenant.id)?;
    let secret = Secret::from_argument(tenant.admin_password.as_ref())?;
    let new = NewTenant::of_installation(id.clone(), parse_domain(&tenant.domain)?, tenant.company.clone());
    store::tenants::insert_tenant(database, &new).await?;
    insert_user(database, key, (&id, &tenant.admin_user), Rights::Administrator, &secret).await?;
    Ok(NewUser { name: format!("{id}/{}", tenant.admin_user), generated_password: secret.generated() })
}

/// `platform user create`: a user with the given roles, held directly, and the two every user has (U-05).
///
/// # Errors
/// `Duplicate` for a known name, `NotFound` for an unknown tenant, `Invalid` for values that are not allowed.
pub async fn create_user(database: &Database, key: &SecretKey, user: &UserCreate) -> Result<NewUser> {
    let id = TenantId::parse(&user.tenant)?;
    let roles = user.roles.iter().map(|role| Role::assignable(role)).collect::<Result<Vec<_>>>()?;
    let secret = Secret::from_argument(user.password.as_ref())?;
    insert_user(database, key, (&id, &user.name), Rights::Roles(&roles), &secret).await?;
    Ok(NewUser { name: format!("{id}/{}", user.name), generated_password: secret.generated() })
}

/// `platform user passwd`: a new password; running servers drop what they remember of the user and end its sessions.
///
/// # Errors
/// `NotFound` for an unknown user.
pub async fn change_password(database: &Database, key: &SecretKey, user: &UserPasswd) -> Result<NewUser> {
    let id = TenantId::parse(&user.tenant)?;
    let secret = Secret::from_argument(user.password.as_ref())?;
    store::user_changes::update_password(database, &id, &user.name, &secret.hash(key)).await?;
    Ok(NewUser { name: format!("{id}/{}", user.name), generated_password: secret.generated() })
}

/// What a new user may do.
enum Rights<'a> {
    /// As a member of group `admins`.
    Administrator,
    /// Collecting device credentials, and nothing else (N-09).
    Bootstrap,
    /// By roles held directly.
    Roles(&'a [Role]),
}

async fn insert_user(
    database: &Database,
    key: &SecretKey,
    (tenant, name): (&TenantId, &str),
    rights: Rights<'_>,
    secret: &Secret,
) -> Result<()> {
    let mut user = User::new(tenant, parse_user_name(name)?);
    let hash = secret.hash(key);
    match rights {
        Rights::Administrator => {
            return store::user_changes::insert_administrator(database, &user, &hash).await;
        }
        Rights::Bootstrap => user.roles = [role::DEVICE_BOOTSTRAP].into_iter().collect(),
        Rights::Roles(roles) => {
            user.roles = roles.iter().fold(user.roles, |held, role| held.with(&role.name));
        }
    }
    store::user_changes::insert_user(database, &user, Some(&hash)).await.map(drop)
}

fn ignore_duplicate(outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(Error::Duplicate { .. }) => Ok(()),
        other => other,
    }
}

/// A password and where it comes from, which decides how it is hashed (U-16).
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

    /// From the argument, else from a pipe, else generated.
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
