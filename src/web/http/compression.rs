//! Compresses large lists for clients that ask for it (C-22). Devices do not ask, and the fast lane of real-time
//! requests does not pass through here.

use std::io::{self, Write};
use std::sync::LazyLock;
use std::thread::available_parallelism;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::ServiceResponse;
use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Bytes, block};
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::sync::Semaphore;

use super::encoding::accepts_gzip;
use super::reply::HasRevision;

/// The least size of a compressed body, in bytes. A shorter one takes few packets anyway.
const LEAST: u64 = 16 * 1024;

/// At most this many bodies are compressed at a time. Further ones are sent as they are, because nobody waits for a
/// processor to save bytes.
static FREE: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, Into::into)));

/// Compresses a response if its client asked for it and it is large JSON.
pub async fn for_client(response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    if is_wanted(&response) {
        // This future is boxed, so that the future of every other request stays small.
        Box::pin(compressed(response)).await
    } else {
        response
    }
}

/// Returns whether the client accepts gzip for this response, and the response is large JSON.
fn is_wanted(response: &ServiceResponse<BoxBody>) -> bool {
    let request = response.request();
    let large = matches!(response.response().body().size(), BodySize::Sized(size) if size >= LEAST);
    large
        && response.status() == StatusCode::OK
        && matches!(*request.method(), Method::GET | Method::HEAD)
        && is_plain_json(response)
        && accepts_gzip(request.headers())
}

/// Returns whether the body is JSON that the server wrote, and neither a file nor a secret: files have an `ETag` of
/// their bytes or may be read in parts, and no cache may keep secrets.
fn is_plain_json(response: &ServiceResponse<BoxBody>) -> bool {
    let headers = response.headers();
    let is_json = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains("json"));
    let is_tagged_file =
        headers.contains_key(header::ETAG) && !response.response().extensions().contains::<HasRevision>();
    headers.get(header::CONTENT_TYPE).is_some_and(is_json)
        && !is_tagged_file
        && [header::CONTENT_ENCODING, header::ACCEPT_RANGES, header::CACHE_CONTROL]
            .iter()
            .all(|name| !headers.contains_key(name))
}

/// Compresses a body on a thread that may block. The response stays as it is if it is generated while it is sent, or if
/// all permits are taken.
async fn compressed(response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let Ok(_permit) = FREE.try_acquire() else { return response };
    let (request, response) = response.into_parts();
    let (mut response, body) = response.into_parts();
    let body = match body.try_into_bytes() {
        Ok(plain) => match packed(plain.clone()).await {
            Some(packed) => {
                let headers = response.headers_mut();
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
                BoxBody::new(packed)
            }
            None => BoxBody::new(plain),
        },
        Err(generated) => generated,
    };
    ServiceResponse::new(request, response.set_body(body))
}

/// Returns the compressed bytes; `None` if the server stops meanwhile.
async fn packed(plain: Bytes) -> Option<Bytes> {
    block(move || gzip(&plain)).await.ok()?.ok()
}

fn gzip(plain: &[u8]) -> io::Result<Bytes> {
    let mut packed = GzEncoder::new(Vec::with_capacity(plain.len() / 8), Compression::fast());
    packed.write_all(plain)?;
    packed.finish().map(Into::into)
}
