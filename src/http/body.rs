//! Reading a request body, within its limit.

use std::time::{Duration, Instant};

use actix_web::http::{StatusCode, header};
use actix_web::{FromRequest, HttpRequest, dev, error::PayloadError, web};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use platform_actors::model::body::Body;

use crate::http::error::{ApiError, Result};

/// A body that has not been read yet, so that everything else is checked first (E-04).
pub struct Unread {
    payload: web::Payload,
    announced: Option<usize>,
}

impl FromRequest for Unread {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let length = request.headers().get(header::CONTENT_LENGTH);
        let announced = length.and_then(|value| value.to_str().ok()?.parse().ok());
        let payload = web::Payload::from_request(request, payload).into_inner();
        std::future::ready(
            payload.map(|payload| Self { payload, announced }).map_err(|e| {
                ApiError::Http(StatusCode::BAD_REQUEST, format!("The body cannot be read: {e}"))
            }),
        )
    }
}

impl Unread {
    /// Reads the body whole.
    ///
    /// # Errors
    /// `TooLarge` beyond `limit` bytes, as soon as that is known; 400 when it ends too early.
    pub async fn read(mut self, limit: usize) -> Result<Bytes> {
        if self.announced.is_some_and(|length| length > limit) {
            self.refuse().await;
            return Err(ApiError::TooLarge { limit });
        }
        let Some(first) = self.payload.next().await.transpose().map_err(broken)? else {
            return Ok(Bytes::new());
        };
        let Some(second) = self.payload.next().await.transpose().map_err(broken)? else {
            return within(first, limit);
        };
        let mut body = BytesMut::from(first);
        body.extend_from_slice(&second);
        while let Some(chunk) = self.payload.next().await.transpose().map_err(broken)? {
            if body.len() + chunk.len() > limit {
                self.refuse().await;
                return Err(ApiError::TooLarge { limit });
            }
            body.extend_from_slice(&chunk);
        }
        within(body.freeze(), limit)
    }

    /// How long the body is, when the client said so.
    pub fn announced(&self) -> Option<usize> {
        self.announced
    }

    /// The next bytes of a body that is too long to be read whole; `None` at its end.
    ///
    /// # Errors
    /// 400 when it ends too early.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        self.payload.next().await.transpose().map_err(broken)
    }

    /// The body as it comes.
    pub fn into_payload(self) -> web::Payload {
        self.payload
    }

    /// Waits until a client whose body is refused has stopped sending it; see [`pass_over`].
    pub async fn refuse(self) {
        pass_over(self.payload).await;
    }

    /// Reads the body as one JSON object.
    ///
    /// # Errors
    /// As [`Unread::read`], and what [`Body::parse`] finds wrong.
    pub async fn json(self, limit: usize) -> Result<Body> {
        Ok(Body::parse(&self.read(limit).await?)?)
    }
}

/// Bytes of a refused body that are passed over before the connection is closed.
const PASSED_OVER: usize = 128 << 20;
/// How long a refused body is passed over.
const PASSING_OVER: Duration = Duration::from_secs(30);
/// A client that has not sent anything for this long is waiting for its answer.
const PAUSE: Duration = Duration::from_millis(200);

/// Reads what a client still sends of a body that is refused, and forgets it. The connection is closed behind the
/// refusal, so a client in the middle of sending would find it broken instead of reading why.
pub async fn pass_over(mut rest: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin) {
    let (begun, mut left) = (Instant::now(), PASSED_OVER);
    while let Ok(Some(Ok(chunk))) = tokio::time::timeout(PAUSE, rest.next()).await {
        left = left.saturating_sub(chunk.len());
        if left == 0 || begun.elapsed() > PASSING_OVER {
            return;
        }
    }
}

fn within(body: Bytes, limit: usize) -> Result<Bytes> {
    if body.len() > limit { Err(ApiError::TooLarge { limit }) } else { Ok(body) }
}

fn broken(error: PayloadError) -> ApiError {
    ApiError::Http(StatusCode::BAD_REQUEST, format!("The body cannot be read: {error}"))
}
