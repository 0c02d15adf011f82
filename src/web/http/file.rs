//! Transfers files in requests and responses. The bytes are streamed in both directions; a slow client occupies neither
//! memory for a whole file nor a database connection.

use std::ops::Range;

use actix_web::HttpResponse;
use actix_web::body::SizedStream;
use actix_web::http::{Method, header};
use bytes::Bytes;
use futures_util::{Stream, stream};
use platform_model::data::binary::Binary;
use platform_model::error::{Error, Noun};
use platform_model::id::{BinaryId, TenantId};
use platform_store::data::binaries::{ChunkPosition, Upload};
use platform_store::shares::{self, Charged};
use platform_store::{self, Database};

use crate::http::RequestHead;
use crate::http::body::UnreadBody;
use crate::http::error::{ApiError, Result};
use crate::http::head::Head;
use crate::http::range::{self, RequestedRange};

/// The number of bytes that a form may contain in addition to object and file: boundaries, part headers, unexpected
/// parts.
pub const FRAMING: usize = 256 << 10;

/// Returns a 200 with the file as a download, with its own media type (V-05), or a 206 with the range of it that the
/// client requests (I-14a). When the content is deleted or replaced meanwhile, the response ends early, which the
/// client detects by its length.
///
/// # Errors
/// `RangeNotSatisfiable` for a range that does not exist; `NotFound` when the content was deleted meanwhile;
/// `Unavailable` or `Database`.
pub async fn found(
    head: &RequestHead,
    database: Database,
    tenant: TenantId,
    binary: Binary,
) -> Result<HttpResponse> {
    let length = binary.length.unsigned_abs();
    // Another content has another id, so the tag is strong.
    let tag = format!("\"{}\"", binary.id);
    let requested = match *head.method() {
        Method::GET => range::requested(head.headers(), &tag, length),
        // The header has no meaning for HEAD (RFC 9110, 14.2).
        _ => RequestedRange::Whole,
    };
    let (mut response, range) = match requested {
        RequestedRange::Whole => (HttpResponse::Ok(), 0..length),
        RequestedRange::Nothing => return Err(ApiError::RangeNotSatisfiable { length }),
        RequestedRange::Part(range) => {
            let mut response = HttpResponse::PartialContent();
            let shown = format!("bytes {}-{}/{length}", range.start, range.end - 1);
            response.insert_header((header::CONTENT_RANGE, shown));
            (response, range)
        }
    };
    let first = match range.start {
        0 => ChunkPosition::default(),
        start => {
            platform_store::data::binaries::find_chunk_with(&database, &tenant, binary.id, start).await?
        }
    };
    response.insert_header((header::CONTENT_TYPE, binary.content_type.clone()));
    response.insert_header((header::CONTENT_DISPOSITION, binary.disposition()));
    response.insert_header((header::ACCEPT_RANGES, "bytes"));
    response.insert_header((header::ETAG, tag));
    // A browser must never treat an uploaded file as a page of this server.
    response.insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    let content = content(database, tenant, binary.id, first, range.clone());
    Ok(response.body(SizedStream::new(range.end - range.start, Box::pin(content))))
}

/// Stores a body that is a file.
///
/// # Errors
/// `TooLarge` beyond `limit` bytes, 400 when the body ends too early, and the errors of the store.
pub async fn receive(upload: &mut Upload, body: &mut UnreadBody, limit: usize) -> Result<()> {
    while let Some(chunk) = body.chunk().await? {
        check_size(limit, upload, &chunk)?;
        upload.write(chunk).await?;
    }
    Ok(())
}

/// Rejects a chunk that would make an upload too large.
///
/// # Errors
/// `TooLarge`.
pub fn check_size(limit: usize, upload: &Upload, chunk: &Bytes) -> Result<()> {
    if upload.length() + chunk.len() as u64 <= limit as u64 {
        Ok(())
    } else {
        Err(ApiError::TooLarge { limit })
    }
}

/// Streams the bytes of a range, which begins in the chunk `first`. The next chunk is read from the database when the
/// connection has accepted the previous one.
fn content(
    database: Database,
    tenant: TenantId,
    id: BinaryId,
    first: ChunkPosition,
    range: Range<u64>,
) -> impl Stream<Item = Result<Bytes, Error>> {
    let charged = shares::charged().unwrap_or_else(|| Charged { tenant: tenant.clone(), user: "".into() });
    stream::try_unfold((first, range), move |(chunk, range)| {
        let (database, tenant) = (database.clone(), tenant.clone());
        let charged = charged.clone();
        async move {
            if range.is_empty() {
                return Ok(None);
            }
            let read = platform_store::data::binaries::read_chunk(&database, &tenant, id, chunk.number);
            // The next chunk waits for a turn of its user, so that many downloads do not slow down others.
            let bytes = shares::of_charged(charged, read).await?;
            let next = chunk.start + bytes.len() as u64;
            let end = range.end.min(next);
            if end <= range.start {
                return Err(Error::not_found(Noun::Binary, id));
            }
            let within = |place: u64| (place - chunk.start) as usize;
            let piece = bytes.slice(within(range.start)..within(end));
            let following = ChunkPosition { number: chunk.number + 1, start: next };
            Ok(Some((piece, (following, end..range.end))))
        }
    })
}
