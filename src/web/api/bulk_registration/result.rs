//! The result of a bulk registration: counts, and two lists as long as the file (docs/rules.md#bulk-registration).

use actix_web::HttpResponse;
use actix_web::body::SizedStream;
use actix_web::http::header;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use platform_actors::background::bulk_registration::Registered;
use platform_model::devices::bulk_registration::RowIdentity;
use platform_model::error::Error;
use serde::Serialize;

use crate::http::error::Result;
use crate::http::spool::Spool;

/// The result of the rows so far. The lists grow on disk.
#[derive(Default)]
pub(super) struct RegistrationResult {
    created: u64,
    /// The devices that existed and log in with certificates.
    unchanged: u64,
    updated: JsonArray,
    failed: JsonArray,
}

impl RegistrationResult {
    /// Adds the result of a row.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub(super) async fn note(&mut self, place: &RowIdentity, registered: &Registered) -> Result<()> {
        match registered {
            Registered::Created => {
                self.created += 1;
                Ok(())
            }
            Registered::Unchanged => {
                self.unchanged += 1;
                Ok(())
            }
            Registered::CredentialUpdated => self.updated.add(&place.updated()).await,
            Registered::Failed(reason) => self.failed.add(&place.failed(reason)).await,
        }
    }

    /// Responds 201 with the result, whether or not the client sent `Accept`: the result is the purpose of
    /// the request, and no single object could be its `Location`. The lists are streamed from disk.
    ///
    /// # Errors
    /// The errors of [`RegistrationResult::note`].
    pub(super) async fn respond(self, media_type: String) -> Result<HttpResponse> {
        let Self { created, unchanged, updated, failed } = self;
        let successful = created + unchanged + updated.count;
        let all = successful + failed.count;
        let counts = format!(
            "{{\"numberOfAll\":{all},\"numberOfCreated\":{created},\"numberOfFailed\":{},\
             \"numberOfSuccessful\":{successful},\"credentialUpdatedList\":[",
            failed.count
        );
        let (updated, failed) = (updated.entries.finish().await?, failed.entries.finish().await?);
        let between = "],\"failedCreationList\":[";
        let end = "]}";
        let length = updated.length + failed.length + (counts.len() + between.len() + end.len()) as u64;
        let body =
            text(counts).chain(updated.stream()).chain(text(between)).chain(failed.stream()).chain(text(end));
        let mut response = HttpResponse::Created();
        response.insert_header((header::CONTENT_TYPE, media_type));
        Ok(response.body(SizedStream::new(length, Box::pin(body))))
    }
}

fn text(text: impl Into<Bytes>) -> impl Stream<Item = Result<Bytes, Error>> {
    let text = text.into();
    stream::once(async move { Ok(text) })
}

/// The members of a JSON array.
#[derive(Default)]
struct JsonArray {
    entries: Spool,
    count: u64,
}

impl JsonArray {
    async fn add(&mut self, entry: &impl Serialize) -> Result<()> {
        let mut json = if self.count > 0 { vec![b','] } else { Vec::new() };
        serde_json::to_writer(&mut json, entry)
            .expect("writing to memory does not fail and all keys are strings");
        self.count += 1;
        self.entries.write(&json).await
    }
}
