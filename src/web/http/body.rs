//! Reads request bodies within their size limits.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_web::http::header::HeaderValue;
use actix_web::http::{StatusCode, header};
use actix_web::{FromRequest, HttpRequest, dev, error::PayloadError, web};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use platform_actors::Platform;
use platform_front::connection::{BodyIs, ConnectionHandle, Deadline, Pace};
use platform_front::stop::Stop;
use platform_model::body::Body;

use crate::http::error::{ApiError, Result};
use crate::http::head::Head;
use crate::http::held_bytes::Share;
use crate::http::negotiation::{accepted, check_content_type};

/// The bytes of a body as they arrive. A client may close its half of the connection after them (B-24); see
/// [`platform_front::connection`].
pub struct Incoming {
    payload: web::Payload,
    connection: Option<ConnectionHandle>,
    pace: Pace,
    /// The deadline while the server waits for bytes.
    waits: Option<Deadline>,
}

impl Incoming {
    /// Wraps the body of a request.
    pub fn of(request: &HttpRequest, payload: web::Payload) -> Self {
        // The requests that CSV rows are converted into have no connection.
        let connection = request.conn_data::<ConnectionHandle>().cloned();
        connection.iter().for_each(|connection| connection.body_is(BodyIs::Underway));
        Self { payload, connection, pace: Pace::new(request.state::<Platform>().limits()), waits: None }
    }

    /// Handles a pause of the body. Ready when the pause has lasted too long; the server then stops reading from the
    /// client.
    fn poll_pause(&mut self, cx: &Context<'_>) -> Poll<PayloadError> {
        let Some(connection) = &self.connection else { return Poll::Pending };
        connection.body_is(BodyIs::Taken);
        let waits = self.waits.get_or_insert_with(|| Deadline::take(connection.clock(), self.pace.wait()));
        if waits.poll(cx).is_pending() {
            return Poll::Pending;
        }
        connection.give_up(cx);
        Poll::Ready(PayloadError::Io(io::ErrorKind::TimedOut.into()))
    }
}

impl Stream for Incoming {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.payload.poll_next_unpin(cx);
        match &next {
            Poll::Pending => return self.poll_pause(cx).map(|error| Some(Err(error))),
            Poll::Ready(Some(Ok(bytes))) => {
                self.waits = None;
                self.pace.arrived(bytes.len());
            }
            Poll::Ready(Some(Err(_))) => {}
            Poll::Ready(None) => self.connection.iter().for_each(ConnectionHandle::body_was_read),
        }
        next
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.connection.iter().for_each(|connection| connection.body_is(BodyIs::Nothing));
    }
}

/// A body that has not been read yet, so that everything else is checked first (E-04).
pub struct UnreadBody {
    payload: Incoming,
    announced: Option<usize>,
    /// An unsupported content coding. It is reported when the body is read, after all errors that can be detected
    /// without the body (C-07a).
    coding: Option<String>,
    request: HttpRequest,
}

impl FromRequest for UnreadBody {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let length = request.headers().get(header::CONTENT_LENGTH);
        let announced = length.and_then(|value| value.to_str().ok()?.parse().ok());
        let (coding, request) = (foreign_coding(request), request.clone());
        let payload = web::Payload::from_request(&request, payload).into_inner();
        std::future::ready(
            payload
                .map(|payload| Self { payload: Incoming::of(&request, payload), announced, coding, request })
                .map_err(|e| {
                    ApiError::Http(StatusCode::BAD_REQUEST, format!("The body cannot be read: {e}"))
                }),
        )
    }
}

impl UnreadBody {
    /// Reads the whole body.
    ///
    /// # Errors
    /// The errors of [`chunk`](Self::chunk); `TooLarge` beyond `limit` bytes, as soon as that is known;
    /// `TooManyRequests` when unfinished bodies occupy too much memory.
    pub async fn read(mut self, limit: usize) -> Result<Bytes> {
        self.check_coding()?;
        if self.announced.is_some_and(|length| length > limit) {
            return Err(ApiError::TooLarge { limit });
        }
        let Some(first) = self.next().await? else {
            return Ok(Bytes::new());
        };
        let Some(second) = self.next().await? else {
            return within(first, limit);
        };
        let mut body = BytesMut::from(first);
        body.extend_from_slice(&second);
        let mut share = None;
        while let Some(chunk) = self.next().await? {
            let length = body.len() + chunk.len();
            if length > limit {
                return Err(ApiError::TooLarge { limit });
            }
            Share::cover(&mut share, &self.request, length)?;
            body.extend_from_slice(&chunk);
        }
        within(body.freeze(), limit)
    }

    /// Returns the length of the body according to `Content-Length`, if present.
    pub fn announced(&self) -> Option<usize> {
        self.announced
    }

    /// Returns the next bytes of a body that is too long to be read at once, or `None` at its end.
    ///
    /// # Errors
    /// 415 for a body with a content coding (e.g. gzip), 400 when it ends too early, 408 when it arrives too slowly,
    /// 503 when the server is stopping and cannot wait for the rest.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        self.check_coding()?;
        self.next().await
    }

    async fn next(&mut self) -> Result<Option<Bytes>> {
        self.payload
            .next()
            .await
            .transpose()
            .map_err(|error| if self.stop().grace_is_over() { ApiError::Stopping } else { broken(&error) })
    }

    /// Rejects a body with a content coding. Callers of [`into_payload`](Self::into_payload) call this first.
    ///
    /// # Errors
    /// `UnsupportedContentEncoding`.
    pub fn check_coding(&self) -> Result<()> {
        match &self.coding {
            Some(coding) => Err(ApiError::UnsupportedContentEncoding(coding.clone())),
            None => Ok(()),
        }
    }

    /// Returns the request to which the body belongs.
    pub fn request(&self) -> &HttpRequest {
        &self.request
    }

    /// Returns the stop state of the server. A server that is stopping aborts bodies that are not complete in time.
    pub fn stop(&self) -> &Arc<Stop> {
        self.request.state::<Stop>()
    }

    /// Returns the body as a stream.
    pub fn into_payload(self) -> Incoming {
        self.payload
    }

    /// Reads the object that a client sends to create or change one, after all checks that need no body. `names` are
    /// the supported media types (C-09). The response has the first of them; its full name is returned with the object.
    ///
    /// # Errors
    /// The errors of [`RequestHead::accepted`], [`RequestHead::check_content_type`] and [`UnreadBody::json`].
    pub async fn object(self, names: &[&str]) -> Result<(String, Body)> {
        object_of(&self.request.clone(), self, names).await
    }

    /// Reads the object as [`UnreadBody::object`] does, and parses it.
    ///
    /// # Errors
    /// The errors of [`UnreadBody::object`], and the errors of `parse`.
    pub async fn parse<T, E: Into<ApiError>>(
        self,
        names: &[&str],
        parse: impl FnOnce(Body) -> Result<T, E>,
    ) -> Result<(String, T)> {
        let (media_type, body) = self.object(names).await?;
        Ok((media_type, parse(body).map_err(Into::into)?))
    }

    /// Reads the body as one JSON object.
    ///
    /// # Errors
    /// The errors of [`UnreadBody::read`], and the errors of [`Body::parse`].
    pub async fn json(self, limit: usize) -> Result<Body> {
        Ok(Body::parse(&self.read(limit).await?)?)
    }
}

/// A body with one JSON object, which is parsed after everything else was checked (E-04).
pub(crate) trait JsonBody {
    /// Returns the object of a body that has at most `limit` bytes.
    async fn json(self, limit: usize) -> Result<Body>;
}

impl JsonBody for UnreadBody {
    async fn json(self, limit: usize) -> Result<Body> {
        self.json(limit).await
    }
}

/// A body that arrived with its head.
pub(crate) struct WholeBody<'b>(pub(crate) &'b [u8]);

impl JsonBody for WholeBody<'_> {
    async fn json(self, limit: usize) -> Result<Body> {
        if self.0.len() > limit { Err(ApiError::TooLarge { limit }) } else { Ok(Body::parse(self.0)?) }
    }
}

/// Reads the object that a client sends to create or change one, after all checks that need no body; see
/// [`UnreadBody::object`].
///
/// # Errors
/// The errors of [`accepted`], [`check_content_type`] and [`UnreadBody::json`].
pub(crate) async fn object_of(
    head: &impl Head,
    body: impl JsonBody,
    names: &[&str],
) -> Result<(String, Body)> {
    let media_type = accepted(head, names.first().copied().unwrap_or_default())?;
    check_content_type(head, names)?;
    let limit = head.state::<Platform>().limits().body_bytes;
    Ok((media_type, body.json(limit).await?))
}

/// Returns the first `Content-Encoding` of a request that is not `identity`.
fn foreign_coding(request: &HttpRequest) -> Option<String> {
    let values = request.headers().get_all(header::CONTENT_ENCODING).map(HeaderValue::as_bytes);
    let is_plain = |coding: &[u8]| coding.is_empty() || coding.eq_ignore_ascii_case(b"identity");
    let mut foreign =
        values.filter(|value| !value.split(|byte| *byte == b',').all(|c| is_plain(c.trim_ascii())));
    foreign.next().map(|value| String::from_utf8_lossy(value).into_owned())
}

/// Returns whether a body was aborted because it arrived too slowly.
pub fn is_too_slow(error: &PayloadError) -> bool {
    matches!(error, PayloadError::Io(error) if error.kind() == io::ErrorKind::TimedOut)
}

fn within(body: Bytes, limit: usize) -> Result<Bytes> {
    if body.len() > limit { Err(ApiError::TooLarge { limit }) } else { Ok(body) }
}

/// Returns the error for a body that cannot be read.
fn broken(error: &PayloadError) -> ApiError {
    if is_too_slow(error) {
        return ApiError::BodyTooSlow;
    }
    ApiError::Http(StatusCode::BAD_REQUEST, format!("The body cannot be read: {error}"))
}
