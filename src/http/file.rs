//! Files on their way in and out. Bytes pass through in both directions; neither a whole file nor a connection to the
//! database is held for a slow client.

use actix_web::HttpResponse;
use actix_web::body::SizedStream;
use actix_web::http::header;
use bytes::Bytes;
use futures_util::{Stream, stream};
use platform_actors::Error;
use platform_actors::model::binary::Binary;
use platform_actors::model::id::TenantId;
use platform_actors::store::binaries::Upload;
use platform_actors::store::{self, Database};

use crate::http::body::Unread;
use crate::http::error::{ApiError, Result};

/// What a form may hold beside object and file: boundaries, headers of parts, parts nobody asked for.
pub const FRAMING: usize = 256 << 10;

/// 200 with the bytes, with their own media type and as a file to save (V-05). Content that is deleted or replaced
/// meanwhile ends the answer early, which the client sees by its length.
pub fn found(database: Database, tenant: TenantId, binary: Binary) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CONTENT_TYPE, binary.content_type.clone()));
    response.insert_header((header::CONTENT_DISPOSITION, binary.disposition()));
    // What somebody uploaded is never to be taken for a page of this server.
    response.insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    let length = binary.length.unsigned_abs();
    response.body(SizedStream::new(length, Box::pin(content(database, tenant, binary))))
}

/// Stores a body that is a file as it is.
///
/// # Errors
/// `TooLarge` beyond `limit` bytes, 400 when the body ends too early, what the store answers.
pub async fn receive(upload: &mut Upload, body: &mut Unread, limit: usize) -> Result<()> {
    while let Some(chunk) = body.chunk().await? {
        check_size(limit, upload, &chunk)?;
        upload.write(chunk).await?;
    }
    Ok(())
}

/// Refuses the bytes that would make an upload too large.
///
/// # Errors
/// `TooLarge`.
pub fn check_size(limit: usize, upload: &Upload, chunk: &Bytes) -> Result<()> {
    match upload.length() + chunk.len() as u64 <= limit as u64 {
        true => Ok(()),
        false => Err(ApiError::TooLarge { limit }),
    }
}

/// The bytes, chunk by chunk: the next is read when the connection has taken the last.
fn content(database: Database, tenant: TenantId, binary: Binary) -> impl Stream<Item = Result<Bytes, Error>> {
    stream::try_unfold((0, binary.length), move |(number, left)| {
        let (database, tenant, id) = (database.clone(), tenant.clone(), binary.id);
        async move {
            if left <= 0 {
                return Ok(None);
            }
            let bytes = store::binaries::read_chunk(&database, &tenant, id, number).await?;
            let left = left - bytes.len() as i64;
            Ok(Some((bytes, (number + 1, left))))
        }
    })
}
