//! Transfers files in requests and responses. The bytes are streamed in both directions; a slow client occupies neither
//! memory for a whole file nor a database connection.

use actix_web::HttpResponse;
use actix_web::body::SizedStream;
use actix_web::http::header;
use bytes::Bytes;
use futures_util::{Stream, stream};
use platform_model::binary::Binary;
use platform_model::error::Error;
use platform_model::id::TenantId;
use platform_store::binaries::Upload;
use platform_store::{self, Database, shares};

use crate::http::body::UnreadBody;
use crate::http::error::{ApiError, Result};

/// The number of bytes that a form may contain in addition to object and file: boundaries, part headers, unexpected
/// parts.
pub const FRAMING: usize = 256 << 10;

/// Returns a 200 with the file as a download, with its own media type (V-05). When the content is deleted or replaced
/// meanwhile, the response ends early, which the client detects by its length.
pub fn found(database: Database, tenant: TenantId, binary: Binary) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CONTENT_TYPE, binary.content_type.clone()));
    response.insert_header((header::CONTENT_DISPOSITION, binary.disposition()));
    // A browser must never treat an uploaded file as a page of this server.
    response.insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    let length = binary.length.unsigned_abs();
    response.body(SizedStream::new(length, Box::pin(content(database, tenant, binary))))
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

/// Streams the bytes. The next chunk is read from the database when the connection has accepted the previous one.
fn content(database: Database, tenant: TenantId, binary: Binary) -> impl Stream<Item = Result<Bytes, Error>> {
    stream::try_unfold((0, binary.length), move |(number, left)| {
        let (database, tenant, id) = (database.clone(), tenant.clone(), binary.id);
        async move {
            if left <= 0 {
                return Ok(None);
            }
            let read = platform_store::binaries::read_chunk(&database, &tenant, id, number);
            // The next chunk waits for a turn of its tenant, so that many downloads do not slow down other tenants.
            let bytes = shares::of_tenant(&tenant, read).await?;
            let left = left - bytes.len() as i64;
            Ok(Some((bytes, (number + 1, left))))
        }
    })
}
