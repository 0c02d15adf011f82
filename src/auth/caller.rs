//! Callers: the identity behind a request, and its extraction from the request.

use std::future::{Ready, pending, ready};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::{Method, header};
use actix_web::{FromRequest, HttpMessage, HttpRequest, dev};
use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, Map};
use platform_model::access::{Api, Authority, DevicePermissions, Permission};
use platform_model::application::{ApplicationUser, UserPurpose};
use platform_model::id::TenantId;
use platform_model::links::Links;
use platform_model::origin::{Origin, ProcessingMode};
use platform_model::role::{self, RoleSet};
use platform_model::token_client::{Scope, TokenHash};
use platform_store::shares;
use platform_store::tenant_limits::TenantLimits;
use tokio::time::sleep;

use super::throttle::RequestSource;
use super::{Authenticator, cors};
use crate::connection::{ConnectionHandle, FOR_A_SILENT_PEER};
use crate::http::error::{ApiError, Result, TokenFlaw};
use crate::http::head::Head;
use crate::http::negotiation::processing_mode;
use crate::http::{RequestHead, application_key, authority, base, client_address};

/// An authenticated user.
#[derive(Debug, Clone)]
pub struct Caller {
    identity: Arc<Identity>,
    /// The name of the application whose key the request carries (C-05).
    sent_by: Option<Arc<str>>,
}

/// The identity of a caller.
#[derive(Debug)]
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
    /// The id of a live session, which only its client knows (B-18a).
    ClientId {
        /// The expiry of the token that the session was opened with, if it was.
        expires: Option<Instant>,
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
    },
}

impl Proof {
    /// Returns the expiry; `None` if the proof does not expire.
    pub(super) fn expires(self) -> Option<Instant> {
        match self {
            Self::Password => None,
            Self::ClientId { expires } => expires,
            Self::Jwt { expires } | Self::AccessToken { expires, .. } => Some(expires),
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
            Proof::Password | Proof::ClientId { .. } | Proof::Jwt { .. } => Scope::ALL,
            Proof::AccessToken { scope, .. } => scope,
        }
    }

    /// Returns the expiry of the token; `None` for a password.
    pub fn expires(&self) -> Option<Instant> {
        self.proof.expires()
    }

    /// Returns whether this is a bootstrap user, of devices or of a microservice.
    pub(crate) fn is_bootstrap_user(&self) -> bool {
        let of_service = self.application.is_some_and(|user| user.purpose == UserPurpose::Bootstrap);
        of_service || self.roles.has(role::DEVICE_BOOTSTRAP)
    }

    /// Returns the remaining validity of the token; `None` for a password.
    pub fn remaining(&self) -> Option<Duration> {
        self.expires().map(|until| until.saturating_duration_since(Instant::now()))
    }
}

impl From<Identity> for Caller {
    fn from(identity: Identity) -> Self {
        Self { identity: Arc::new(identity), sent_by: None }
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
        self.limits.requests().admit(1).map_err(ApiError::over_rate)
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

    pub(super) fn beyond_bootstrap(self) -> Result<Self> {
        if self.goes_beyond_bootstrap() { Ok(self) } else { Err(ApiError::forbidden()) }
    }

    /// Checks the scope: GET and HEAD need READ, other methods WRITE (T-06).
    fn within_scope(self, method: &Method) -> Result<Self> {
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
    /// `Invalid` for an unknown processing mode.
    pub(crate) fn origin(&self, head: &impl Head, role: &str, api: Api) -> Result<Origin> {
        Ok(self.origin_in(processing_mode(head)?.with_notifications()?, head, role, api))
    }

    /// Returns the origin of a write of measurements or events, which support all processing modes.
    ///
    /// # Errors
    /// `Invalid` for an unknown processing mode.
    pub(crate) fn origin_of_data(&self, head: &impl Head, role: &str, api: Api) -> Result<Origin> {
        Ok(self.origin_in(processing_mode(head)?, head, role, api))
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

    fn origin_in(&self, mode: ProcessingMode, head: &impl Head, role: &str, api: Api) -> Origin {
        self.origin_with(mode, head, self.authority(role, api, Permission::Admin))
    }

    fn origin_with(&self, mode: ProcessingMode, head: &impl Head, authority: Authority) -> Origin {
        Origin {
            user: self.user.clone(),
            mode,
            authority,
            application: self.sent_by.clone(),
            links: Links::new(base(head)),
            by_module: None,
        }
    }
}

/// Returns the caller of a request if it is cached, checked against its scope; `None` if verification is
/// necessary.
fn known(head: &impl Head) -> Option<Result<Caller>> {
    if head.has(&header::ORIGIN) && cors::may_be_unasked(head) {
        return None;
    }
    let authenticator = head.state::<Authenticator>();
    let Some(header) = head.header(&header::AUTHORIZATION) else {
        return Some(Err(authenticator.refusal(TokenFlaw::Invalid)));
    };
    // Devices send no application key, so they do not pay for its look-up.
    let sent_by = application_key(head).map_or(Some(None), |key| authenticator.known_application(key))?;
    let caller = authenticator.remembered(header, authority(head).unwrap_or_default())?;
    Some(Caller { sent_by, ..caller }.within_scope(head.method()))
}

/// Authenticates a request and checks its scope. A request that a page of another site may have sent without
/// its user's knowledge is rejected, and such a page cannot open a socket with credentials that the browser
/// added.
async fn identify(head: &impl Head) -> Result<Caller> {
    let unasked = cors::is_unasked(head).await;
    if unasked && head.has(&header::UPGRADE) {
        return Err(head.state::<Authenticator>().refusal(TokenFlaw::Invalid));
    }
    let caller = authenticate(head).await?;
    if unasked {
        Err(ApiError::forbidden_because(
            "a page of another site may have sent this request without its user's knowledge; send JSON or an application key",
        ))
    } else {
        Ok(caller)
    }
}

async fn authenticate(head: &impl Head) -> Result<Caller> {
    let authenticator = head.state::<Authenticator>();
    let Some(header) = head.header(&header::AUTHORIZATION) else {
        return Err(authenticator.refusal(TokenFlaw::Invalid));
    };
    let (host, source) = (authority(head).unwrap_or_default(), RequestSource::of(client_address(head)));
    let caller = authenticator.identify(header, host, source).await?;
    // Only requests of authenticated callers get here, so clients without credentials cannot cause look-ups of keys.
    let sent_by = match application_key(head) {
        Some(key) => authenticator.find_application(key).await?,
        None => None,
    };
    Caller { sent_by, ..caller }.within_scope(head.method())
}

/// Resolves some time after the client has closed its half of the connection. Such a client may still read (B-24). But
/// a verification may wait much longer, and a request whose client is gone should make room for others.
async fn client_left(request: &HttpRequest) {
    let Some(line) = request.conn_data::<ConnectionHandle>() else { return pending().await };
    line.peer_ends().await;
    sleep(FOR_A_SILENT_PEER).await;
}

type Identified = Either<Ready<Result<Caller>>, LocalBoxFuture<'static, Result<Caller>>>;

fn identified(request: &HttpRequest, counting: Counting) -> Identified {
    match known(request) {
        Some(known) => Either::Left(ready(noted(request, known, counting))),
        None => {
            let request = request.clone();
            Either::Right(Box::pin(async move {
                tokio::select! {
                    biased;
                    caller = identify(&request) => noted(&request, caller, counting),
                    () = client_left(&request) => Err(ApiError::Unauthorized),
                }
            }))
        }
    }
}

/// Whether the extraction of a caller counts as a request of its tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// It counts, unless it is the call of a CSV row, which was counted with the row.
    Request,
    /// The handler counts (see [`Listener`]).
    ByHandler,
}

/// Stores the caller in the request, for the log, and counts the request.
///
/// # Errors
/// `TooManyRequests` when the tenant exceeds its rate (Z-20).
fn noted(request: &HttpRequest, caller: Result<Caller>, counting: Counting) -> Result<Caller> {
    if let Ok(caller) = &caller {
        shares::charge(&caller.identity.tenant);
        request.extensions_mut().insert(Requester(caller.identity.clone()));
        // Calls of CSV rows have no connection of their own.
        if counting == Counting::Request
            && caller.limits.requests().is_limited()
            && request.conn_data::<ConnectionHandle>().is_some()
        {
            caller.count_request()?;
        }
    }
    caller
}

impl Caller {
    /// Returns the caller of a request on the fast lane, if it is cached.
    ///
    /// # Errors
    /// The errors of the extractor.
    pub(crate) fn known(head: &impl Head) -> Option<Result<Self>> {
        known(head).map(|caller| caller?.beyond_bootstrap())
    }

    /// Returns the caller of a request on the fast lane.
    ///
    /// # Errors
    /// The errors of the extractor.
    pub(crate) async fn of(head: &impl Head) -> Result<Self> {
        identify(head).await?.beyond_bootstrap()
    }
}

/// Authentication precedes all other checks of a request (E-04).
impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Map<Identified, fn(Result<Caller>) -> Result<Self>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        identified(request, Counting::Request).map(|caller| caller?.beyond_bootstrap())
    }
}

/// A caller whose handler counts the requests of the tenant, because it treats some of them differently: a client that
/// polls must not lose its session (Z-20).
#[derive(Debug, Clone)]
pub struct Listener(pub Caller);

impl FromRequest for Listener {
    type Error = ApiError;
    type Future = Map<Identified, fn(Result<Caller>) -> Result<Self>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        identified(request, Counting::ByHandler).map(|caller| caller?.beyond_bootstrap().map(Self))
    }
}

/// An authenticated user, including bootstrap users: for endpoints that are open to every user (Z-02) or to the
/// bootstrap user (N-09), and for those where each row is authorized on its own (S-45).
#[derive(Debug, Clone)]
pub struct AnyCaller(pub Caller);

impl FromRequest for AnyCaller {
    type Error = ApiError;
    type Future = Map<Identified, fn(Result<Caller>) -> Result<Self>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        identified(request, Counting::Request).map(|caller| caller.map(Self))
    }
}
