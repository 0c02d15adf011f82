//! Callers: the identity behind a request, with its rights.

use std::fmt::Display;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::Method;
use platform_model::access::{Api, Authority, DevicePermissions, Permission};
use platform_model::applications::application::{ApplicationUser, UserPurpose};
use platform_model::id::TenantId;
use platform_model::links::Links;
use platform_model::origin::{Origin, ProcessingMode, is_device_user};
use platform_model::role::{self, RoleSet};
use platform_model::users::second_factor::SecondFactor;
use platform_model::users::token_client::{Scope, TokenHash};
use platform_store::tenancy::tenant_limits::TenantLimits;
use platform_store::users::access_tokens::Requested;

use crate::http::error::{ApiError, FactorFlaw, Result};
use crate::http::head::Head;
use crate::http::negotiation::processing_mode;
use crate::http::{RequestHead, base};

/// An authenticated user.
#[derive(Debug, Clone)]
pub struct Caller {
    pub(super) identity: Arc<Identity>,
    /// The name of the application whose key the request carries (C-05).
    pub(super) sent_by: Option<Arc<str>>,
    /// The address of the client, for the log of security events; `None` where no request was extracted.
    pub(super) client: Option<IpAddr>,
}

/// The identity of a caller.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The tenant of the user.
    pub tenant: TenantId,
    /// The user name.
    pub user: Arc<str>,
    /// The roles of the user, held directly and by groups.
    pub roles: RoleSet,
    /// The device permissions of the user, held directly and by groups (U-12).
    pub permissions: DevicePermissions,
    /// The microservice whose user this is, if any.
    pub application: Option<ApplicationUser>,
    /// The limits of the tenant (Z-20).
    pub limits: Arc<TenantLimits>,
    /// The credentials by which the user was authenticated.
    pub(super) proof: Proof,
    /// The second factor of the user (C-27).
    pub(super) second_factor: SecondFactor,
    /// The hash of the stored form of the password, if the user has one.
    pub(super) password: Option<TokenHash>,
    /// The number of changes before the look-up; see [`Changes`](super::changes::Changes).
    pub(super) seen: u64,
}

/// The user that a request was authenticated as.
#[derive(Debug, Clone)]
pub(crate) struct Requester(pub(crate) Arc<Identity>);

/// The credentials by which a user was authenticated.
#[derive(Debug, Clone, Copy)]
pub(super) enum Proof {
    /// A password, valid until it changes.
    Password,
    /// A password with a code of the second factor, which is good for one request or session (C-27).
    PasswordAndCode,
    /// The id of a live session, which only its client knows (B-18a).
    ClientId {
        /// The expiry of the token that the session was opened with, if it was.
        expires: Option<Instant>,
    },
    /// A certificate of a device (C-28).
    Certificate {
        /// The SHA-256 by which it is looked up.
        fingerprint: [u8; 32],
        /// The end of its validity.
        expires: Instant,
    },
    /// A token that the tenant's own issuer signed (C-04).
    Jwt {
        /// The expiry of the token.
        expires: Instant,
    },
    /// A token that this deployment issued (T-05).
    AccessToken {
        /// The hash by which the token is looked up.
        hash: TokenHash,
        /// The scope of the token.
        scope: Scope,
        /// The expiry of the token.
        expires: Instant,
        /// The requester of the token.
        requested: Requested,
    },
}

impl Proof {
    /// Returns the expiry; `None` if the proof does not expire.
    pub(super) fn expires(self) -> Option<Instant> {
        match self {
            Self::Password | Self::PasswordAndCode => None,
            Self::ClientId { expires } => expires,
            Self::Jwt { expires } | Self::AccessToken { expires, .. } | Self::Certificate { expires, .. } => {
                Some(expires)
            }
        }
    }
}

impl Identity {
    pub(super) fn by_jwt(&self) -> bool {
        matches!(self.proof, Proof::Jwt { .. })
    }

    /// Returns the scope: everything, except for access tokens (T-06).
    pub fn scope(&self) -> Scope {
        match self.proof {
            Proof::Password
            | Proof::PasswordAndCode
            | Proof::ClientId { .. }
            | Proof::Jwt { .. }
            | Proof::Certificate { .. } => Scope::ALL,
            Proof::AccessToken { scope, .. } => scope,
        }
    }

    /// Returns whether the device was authenticated by a certificate.
    pub(crate) fn is_by_certificate(&self) -> bool {
        matches!(self.proof, Proof::Certificate { .. })
    }

    /// Returns the hash of the stored form of the password with which the user was authenticated; `None` for other
    /// credentials.
    pub(crate) fn password(&self) -> Option<TokenHash> {
        self.password.filter(|_| matches!(self.proof, Proof::Password | Proof::PasswordAndCode))
    }

    /// Returns whether the credentials are a password with a code of the second factor.
    pub(crate) fn by_code(&self) -> bool {
        matches!(self.proof, Proof::PasswordAndCode)
    }

    /// Returns whether the credentials are the token with this hash.
    pub(crate) fn sent(&self, token: &TokenHash) -> bool {
        matches!(&self.proof, Proof::AccessToken { hash, .. } if hash == token)
    }

    /// Returns whether the credentials are a token that the user requested for itself (T-10).
    pub(crate) fn by_own_token(&self) -> bool {
        matches!(self.proof, Proof::AccessToken { requested: Requested::ByUser, .. })
    }

    /// Returns the expiry of the token or certificate; `None` for a password.
    pub fn expires(&self) -> Option<Instant> {
        self.proof.expires()
    }

    /// Returns whether this is a bootstrap user, of devices or of a microservice.
    pub(crate) fn is_bootstrap_user(&self) -> bool {
        let of_service = self.application.is_some_and(|user| user.purpose == UserPurpose::Bootstrap);
        of_service || self.roles.has(role::DEVICE_BOOTSTRAP)
    }

    /// Returns whether this is a person: neither a device, nor a microservice, nor a bootstrap user.
    pub(crate) fn is_person(&self) -> bool {
        !is_device_user(&self.user) && self.application.is_none() && !self.is_bootstrap_user()
    }

    /// Returns why the credentials do not suffice, if so (C-27): a password without the code of a second factor that is
    /// active; and, if one must be set up first, a password and what was given in exchange for it.
    pub(super) fn flaw(&self) -> Option<FactorFlaw> {
        let by_password =
            matches!(self.proof, Proof::Password | Proof::PasswordAndCode | Proof::ClientId { .. });
        match self.second_factor {
            SecondFactor::Active if matches!(self.proof, Proof::Password) => Some(FactorFlaw::Missing),
            SecondFactor::Owed if self.is_person() && (by_password || self.by_own_token()) => {
                Some(FactorFlaw::Owed)
            }
            _ => None,
        }
    }

    /// Returns the remaining validity of the token; `None` for a password.
    pub fn remaining(&self) -> Option<Duration> {
        self.expires().map(|until| until.saturating_duration_since(Instant::now()))
    }
}

impl From<Identity> for Caller {
    fn from(identity: Identity) -> Self {
        Self { identity: Arc::new(identity), sent_by: None, client: None }
    }
}

impl std::ops::Deref for Caller {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.identity
    }
}

impl Caller {
    /// Returns the identity, for the log.
    pub(crate) fn identity(&self) -> Arc<Identity> {
        self.identity.clone()
    }

    /// Returns whether both callers come from the same verification.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.identity, &other.identity)
    }

    /// Returns the name of the application that sent the request, by its key (C-05). It proves nothing and
    /// grants nothing.
    pub fn sent_by(&self) -> Option<&Arc<str>> {
        self.sent_by.as_ref()
    }

    /// Checks for a role.
    ///
    /// # Errors
    /// `Forbidden` without the role.
    pub fn require(&self, role: &str) -> Result<()> {
        if self.roles.has(role) { Ok(()) } else { Err(ApiError::forbidden()) }
    }

    /// Checks for one of several roles.
    ///
    /// # Errors
    /// `Forbidden` without any of the roles.
    pub fn require_any(&self, roles: &[&str]) -> Result<()> {
        if roles.iter().any(|role| self.roles.has(role)) { Ok(()) } else { Err(ApiError::forbidden()) }
    }

    /// Counts a request of the caller's tenant.
    ///
    /// # Errors
    /// `TooManyRequests` when the tenant exceeds its rate (Z-20).
    #[inline]
    pub(crate) fn count_request(&self) -> Result<()> {
        self.count_requests(1)
    }

    /// Counts several requests of the caller's tenant, such as the messages of one long-polling request.
    ///
    /// # Errors
    /// `TooManyRequests` when the tenant exceeds its rate; none of them is counted then.
    #[inline]
    pub(crate) fn count_requests(&self, requests: u64) -> Result<()> {
        self.limits.requests().admit(requests).map_err(ApiError::over_rate)
    }

    /// Logs a change of applications, subscriptions or token clients, which changes the rights of users of
    /// microservices or of tokens. Changes of users, groups, tenants and options are logged where they are stored.
    pub(crate) fn log_change_of_rights(&self, activity: &'static str, target: impl Display) {
        let (tenant, user) = (&self.tenant, format!("{}/{}", self.tenant, self.user));
        let client = self.client.map(|client| client.to_string()).unwrap_or_default();
        tracing::info!(target: "platform::security", %tenant, user, client, activity, changed = ?target.to_string(),
            "rights changed");
    }

    /// Returns the authority by which the caller reads or writes: unlimited by role, otherwise limited to
    /// objects it owns or its device permissions cover (I-06, U-12).
    pub fn authority(&self, role: &str, api: Api, permission: Permission) -> Authority {
        if self.roles.has(role) {
            Authority::Role
        } else {
            Authority::Limited(self.permissions.grants(api, permission))
        }
    }

    /// Returns the authority by which the caller reads a single alarm, event, measurement or operation;
    /// ownership counts too (U-10a). For collections see [`Caller::reads_collection`].
    pub fn reads(&self, role: &str, api: Api) -> Authority {
        self.authority(role, api, Permission::Read)
    }

    /// Returns whether the caller is the bootstrap user of devices.
    pub(crate) fn is_bootstrap(&self) -> bool {
        self.roles.has(role::DEVICE_BOOTSTRAP)
    }

    /// Returns whether the caller is the bootstrap user of a microservice, which looks up the users it may
    /// act as (W-10).
    pub(crate) fn is_service_bootstrap(&self) -> bool {
        self.application.is_some_and(|user| user.purpose == UserPurpose::Bootstrap)
    }

    /// Returns whether the caller is a regular user: bootstrap users of devices and of microservices may only use their
    /// own endpoints (N-09, W-10).
    pub(crate) fn goes_beyond_bootstrap(&self) -> bool {
        !self.is_bootstrap() && !self.is_service_bootstrap()
    }

    pub(crate) fn beyond_bootstrap(self) -> Result<Self> {
        if self.goes_beyond_bootstrap() { Ok(self) } else { Err(ApiError::forbidden()) }
    }

    /// Checks that nothing is missing besides the credentials (C-27).
    ///
    /// # Errors
    /// `SecondFactor` says what is missing.
    pub(crate) fn complete(self) -> Result<Self> {
        match self.flaw() {
            Some(flaw) => Err(ApiError::SecondFactor(flaw)),
            None => Ok(self),
        }
    }

    /// Checks that the scope permits listening to notifications, which is reading (T-06).
    ///
    /// # Errors
    /// `Forbidden` for an access token without the scope READ.
    pub(crate) fn able_to_listen(self) -> Result<Self> {
        self.within_scope(&Method::GET)
    }

    /// Checks the scope: GET and HEAD need READ, other methods WRITE (T-06).
    pub(super) fn within_scope(self, method: &Method) -> Result<Self> {
        let scope = self.scope();
        let allowed = match *method {
            Method::GET | Method::HEAD => scope.allows_reading(),
            _ => scope.allows_writing(),
        };
        if allowed {
            Ok(self)
        } else {
            Err(ApiError::forbidden_because("the scope of the access token does not cover this method"))
        }
    }

    /// Returns the origin of a write by this caller.
    ///
    /// # Errors
    /// `Invalid` for an unknown processing mode; `TooManyRequests` when the unstored writes of the tenant exceed their
    /// rate (Z-20).
    pub(crate) fn origin(&self, head: &impl Head, role: &str, api: Api) -> Result<Origin> {
        self.origin_in(processing_mode(head)?.with_notifications()?, head, role, api)
    }

    /// Returns the origin of a write of measurements or events, which support all processing modes.
    ///
    /// # Errors
    /// Those of [`origin`](Self::origin).
    pub(crate) fn origin_of_data(&self, head: &impl Head, role: &str, api: Api) -> Result<Origin> {
        self.origin_in(processing_mode(head)?, head, role, api)
    }

    /// Returns the origin of a write that the role alone permits, because nobody owns the object, and that
    /// has no processing modes (M-05).
    ///
    /// # Errors
    /// `Invalid` for an unknown processing mode.
    pub fn origin_by_role(&self, head: &RequestHead) -> Result<Origin> {
        head.check_mode()?;
        Ok(self.origin_with(ProcessingMode::Persistent, head, Authority::Role))
    }

    fn origin_in(&self, mode: ProcessingMode, head: &impl Head, role: &str, api: Api) -> Result<Origin> {
        if let Some(wait) = self.limits.transient_bytes().wait().filter(|_| !mode.stores()) {
            return Err(ApiError::over_transient_rate(wait));
        }
        Ok(self.origin_with(mode, head, self.authority(role, api, Permission::Admin)))
    }

    fn origin_with(&self, mode: ProcessingMode, head: &impl Head, authority: Authority) -> Origin {
        Origin {
            user: self.user.clone(),
            mode,
            authority,
            application: self.sent_by.clone(),
            links: Links::new(base(head)),
            precondition: None,
            key: None,
            by_module: None,
        }
    }
}
