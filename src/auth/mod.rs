//! Who asks: from an `Authorization` header to a [`Caller`] (document 1, Authentication; C-01 to C-03).

mod basic;
mod domains;
pub mod password;
pub mod sealing;

use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix::{Addr, SyncArbiter};
use actix_web::http::header;
use actix_web::{FromRequest, HttpRequest, dev};
use futures_util::future::{Either, LocalBoxFuture};
use platform_actors::model::access::{Api, Authority, DevicePermissions, Permission};
use platform_actors::model::id::TenantId;
use platform_actors::model::origin::Origin;
use platform_actors::model::role::{self, RoleSet};
use platform_actors::model::tenant::TenantStatus;
use platform_actors::store::{self, Database};
use platform_actors::{Changed, Error};
use quick_cache::sync::Cache;
use ring::hmac;

use basic::Credentials;
use domains::Domains;
use password::{ChosenPasswords, HashChosen, SecretKey, VerifyChosen};

use crate::http::error::{ApiError, Result};
use crate::http::{Wire, authority, edge};

/// A user who proved to be one.
#[derive(Debug, Clone)]
pub struct Caller(Arc<Identity>);

/// What is known of a caller.
#[derive(Debug)]
pub struct Identity {
    /// Whose user it is.
    pub tenant: TenantId,
    /// The user's name.
    pub user: Arc<str>,
    /// What the user may do everywhere: roles held directly and by groups.
    pub roles: RoleSet,
    /// What the user may do to single devices, directly and by groups (U-12).
    pub permissions: DevicePermissions,
}

impl std::ops::Deref for Caller {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.0
    }
}

impl Caller {
    /// # Errors
    /// `Forbidden` without the role.
    pub fn require(&self, role: &str) -> Result<()> {
        match self.roles.has(role) {
            true => Ok(()),
            false => Err(ApiError::forbidden()),
        }
    }

    /// By what right the caller reads or writes: by role everywhere, else what is the caller's own and what device
    /// permissions name (I-06, U-12).
    pub fn authority(&self, role: &str, api: Api, permission: Permission) -> Authority {
        match self.roles.has(role) {
            true => Authority::Role,
            false => Authority::Limited(self.permissions.grants(api, permission)),
        }
    }

    /// The bootstrap user has endpoints of its own and may do nothing else (N-09).
    fn beyond_bootstrap(self) -> Result<Self> {
        match self.roles.has(role::DEVICE_BOOTSTRAP) {
            true => Err(ApiError::forbidden()),
            false => Ok(self),
        }
    }

    /// What travels with a write of this caller.
    ///
    /// # Errors
    /// `Invalid` for an unknown processing mode.
    pub fn origin(&self, wire: &Wire, role: &str, api: Api) -> Result<Origin> {
        Ok(Origin {
            user: self.user.clone(),
            mode: wire.mode()?,
            authority: self.authority(role, api, Permission::Admin),
            links: wire.links(),
        })
    }
}

/// Authentication comes before everything else a request could be refused for (E-04).
impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Either<Ready<Result<Self>>, LocalBoxFuture<'static, Result<Self>>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        let Some(header) = request.headers().get(header::AUTHORIZATION) else {
            return Either::Left(ready(Err(ApiError::Unauthorized)));
        };
        let host = authority(request).unwrap_or_default();
        if let Some(caller) = edge(request).authenticator.remembered(header.as_bytes(), host) {
            return Either::Left(ready(caller.beyond_bootstrap()));
        }
        let (request, header) = (request.clone(), header.clone());
        Either::Right(Box::pin(async move {
            let host = authority(&request).unwrap_or_default();
            edge(&request).authenticator.authenticate(header.as_bytes(), host).await
        }))
    }
}

/// Whoever proved to be a user, the bootstrap user too: for what is open to every user (Z-02).
#[derive(Debug, Clone)]
pub struct AnyCaller(pub Caller);

impl FromRequest for AnyCaller {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let header = request.headers().get(header::AUTHORIZATION).ok_or(ApiError::Unauthorized)?;
            let host = authority(&request).unwrap_or_default();
            edge(&request).authenticator.identify(header.as_bytes(), host).await.map(Self)
        })
    }
}

/// How long verified credentials are remembered; a change of the user drops them at once.
const REMEMBERED: Duration = Duration::from_secs(300);
/// How many verified credentials are remembered: a fleet that reconnects finds its own.
const REMEMBERED_CALLERS: usize = 100_000;

/// Verifies credentials, and remembers those it verified.
///
/// The memory is keyed by an HMAC of the header under a key of this process, never by the credentials. Passwords that people chose
/// cost Argon2id, on threads of their own, so a wrong one costs nobody else latency; failures are not remembered
/// (U-16).
pub struct Authenticator {
    database: Database,
    secret_key: Arc<SecretKey>,
    domains: Domains,
    cache_key: hmac::Key,
    remembered: Cache<[u8; 32], (Caller, Instant)>,
    /// Rises with each change of a user, so that a verification under way does not bring old knowledge back.
    changes: AtomicU64,
    chosen_passwords: Addr<ChosenPasswords>,
}

impl Authenticator {
    /// `default_tenant` is served where neither user name nor host name says which.
    pub fn new(database: Database, secret_key: Arc<SecretKey>, default_tenant: TenantId) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let random = ring::rand::SystemRandom::new();
        Self {
            domains: Domains::new(database.clone(), default_tenant),
            database,
            secret_key,
            cache_key: hmac::Key::generate(hmac::HMAC_SHA256, &random)
                .expect("the system's random source works"),
            remembered: Cache::new(REMEMBERED_CALLERS),
            changes: AtomicU64::new(0),
            chosen_passwords: SyncArbiter::start((cores / 2).max(1), || ChosenPasswords),
        }
    }

    /// The caller of an `Authorization` header that was verified a short while ago.
    fn remembered(&self, header: &[u8], host: &str) -> Option<Caller> {
        let (caller, until) = self.remembered.get(&self.key(header, host))?;
        (until > Instant::now()).then_some(caller)
    }

    /// Finds out who asks, by an `Authorization` header. `host` is the address the request was sent to.
    ///
    /// # Errors
    /// `Unauthorized` for wrong credentials, `Forbidden` for a suspended tenant, for a bare user name on a host that is
    /// named like a tenant's id (C-01), and for the bootstrap user (N-09).
    pub async fn authenticate(&self, header: &[u8], host: &str) -> Result<Caller> {
        self.identify(header, host).await?.beyond_bootstrap()
    }

    /// As [`Authenticator::authenticate`], for the bootstrap user too. Of many requests with one header, one verifies and
    /// the others wait for it.
    async fn identify(&self, header: &[u8], host: &str) -> Result<Caller> {
        let key = self.key(header, host);
        let guard = loop {
            match self.remembered.get_value_or_guard_async(&key).await {
                Ok((caller, until)) if until > Instant::now() => return Ok(caller),
                Ok(_) => drop(self.remembered.remove(&key)),
                Err(guard) => break guard,
            }
        };
        let changes = self.changes.load(Ordering::Acquire);
        let caller = self.verify(header, host).await?;
        if self.changes.load(Ordering::Acquire) == changes {
            // Refused when the user was forgotten meanwhile; then the next request verifies again.
            drop(guard.insert((caller.clone(), Instant::now() + REMEMBERED)));
        }
        Ok(caller)
    }

    /// Hashes a password that a person chose, on the threads of those (U-16).
    ///
    /// # Errors
    /// `Unavailable` when the server is stopping.
    pub async fn hash_chosen(&self, password: String) -> Result<String> {
        Ok(self.chosen_passwords.send(HashChosen { password }).await.map_err(Error::from)?)
    }

    /// Forgets whose password or rights changed. A tenant that changed may be found by another host, too.
    pub fn forget(&self, changed: Changed<'_>) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        match changed {
            Changed::User(tenant, user) => {
                self.remembered.retain(|_, (caller, _)| caller.tenant != *tenant || &*caller.user != user);
            }
            // What a token is verified with is an option; other credentials are only verified once more.
            Changed::Options(tenant) => {
                self.remembered.retain(|_, (caller, _)| caller.tenant != *tenant);
            }
            Changed::Tenant(tenant) => {
                self.domains.forget();
                self.remembered.retain(|_, (caller, _)| caller.tenant != *tenant);
            }
            Changed::Anything => {
                self.domains.forget();
                self.remembered.clear();
            }
        }
    }

    /// The tenant whose rules for browsers hold on a host: the one it is the domain of, else the default tenant (C-16).
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn tenant_of_host(&self, host: &str) -> Result<TenantId> {
        self.domains.tenant_served_at(host).await
    }

    async fn verify(&self, header: &[u8], host: &str) -> Result<Caller> {
        let credentials = Credentials::from_header(header).ok_or(ApiError::Unauthorized)?;
        let tenant = match &credentials.tenant {
            Some(tenant) => TenantId::parse(tenant).map_err(|_| ApiError::Unauthorized)?,
            None => self.domains.tenant_of(host).await?,
        };
        let found = store::users::find_user(&self.database, &tenant, &credentials.user).await?;
        let (user, status) = found.ok_or(ApiError::Unauthorized)?;
        let password = credentials.password;
        let proven = match user.password_hash {
            Some(hash) if password::is_chosen(&hash) => {
                self.chosen_passwords.send(VerifyChosen { password, hash }).await.map_err(Error::from)?
            }
            Some(hash) => self.secret_key.verifies(&password, &hash),
            None => false,
        };
        match (proven && user.enabled, status) {
            (false, _) => Err(ApiError::Unauthorized),
            (true, TenantStatus::Suspended) => Err(ApiError::forbidden_because("the tenant is suspended")),
            (true, TenantStatus::Active) => Ok(Caller(Arc::new(Identity {
                tenant: user.tenant,
                user: user.name,
                roles: user.roles,
                permissions: user.permissions,
            }))),
        }
    }

    fn key(&self, header: &[u8], host: &str) -> [u8; 32] {
        let mut mac = hmac::Context::with_key(&self.cache_key);
        mac.update(&(header.len() as u64).to_le_bytes());
        mac.update(header);
        mac.update(host.as_bytes());
        mac.sign().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}
