//! Authentication: from an `Authorization` header to a [`Caller`] (docs/rules.md#tenants-and-credentials;
//! C-01 to C-04).

pub mod access_token;
mod administration;
mod application_keys;
mod basic;
mod caller;
mod certificate;
mod changes;
pub(crate) mod channels;
pub mod cors;
mod domains;
mod extraction;
mod forgetting;
mod generated_secrets;
mod hashing;
mod identity_provider;
mod jwt;
mod lanes;
mod limits_token;
mod objects;
mod rate_limit;
mod rsa;
mod second_factor;
mod throttle;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform_front::config::Settings;
use platform_front::secrets::password::{self, SecretKey};
use platform_front::stop::Stop;
use platform_model::id::TenantId;
use platform_model::limits::Limits;
use platform_model::tenancy::tenant::TenantStatus;
use platform_model::users::token_client::TokenHash;
use platform_model::users::user::Account;
use platform_store::realtime::announcements::tell_guesses;
use platform_store::{self, Database};
use quick_cache::sync::Cache;
use ring::hmac;

use access_token::GatewayCheck;
use application_keys::ApplicationKeys;
use basic::Credentials;
use changes::{Changes, TenantBy, Validity};
use domains::Domains;
use generated_secrets::ForeignKeys;
use hashing::HashingThreads;
use identity_provider::IdentityProviders;
pub(crate) use identity_provider::{Attempt, Refusal};
use jwt::{PublicKeys, is_bearer};
use throttle::Throttle;

use caller::Proof;
pub(crate) use caller::Requester;
pub use caller::{Caller, Identity};
pub(crate) use extraction::code;
pub use extraction::{AnyCaller, CallerHead, Listener, Oneself};
pub use rate_limit::RateLimit;
pub use rsa::check_public_key;
pub use throttle::RequestSource;

use crate::http::error::{ApiError, Result, TokenFlaw};
use crate::http::presented::Presented;

/// The lifetime of cached callers; a change of the user drops them at once.
const REMEMBERED: Duration = Duration::from_secs(300);
/// The number of cached callers, sufficient for a fleet that reconnects.
const REMEMBERED_CALLERS: usize = 100_000;

/// The number of characters from which on a device's password counts as generated.
const MACHINE_SECRET: usize = 16;

/// The keyed hash of a header.
type Key = [u8; 32];

/// The key of a verification in progress: the header, the source if that is being delayed for wrong guesses, and
/// the number of changes at its start.
type Flight = (Key, Option<RequestSource>, u64);

/// The verifier of credentials, with a cache of verified ones.
///
/// The cache is keyed by an HMAC of the header under a key of this process, never by the credentials.
/// Passwords that people chose cost Argon2id; they are verified on separate threads, so a wrong one does not
/// delay other requests. Failures are not cached (U-16), but counted: see [`throttle`].
pub struct Authenticator {
    database: Database,
    secret_key: Arc<SecretKey>,
    foreign_keys: ForeignKeys,
    domains: Domains,
    public_keys: PublicKeys,
    identity_providers: IdentityProviders,
    application_keys: ApplicationKeys,
    cache_key: hmac::Key,
    remembered: Cache<Key, CachedCaller>,
    /// The verifications in progress. The cache has no capacity for results, so only requests that wait at the same
    /// time share one.
    flights: Cache<Flight, Result<Caller>>,
    changes: Changes,
    /// The number of pauses after which everything was forgotten.
    pauses: AtomicU64,
    /// The same number; it is locked while callers are forgotten, so that nobody recalls one meanwhile.
    forgotten: Mutex<u64>,
    throttle: Throttle,
    hashing: HashingThreads,
    /// A hash that no password matches, for accounts without a password.
    unmatched_password_hash: String,
    /// A hash that no secret matches, for unknown clients.
    unmatched_secret_hash: String,
    token_validity: Duration,
    gateway: GatewayCheck,
}

/// A cached caller.
#[derive(Clone)]
struct CachedCaller {
    caller: Caller,
    until: Instant,
    tenant_by: TenantBy,
}

impl Authenticator {
    /// Creates a verifier. `default_tenant` serves requests that name no tenant by user name or host.
    pub fn new(
        database: Database,
        secret_key: Arc<SecretKey>,
        default_tenant: TenantId,
        settings: &Settings,
        limits: &Limits,
        stop: Arc<Stop>,
    ) -> Self {
        let random = ring::rand::SystemRandom::new();
        Self {
            domains: Domains::new(database.clone(), default_tenant, settings.regions.clone()),
            public_keys: PublicKeys::new(database.clone()),
            identity_providers: IdentityProviders::new(
                database.clone(),
                secret_key.clone(),
                settings.module_request_hosts.clone(),
            ),
            application_keys: ApplicationKeys::new(database.clone(), secret_key.clone()),
            database,
            unmatched_secret_hash: secret_key.hash(&password::generate()),
            cache_key: hmac::Key::generate(hmac::HMAC_SHA256, &random)
                .expect("the system's random source works"),
            remembered: Cache::new(REMEMBERED_CALLERS),
            flights: Cache::new(0),
            changes: Changes::default(),
            pauses: AtomicU64::new(0),
            forgotten: Mutex::new(0),
            throttle: Throttle::new(limits, &secret_key),
            hashing: HashingThreads::start(stop),
            unmatched_password_hash: password::unmatched_chosen(),
            token_validity: limits.access_token,
            gateway: if settings.gateway_check { GatewayCheck::On } else { GatewayCheck::Off },
            secret_key,
            foreign_keys: ForeignKeys::default(),
        }
    }

    /// Returns the cached caller of these credentials.
    pub(crate) fn remembered(&self, presented: &Presented<'_>, host: &str) -> Option<Caller> {
        self.recall(&self.key(presented, host))
    }

    fn recall(&self, key: &Key) -> Option<Caller> {
        self.notice_pause();
        let known = self.remembered.get(key)?;
        (known.until > Instant::now()).then_some(known.caller)
    }

    /// Returns the cached name of the application of a key; the inner `None` means that no application has it
    /// (C-05).
    pub(super) fn known_application(&self, key: &str) -> Option<Option<Arc<str>>> {
        self.application_keys.known(key)
    }

    /// Returns the name of the application of a key; `None` when no application has it (C-05).
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn find_application(&self, key: &str) -> Result<Option<Arc<str>>> {
        self.application_keys.find(key).await
    }

    /// Authenticates the caller of an `Authorization` header, with the code of a second factor if the client sent one.
    /// `host` is the host the request was sent to, `source` its origin.
    ///
    /// # Errors
    /// `Unauthorized` for invalid credentials; `SecondFactor` if they do not suffice (C-27); `Forbidden` for a
    /// suspended tenant, for a bare user name on a host named like a tenant's id (C-01), and for the bootstrap user
    /// (N-09); `TooManyRequests` when too many guesses are waiting already.
    pub async fn authenticate(
        &self,
        header: &[u8],
        code: Option<&str>,
        host: &str,
        source: RequestSource,
    ) -> Result<Caller> {
        let caller = self.identify(&Presented::Header(header), host, source).await?;
        self.prove(caller, code, source).await?.beyond_bootstrap()?.complete()
    }

    /// Authenticates as [`Authenticator::authenticate`] does, but also bootstrap users. Of concurrent requests with
    /// the same credentials one verifies, and the others share the outcome, a caller or an error. So a fleet that
    /// shares a wrong password makes one guess instead of thousands.
    pub(super) async fn identify(
        &self,
        presented: &Presented<'_>,
        host: &str,
        source: RequestSource,
    ) -> Result<Caller> {
        let key = self.key(presented, host);
        if let Some(caller) = self.recall(&key) {
            return Ok(caller);
        }
        // A request that is not delayed does not wait for a delayed one, and no request waits for a verification that
        // started before a change.
        let slowed = self.throttle.is_slowed(source).then_some(source);
        match self.flights.get_value_or_guard_async(&(key, slowed, self.changes.now())).await {
            Ok(outcome) => outcome,
            Err(lead) => {
                let outcome = self.verify(&key, presented, host, source).await;
                // If this request is rejected for its source's guesses, or its client disconnects, the guard is
                // dropped, and one of the waiting requests verifies.
                if !matches!(outcome, Err(ApiError::TooManyRequests { .. })) {
                    let _ = lead.insert(outcome.clone());
                }
                outcome
            }
        }
    }

    /// Returns whether nothing has changed about a caller since its verification, as far as this server
    /// knows.
    pub(crate) fn is_current(&self, caller: &Caller) -> bool {
        self.notice_pause();
        caller.remaining() != Some(Duration::ZERO) && self.changes.validity(caller) == Validity::Current
    }

    /// Returns the current state of a caller on an open connection; `None` when user, tenant or key changed
    /// since, or the token expired.
    ///
    /// # Errors
    /// `Unavailable` or `Database` when a change may have been missed and cannot be looked up.
    pub async fn still(&self, caller: &Caller) -> Result<Option<Caller>> {
        self.notice_pause();
        let expired = caller.remaining() == Some(Duration::ZERO);
        match self.changes.validity(caller) {
            Validity::Changed => Ok(None),
            Validity::Current if !expired => Ok(Some(caller.clone())),
            Validity::Current | Validity::Unknown => match self.current_proof(caller.proof).await? {
                Some(proof) => self.load(&caller.tenant, &caller.user, proof).await,
                None => Ok(None),
            },
        }
    }

    /// Returns the current state of a user without credentials: a message without credentials that names a
    /// live session on a socket belongs to its user (B-18a). Returns `None` when user or tenant is deleted or
    /// disabled.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn caller_of(
        &self,
        tenant: &TenantId,
        user: &str,
        expires: Option<Instant>,
    ) -> Result<Option<Caller>> {
        self.load(tenant, user, Proof::ClientId { expires }).await
    }

    async fn load(&self, tenant: &TenantId, user: &str, proof: Proof) -> Result<Option<Caller>> {
        let seen = self.changes.now();
        let found = platform_store::users::find_user(&self.database, tenant, user).await?;
        let Some((user, status)) = found.filter(|(user, _)| user.enabled) else { return Ok(None) };
        let caller = self.admit(user, status, proof, seen).and_then(Caller::beyond_bootstrap);
        Ok(caller.and_then(Caller::complete).ok())
    }

    /// Waits for wrong passwords at this server, and tells the other servers about them.
    ///
    /// # Errors
    /// `Unavailable` or `Database`; then these count at this server alone.
    pub async fn spread_guesses(&self) -> platform_model::error::Result<()> {
        let guesses = self.throttle.told().await;
        tell_guesses(&self.database, guesses).await
    }

    /// Returns the tenant whose rules for browsers apply to a host: the one whose domain it is, or else the
    /// default tenant (C-16).
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn tenant_of_host(&self, host: &str) -> Result<TenantId> {
        self.domains.tenant_served_at(host).await
    }

    /// Returns the tenant that serves requests without credentials (C-01, W-17).
    ///
    /// # Errors
    /// `Forbidden` for a suspended tenant and on a host named by the id of a tenant; `Unavailable` or
    /// `Database`.
    pub async fn tenant_of_visitors(&self, host: &str) -> Result<TenantId> {
        self.domains.tenant_of_visitors(host).await
    }

    /// Returns whether a host is the domain of this tenant.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn is_domain_of(&self, tenant: &TenantId, host: &str) -> Result<bool> {
        self.domains.is_domain_of(tenant, host).await
    }

    async fn verify(
        &self,
        key: &Key,
        presented: &Presented<'_>,
        host: &str,
        source: RequestSource,
    ) -> Result<Caller> {
        let (caller, tenant_by) = match presented {
            Presented::Header(header) => self.verify_header(header, host, source).await?,
            _ if self.demands_tokens() => return Err(self.refusal(TokenFlaw::Invalid)),
            Presented::Certificate(certificate) => {
                (Box::pin(self.verify_certificate(certificate, source)).await?, TenantBy::Credentials)
            }
            Presented::Unreadable => {
                let reason = "the proxy did not send exactly one certificate that can be read";
                return Err(ApiError::refused_certificate(reason));
            }
        };
        let until = Instant::now() + REMEMBERED;
        let until = caller.proof.expires().map_or(until, |expires| expires.min(until));
        self.changes.while_current(&caller, tenant_by, || {
            self.remembered.insert(*key, CachedCaller { caller: caller.clone(), until, tenant_by });
        });
        Ok(caller)
    }

    async fn verify_header(
        &self,
        header: &[u8],
        host: &str,
        source: RequestSource,
    ) -> Result<(Caller, TenantBy)> {
        Ok(match access_token::from_header(header) {
            Some(token) => (self.verify_access_token(token, source).await?, TenantBy::Credentials),
            None if self.demands_tokens() => return Err(self.refusal(TokenFlaw::Invalid)),
            None if is_bearer(header) => self.verify_bearer(header, host, source).await?,
            None => {
                let credentials = Credentials::from_header(header).ok_or(ApiError::Unauthorized)?;
                let tenant_by = credentials.tenant.as_ref().map_or(TenantBy::Host, |_| TenantBy::Credentials);
                (self.verify_password(credentials, host, source).await?, tenant_by)
            }
        })
    }

    fn key(&self, presented: &Presented<'_>, host: &str) -> Key {
        let (kind, bytes) = presented.parts();
        let mut mac = hmac::Context::with_key(&self.cache_key);
        mac.update(&[kind]);
        mac.update(&(bytes.len() as u64).to_le_bytes());
        mac.update(bytes);
        mac.update(host.as_bytes());
        mac.sign().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// Returns the caller for an authenticated user.
    ///
    /// # Errors
    /// `Forbidden` for a suspended tenant.
    fn admit(&self, user: Account, status: TenantStatus, proof: Proof, seen: u64) -> Result<Caller> {
        match status {
            TenantStatus::Suspended => Err(ApiError::suspended()),
            TenantStatus::Moved => Err(ApiError::Moved),
            TenantStatus::Active => Ok(Caller::from(Identity {
                limits: self.database.tenant_limits().of(&user.tenant),
                tenant: user.tenant,
                user: user.name,
                password: user.password_hash.as_deref().map(TokenHash::of),
                roles: user.roles,
                permissions: user.permissions,
                application: user.application,
                proof,
                second_factor: user.second_factor,
                seen,
            })),
        }
    }
}
