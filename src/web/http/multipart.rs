//! Reads `multipart/form-data` part by part, as it arrives and no faster than it is processed.

use std::cell::Cell;
use std::rc::Rc;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::HttpRequest;
use actix_web::error::PayloadError;
use actix_web::http::header;
use bytes::Bytes;
use futures_util::future::ready;
use futures_util::{Stream, StreamExt, stream};
use platform_front::stop::Stop;
use platform_model::error::Error;

use crate::http::RequestHead;
use crate::http::body::{UnreadBody, is_too_slow};
use crate::http::error::{ApiError, Result};
use crate::http::head::Head;
use crate::http::held_bytes::Share;
use crate::http::part_heads::HeadDecoder;

/// The maximum number of parts of one form; the rules name three.
const MAX_PARTS: usize = 32;
/// The media type of a form.
pub const FORM_DATA: &str = "multipart/form-data";

/// A form that is being read.
pub struct Form {
    parts: Multipart,
    bounds: Bounds,
    count: usize,
}

/// The size limit of a form, whether it was exceeded, and the request of the form.
#[derive(Clone)]
struct Bounds {
    limit: usize,
    exceeded: Rc<Cell<bool>>,
    request: HttpRequest,
}

/// One part of a form.
pub struct Part {
    field: Field,
    bounds: Bounds,
}

/// Returns whether the body is a form according to its headers.
pub fn is_form(head: &RequestHead) -> bool {
    head.body_type().eq_ignore_ascii_case(FORM_DATA)
}

impl Form {
    /// Starts to read a body of at most `limit` bytes.
    ///
    /// # Errors
    /// `UnsupportedMediaType` for a body that is not a form, `UnsupportedContentEncoding` for a form with a content
    /// coding, `TooLarge` for a body whose announced length exceeds the limit.
    pub async fn new(head: &RequestHead, body: UnreadBody, limit: usize) -> Result<Self> {
        if !is_form(head) {
            let content_type = head.content_type().unwrap_or_default();
            let message = format!("Unsupported type of body: {content_type}; allowed: {FORM_DATA}");
            return Err(ApiError::UnsupportedMediaType(message));
        }
        let too_large = body.announced().is_some_and(|length| length > limit);
        let refusal = body.check_coding().err().or(too_large.then_some(ApiError::TooLarge { limit }));
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let bounds = Bounds { limit, exceeded: Rc::default(), request: body.request().clone() };
        let (exceeded, mut left) = (bounds.exceeded.clone(), limit);
        let bounded = body.into_payload().map(move |chunk| {
            let chunk = chunk?;
            match left.checked_sub(chunk.len()) {
                Some(rest) => left = rest,
                None => {
                    exceeded.set(true);
                    return Err(PayloadError::Overflow);
                }
            }
            Ok(chunk)
        });
        let decoded = with_decoded_heads(bounded, head.content_type().unwrap_or_default());
        Ok(Self { parts: Multipart::new(head.headers(), decoded), bounds, count: 0 })
    }

    /// Returns the next part and discards the unread rest of the previous one. Returns `None` after the last part.
    ///
    /// # Errors
    /// `Malformed` for an invalid form, `TooLarge` beyond the limit.
    pub async fn next(&mut self) -> Result<Option<Part>> {
        let next = self.parts.next().await.transpose().map_err(|error| self.bounds.refusal(&error))?;
        let Some(field) = next else { return Ok(None) };
        self.count += 1;
        if self.count > MAX_PARTS {
            let given = format!("more than {MAX_PARTS} parts");
            return Err(Error::invalid_value("body", given, &format!("at most {MAX_PARTS}")).into());
        }
        Ok(Some(Part { field, bounds: self.bounds.clone() }))
    }
}

/// Returns the bytes of a form whose heads of parts are UTF-8 (N-12a).
fn with_decoded_heads<S>(
    payload: S,
    content_type: &str,
) -> impl Stream<Item = Result<Bytes, PayloadError>> + use<S>
where
    S: Stream<Item = Result<Bytes, PayloadError>>,
{
    let mut decoder = HeadDecoder::of(content_type);
    payload.map(Some).chain(stream::once(ready(None))).map(move |chunk| {
        let bytes = chunk.transpose()?;
        Ok(match (&mut decoder, bytes) {
            (Some(decoder), Some(bytes)) => decoder.push(&bytes),
            (Some(decoder), None) => decoder.finish(),
            (None, bytes) => bytes.unwrap_or_default(),
        })
    })
}

impl Part {
    /// Returns the name of the part.
    pub fn name(&self) -> &str {
        self.field.name().unwrap_or_default()
    }

    /// Returns the file name that the client sent.
    pub fn file_name(&self) -> Option<&str> {
        let disposition = self.field.content_disposition()?;
        let extended = disposition.get_filename_ext().and_then(|name| std::str::from_utf8(&name.value).ok());
        extended.or_else(|| disposition.get_filename())
    }

    /// Returns the media type of the part, if it is text.
    pub fn content_type(&self) -> Option<&str> {
        self.field.headers().get(header::CONTENT_TYPE)?.to_str().ok()
    }

    /// Returns the next bytes, or `None` at the end of the part.
    ///
    /// # Errors
    /// `Malformed` when the part ends too early, `TooLarge` beyond the limit of the form.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        self.field.next().await.transpose().map_err(|error| self.bounds.refusal(&error))
    }

    /// Reads the whole part.
    ///
    /// # Errors
    /// The errors of [`Part::chunk`]; `TooLarge` beyond `limit` bytes; `TooManyRequests` when unfinished bodies occupy
    /// too much memory.
    pub async fn read(mut self, limit: usize) -> Result<Vec<u8>> {
        let (mut bytes, mut share) = (Vec::new(), None);
        while let Some(chunk) = self.chunk().await? {
            let length = bytes.len() + chunk.len();
            if length > limit {
                return Err(ApiError::TooLarge { limit });
            }
            Share::cover(&mut share, &self.bounds.request, length)?;
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

fn reason(error: &MultipartError) -> String {
    match error {
        MultipartError::Payload(PayloadError::Overflow) => "the head of a part is longer than 64 KiB".into(),
        MultipartError::Payload(cause) => cause.to_string(),
        MultipartError::Parse(cause) => format!("the head of a part: {cause}"),
        other => other.to_string(),
    }
}

impl Bounds {
    fn refusal(&self, error: &MultipartError) -> ApiError {
        match (self.exceeded.get(), self.request.state::<Stop>().grace_is_over(), error) {
            (true, ..) => ApiError::TooLarge { limit: self.limit },
            (false, true, _) => ApiError::Stopping,
            (_, _, MultipartError::Payload(error)) if is_too_slow(error) => ApiError::BodyTooSlow,
            _ => Error::Malformed(format!("Malformed {FORM_DATA}: {}", reason(error))).into(),
        }
    }
}
