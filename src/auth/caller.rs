//! A caller: what handlers know of who asks, and how it comes out of a request.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::header;
use actix_web::{FromRequest, HttpRequest, dev};
use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, Map};
use platform_actors::model::access::{Api, Authority, DevicePermissions, Permission};
use platform_actors::model::application::{ApplicationUser, Duty};
use platform_actors::model::id::TenantId;
use platform_actors::model::origin::{Origin, ProcessingMode};
use platform_actors::model::role::{self, RoleSet};

use super::throttle::Source;
use crate::http::error::{ApiError, Result};
use crate::http::{Wire, authority, client_address, cors, edge};

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
    /// The microservice that acts as this user, if one does.
    pub application: Option<ApplicationUser>,
    /// Until when, for who came by a token.
    pub(super) expires: Option<Instant>,
    /// What had changed when this was looked up; see [`Changes`](super::changes::Changes).
    pub(super) seen: u64,
}

impl Identity {
    pub(super) fn by_token(&self) -> bool {
        self.expires.is_some()
    }

    /// How long the token is still valid that this was proven with; `None` for a password.
    pub fn remaining(&self) -> Option<Duration> {
        self.expires.map(|until| until.saturating_duration_since(Instant::now()))
    }
}

impl From<Identity> for Caller {
    fn from(identity: Identity) -> Self {
        Self(Arc::new(identity))
    }
}

impl std::ops::Deref for Caller {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.0
    }
}

impl Caller {
    /// Whether both are of one verification.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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

    /// By what right the caller reads data of devices; ownership does not count (I-06, U-12).
    ///
    /// # Errors
    /// `Forbidden` with neither the role nor any such device permission.
    pub fn reads(&self, role: &str, api: Api) -> Result<Authority> {
        match self.authority(role, api, Permission::Read) {
            Authority::Limited(grants) if grants.is_empty() => Err(ApiError::forbidden()),
            authority => Ok(authority),
        }
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

    fn origin_in(&self, mode: ProcessingMode, wire: &Wire, role: &str, api: Api) -> Origin {
        Origin {
            user: self.user.clone(),
            mode,
            authority: self.authority(role, api, Permission::Admin),
            application_key: wire.application_key().map(Into::into),
            links: wire.links(),
        }
    }
}

/// Who a request comes from, in most cases known at once.
type Identified = Either<Ready<Result<Caller>>, LocalBoxFuture<'static, Result<Caller>>>;

/// What a page of another site may have sent without its user's knowledge is refused, and such a page opens no socket with
/// credentials that its browser added.
fn identify(request: &HttpRequest) -> Identified {
    if !request.headers().contains_key(header::ORIGIN) {
        return authenticate(request);
    }
    if request.headers().contains_key(header::UPGRADE) && cors::is_foreign(request) {
        return Either::Left(ready(Err(ApiError::Unauthorized)));
    }
    match cors::is_unasked(request) {
        true => {
            let authenticated = authenticate(request);
            Either::Right(Box::pin(async move { authenticated.await.and(Err(unasked())) }))
        }
        false => authenticate(request),
    }
}

fn unasked() -> ApiError {
    ApiError::forbidden_because(
        "a page of another site sent this as any page could; send JSON, or the header with the application key",
    )
}

fn authenticate(request: &HttpRequest) -> Identified {
    let Some(header) = request.headers().get(header::AUTHORIZATION) else {
        return Either::Left(ready(Err(ApiError::Unauthorized)));
    };
    let host = authority(request).unwrap_or_default();
    if let Some(caller) = edge(request).authenticator.remembered(header.as_bytes(), host) {
        return Either::Left(ready(Ok(caller)));
    }
    let (request, header) = (request.clone(), header.clone());
    Either::Right(Box::pin(async move {
        let host = authority(&request).unwrap_or_default();
        let source = Source::of(client_address(&request));
        edge(&request).authenticator.identify(header.as_bytes(), host, source).await
    }))
}

/// Authentication comes before everything else a request could be refused for (E-04).
impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Map<Identified, fn(Result<Caller>) -> Result<Self>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        identify(request).map(|caller| caller?.beyond_bootstrap())
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
        identify(request).map(|caller| caller.map(Self))
    }
}
