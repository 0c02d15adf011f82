//! A caller: what handlers know of who asks, and how it comes out of a request.

use std::future::{Ready, pending, ready};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::{Method, header};
use actix_web::{FromRequest, HttpRequest, dev};
use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, Map};
use platform_actors::model::access::{Api, Authority, DevicePermissions, Permission};
use platform_actors::model::application::{ApplicationUser, Duty};
use platform_actors::model::id::TenantId;
use platform_actors::model::origin::{Origin, ProcessingMode};
use platform_actors::model::role::{self, RoleSet};
use platform_actors::model::token_client::{Scope, TokenHash};
use tokio::time::sleep;

use super::throttle::Source;
use crate::connection::{FOR_A_SILENT_PEER, Line};
use crate::http::address::check_text;
use crate::http::error::{ApiError, Result, TokenFlaw};
use crate::http::head::Head;
use crate::http::{Wire, application_key, authority, client_address, cors};

/// A user who proved to be one.
#[derive(Debug, Clone)]
pub struct Caller {
    identity: Arc<Identity>,
    /// Name of the application whose key the request carries (C-05).
    sent_by: Option<Arc<str>>,
}

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
    /// The microservice that acts as this user, if one does.
    pub application: Option<ApplicationUser>,
    /// What the user proved to be one by.
    pub(super) proof: Proof,
    /// What had changed when this was looked up; see [`Changes`](super::changes::Changes).
    pub(super) seen: u64,
}

/// What somebody proved to be a user by.
#[derive(Debug, Clone, Copy)]
pub(super) enum Proof {
    /// A password, which is good until it changes.
    Password,
    /// The id of a living session, which only its client knows (B-18a).
    ClientId {
        /// Until when the token is valid that the session was opened with, if it was.
        expires: Option<Instant>,
    },
    /// A token that the tenant's own issuer signed (C-04).
    Jwt {
        /// Until when it is good.
        expires: Instant,
    },
    /// A token that this deployment issued (T-05).
    AccessToken {
        /// What it is known by.
        hash: TokenHash,
        /// What it may be used for.
        scope: Scope,
        /// Until when it is good.
        expires: Instant,
    },
}

impl Proof {
    /// Until when it is good; `None` for as long as nothing changes.
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

    /// What this was proven for: all, but for access tokens (T-06).
    pub fn scope(&self) -> Scope {
        match self.proof {
            Proof::Password | Proof::ClientId { .. } | Proof::Jwt { .. } => Scope::ALL,
            Proof::AccessToken { scope, .. } => scope,
        }
    }

    /// Until when the token is valid that this was proven with; `None` for a password.
    pub fn expires(&self) -> Option<Instant> {
        self.proof.expires()
    }

    /// How long the token is still valid that this was proven with; `None` for a password.
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
    /// Whether both are of one verification.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.identity, &other.identity)
    }

    /// Name of the application that sent the request, by its key (C-05). It proves nothing and grants nothing.
    pub fn sent_by(&self) -> Option<&Arc<str>> {
        self.sent_by.as_ref()
    }

    /// User and application as audit records name them (Y-03).
    pub fn recorded_as(&self) -> (&str, Option<&str>) {
        (&self.user, self.sent_by.as_deref())
    }

    /// # Errors
    /// `Forbidden` without the role.
    pub fn require(&self, role: &str) -> Result<()> {
        match self.roles.has(role) {
            true => Ok(()),
            false => Err(ApiError::forbidden()),
        }
    }

    /// # Errors
    /// `Forbidden` without any of the roles.
    pub fn require_any(&self, roles: &[&str]) -> Result<()> {
        match roles.iter().any(|role| self.roles.has(role)) {
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

    /// By what right the caller reads one thing that a device sent or was told; ownership counts too (U-10a). Of collections
    /// see [`Caller::reads_collection`].
    pub fn reads(&self, role: &str, api: Api) -> Authority {
        self.authority(role, api, Permission::Read)
    }

    /// Whether this is the bootstrap user.
    pub(crate) fn is_bootstrap(&self) -> bool {
        self.roles.has(role::DEVICE_BOOTSTRAP)
    }

    /// Whether a microservice asks as its bootstrap user, to learn who it may act for (W-10).
    pub(crate) fn is_service_bootstrap(&self) -> bool {
        self.application.is_some_and(|user| user.duty == Duty::Bootstrap)
    }

    /// Whether this is no bootstrap user: those of devices and of microservices have endpoints of their own and may do nothing
    /// else (N-09, W-10).
    pub(crate) fn goes_beyond_bootstrap(&self) -> bool {
        !self.is_bootstrap() && !self.is_service_bootstrap()
    }

    pub(super) fn beyond_bootstrap(self) -> Result<Self> {
        match self.goes_beyond_bootstrap() {
            true => Ok(self),
            false => Err(ApiError::forbidden()),
        }
    }

    /// GET and HEAD need the scope READ, everything else WRITE (T-06).
    fn within_scope(self, method: &Method) -> Result<Self> {
        let scope = self.scope();
        let allowed = match *method {
            Method::GET | Method::HEAD => scope.allows_reading(),
            _ => scope.allows_writing(),
        };
        match allowed {
            true => Ok(self),
            false => {
                Err(ApiError::forbidden_because("the scope of the access token does not cover this method"))
            }
        }
    }

    /// What travels with a write of this caller.
    ///
    /// # Errors
    /// `Invalid` for an unknown processing mode.
    pub fn origin(&self, wire: &Wire, role: &str, api: Api) -> Result<Origin> {
        Ok(self.origin_in(wire.mode()?, wire, role, api))
    }

    /// What travels with a write of measurements or events, which know all processing modes.
    ///
    /// # Errors
    /// `Invalid` for an unknown processing mode.
    pub fn origin_of_data(&self, wire: &Wire, role: &str, api: Api) -> Result<Origin> {
        Ok(self.origin_in(wire.data_mode()?, wire, role, api))
    }

    /// What travels with a write of what is nobody's own, so that the role alone, which was asked for, lets write, and what has no
    /// processing modes (M-05).
    ///
    /// # Errors
    /// `Invalid` for an unknown processing mode.
    pub fn origin_by_role(&self, wire: &Wire) -> Result<Origin> {
        wire.check_mode()?;
        Ok(self.origin_with(ProcessingMode::Persistent, wire, Authority::Role))
    }

    fn origin_in(&self, mode: ProcessingMode, wire: &Wire, role: &str, api: Api) -> Origin {
        self.origin_with(mode, wire, self.authority(role, api, Permission::Admin))
    }

    fn origin_with(&self, mode: ProcessingMode, wire: &Wire, authority: Authority) -> Origin {
        Origin {
            user: self.user.clone(),
            mode,
            authority,
            application: self.sent_by.clone(),
            links: wire.links(),
            by_module: None,
        }
    }
}

/// Who a request comes from, as far as its scope reaches; `None` when that is not known at once. Most callers are.
fn known(head: &impl Head) -> Option<Result<Caller>> {
    if head.has(&header::ORIGIN) && cors::may_be_unasked(head) {
        return None;
    }
    let authenticator = &head.edge().authenticator;
    let Some(header) = head.header(&header::AUTHORIZATION) else {
        return Some(Err(authenticator.refusal(TokenFlaw::Invalid)));
    };
    // Devices send no key, so they pay nothing for it.
    let sent_by = application_key(head).map_or(Some(None), |key| authenticator.known_application(key))?;
    let caller = authenticator.remembered(header, authority(head).unwrap_or_default())?;
    Some(Caller { sent_by, ..caller }.within_scope(head.method()))
}

/// Who proved to be whom a request comes from, if that was a short while ago, whatever the request may do.
fn remembered(head: &impl Head) -> Option<Caller> {
    let header = head.header(&header::AUTHORIZATION)?;
    head.edge().authenticator.remembered(header, authority(head).unwrap_or_default())
}

/// Who a request comes from, as far as its scope reaches. What a page of another site may have sent without its user's
/// knowledge is refused, and such a page opens no socket with credentials that its browser added.
async fn identify(head: &impl Head) -> Result<Caller> {
    let unasked = cors::is_unasked(head).await;
    if unasked && head.has(&header::UPGRADE) {
        return Err(head.edge().authenticator.refusal(TokenFlaw::Invalid));
    }
    let caller = authenticate(head).await?;
    match unasked {
        true => Err(ApiError::forbidden_because(
            "a page of another site sent this as any page could; send JSON, or the header with the application key",
        )),
        false => Ok(caller),
    }
}

async fn authenticate(head: &impl Head) -> Result<Caller> {
    let authenticator = &head.edge().authenticator;
    let Some(header) = head.header(&header::AUTHORIZATION) else {
        return Err(authenticator.refusal(TokenFlaw::Invalid));
    };
    let (host, source) = (authority(head).unwrap_or_default(), Source::of(client_address(head)));
    let caller = authenticator.identify(header, host, source).await?;
    // Strangers do not get this far, so they cannot have keys looked up.
    let sent_by = match application_key(head) {
        Some(key) => authenticator.find_application(key).await?,
        None => None,
    };
    Caller { sent_by, ..caller }.within_scope(head.method())
}

/// Resolves a while after the client has closed its half of the connection. It may still read (B-24); but a guess at a password may
/// wait for much longer, and one that nobody waits for shall make room for others.
async fn client_left(request: &HttpRequest) {
    let Some(line) = request.conn_data::<Line>() else { return pending().await };
    line.peer_ends().await;
    sleep(FOR_A_SILENT_PEER).await;
}

type Identified = Either<Ready<Result<Caller>>, LocalBoxFuture<'static, Result<Caller>>>;

fn identified(request: &HttpRequest) -> Identified {
    match known(request) {
        Some(known) => Either::Left(ready(known.and_then(|caller| check_text(request).map(|()| caller)))),
        None => {
            let request = request.clone();
            Either::Right(Box::pin(async move {
                tokio::select! {
                    biased;
                    caller = identify(&request) => caller.and_then(|caller| check_text(&request).map(|()| caller)),
                    () = client_left(&request) => Err(ApiError::Unauthorized),
                }
            }))
        }
    }
}

impl Caller {
    /// Who sent a request, once that was verified: whom to count for what it costs, not what it may do.
    pub(crate) fn remembered(head: &impl Head) -> Option<Self> {
        remembered(head)
    }

    /// Who sent a request that came by the fast lane, when that is known at once.
    ///
    /// # Errors
    /// As the extractor.
    pub(crate) fn known(head: &impl Head) -> Option<Result<Self>> {
        known(head).map(|caller| caller?.beyond_bootstrap())
    }

    /// Who sent a request that came by the fast lane.
    ///
    /// # Errors
    /// As the extractor.
    pub(crate) async fn of(head: &impl Head) -> Result<Self> {
        identify(head).await?.beyond_bootstrap()
    }
}

/// Authentication comes before everything else a request could be refused for (E-04).
impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Map<Identified, fn(Result<Caller>) -> Result<Self>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        identified(request).map(|caller| caller?.beyond_bootstrap())
    }
}

/// Whoever proved to be a user, the bootstrap user too: for what is open to every user (Z-02), or to that one (N-09), and where
/// each row asks for rights of its own (S-45).
#[derive(Debug, Clone)]
pub struct AnyCaller(pub Caller);

impl FromRequest for AnyCaller {
    type Error = ApiError;
    type Future = Map<Identified, fn(Result<Caller>) -> Result<Self>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        identified(request).map(|caller| caller.map(Self))
    }
}
