//! Extraction of the caller from a request. A cached caller is returned at once; otherwise the credentials are
//! verified, as long as the client is there.

use std::future::{Ready, ready};

use actix_web::http::header::{self, HeaderName};
use actix_web::{FromRequest, HttpMessage, HttpRequest, dev};
use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, Map};
use platform_front::connection::ConnectionHandle;
use platform_store::shares;

use super::Authenticator;
use super::caller::{Caller, Requester};
use super::cors::{self, Cors};
use super::throttle::RequestSource;
use crate::http::error::{ApiError, FactorFlaw, Result, TokenFlaw};
use crate::http::head::{Has, Head};
use crate::http::presented::Presented;
use crate::http::{RequestHead, application_key, authority, client_address};

/// The header with the code of a second factor (C-27).
static TFA_TOKEN: HeaderName = HeaderName::from_static("tfatoken");

/// A request whose caller can be identified.
pub trait CallerHead: Head + Has<Authenticator> + Has<Cors> {}

impl<H: Head + Has<Authenticator> + Has<Cors>> CallerHead for H {}

/// Returns the caller of a request if it is cached, checked against its scope; `None` if verification is
/// necessary.
fn known(head: &impl CallerHead) -> Option<Result<Caller>> {
    if head.has(&header::ORIGIN) && cors::may_be_unasked(head) {
        return None;
    }
    let authenticator = head.state::<Authenticator>();
    let Some(presented) = Presented::of(head) else {
        return Some(Err(authenticator.refusal(TokenFlaw::Invalid)));
    };
    // Devices send no application key, so they do not pay for its look-up.
    let sent_by = application_key(head).map_or(Some(None), |key| authenticator.known_application(key))?;
    let caller = authenticator.remembered(&presented, authority(head).unwrap_or_default())?;
    Some(Caller { sent_by, ..caller }.within_scope(head.method()))
}

/// Authenticates a request and checks its scope. A request that a page of another site may have sent without
/// its user's knowledge is rejected, and such a page cannot open a socket with credentials that the browser
/// added.
async fn identify(head: &impl CallerHead) -> Result<Caller> {
    let unasked = cors::is_unasked(head).await;
    if unasked && head.has(&header::UPGRADE) {
        return Err(head.state::<Authenticator>().refusal(TokenFlaw::Invalid));
    }
    let caller = authenticate(head).await?;
    if unasked {
        Err(ApiError::forbidden_because(
            "a page of another site may have sent this request without its user's knowledge; send JSON or an \
             application key",
        ))
    } else {
        Ok(caller)
    }
}

async fn authenticate(head: &impl CallerHead) -> Result<Caller> {
    let authenticator = head.state::<Authenticator>();
    let Some(presented) = Presented::of(head) else {
        return Err(authenticator.refusal(TokenFlaw::Invalid));
    };
    let (host, source) = (authority(head).unwrap_or_default(), RequestSource::of(client_address(head)));
    let caller = authenticator.identify(&presented, host, source).await?;
    // Only requests of authenticated callers get here, so clients without credentials cannot cause look-ups of keys.
    let sent_by = match application_key(head) {
        Some(key) => authenticator.find_application(key).await?,
        None => None,
    };
    Caller { sent_by, ..caller }.within_scope(head.method())
}

type Identified = Either<Ready<Result<Caller>>, LocalBoxFuture<'static, Result<Caller>>>;

fn identified(request: &HttpRequest, counting: Counting) -> Identified {
    match known(request) {
        Some(known) => Either::Left(ready(noted(request, known, counting))),
        None => {
            let request = request.clone();
            Either::Right(Box::pin(async move {
                // A verification may wait long, and a request whose client is gone makes room for others.
                let head = RequestHead::of(&request);
                tokio::select! {
                    biased;
                    caller = identify(&request) => noted(&request, caller, counting),
                    () = head.client_left() => Err(ApiError::Unauthorized),
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
        shares::charge(&caller.identity.tenant, &caller.identity.user);
        request.extensions_mut().insert(Requester(caller.identity.clone()));
        // Calls of CSV rows have no connection of their own.
        if counting == Counting::Request
            && caller.limits.requests().is_limited()
            && request.conn_data::<ConnectionHandle>().is_some()
        {
            caller.count_request()?;
        }
    }
    caller.map(|caller| Caller { client: Some(client_address(request)), ..caller })
}

impl Caller {
    /// Returns the caller of a request on the fast lane, if it is cached.
    ///
    /// # Errors
    /// The errors of the extractor.
    pub(crate) fn known(head: &impl CallerHead) -> Option<Result<Self>> {
        known(head).map(|caller| caller?.beyond_bootstrap()?.complete())
    }

    /// Returns the device that a request without `Authorization` comes from, by its certificate. A request of a page of
    /// another site, to which a browser adds the certificate, comes from nobody.
    pub(crate) async fn by_certificate(request: &HttpRequest) -> Option<Self> {
        let is_certificate = matches!(Presented::of(request), Some(Presented::Certificate(_)));
        if !is_certificate || cors::is_unasked(request).await {
            return None;
        }
        Self::extract(request).await.ok()
    }

    /// Returns the caller of a request on the fast lane.
    ///
    /// # Errors
    /// The errors of the extractor.
    pub(crate) async fn of(head: &impl CallerHead) -> Result<Self> {
        identify(head).await?.beyond_bootstrap()?.complete()
    }
}

/// Authentication precedes all other checks of a request (E-04).
impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Map<Identified, fn(Result<Caller>) -> Result<Self>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        identified(request, Counting::Request).map(|caller| caller?.beyond_bootstrap()?.complete())
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
        identified(request, Counting::ByHandler)
            .map(|caller| Ok(Self(caller?.beyond_bootstrap()?.complete()?)))
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
        identified(request, Counting::Request).map(|caller| Ok(Self(caller?.complete()?)))
    }
}

/// An authenticated user, including bootstrap users, on the paths with which users manage their own log-in: a password
/// suffices there although a second factor must be set up first, and with a second factor the header `TFAToken` may
/// complete it (C-27). Handlers check what else they need.
#[derive(Debug, Clone)]
pub struct Oneself(pub Caller);

impl FromRequest for Oneself {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        let (identified, request) = (identified(request, Counting::Request), request.clone());
        Box::pin(async move {
            let caller = identified.await?;
            let (authenticator, head) = (request.state::<Authenticator>(), RequestHead::of(&request));
            let source = RequestSource::of(client_address(&request));
            let proving = authenticator.prove(caller, code(&request), source);
            let caller = tokio::select! {
                biased;
                caller = proving => caller?,
                () = head.client_left() => return Err(ApiError::Unauthorized),
            };
            match caller.flaw() {
                Some(FactorFlaw::Missing) => Err(ApiError::SecondFactor(FactorFlaw::Missing)),
                _ => Ok(Self(caller)),
            }
        })
    }
}

/// Returns the code of a second factor that a request carries; a value that is not text cannot be one.
pub(crate) fn code(head: &impl Head) -> Option<&str> {
    head.header(&TFA_TOKEN).map(|value| std::str::from_utf8(value).unwrap_or_default())
}
