//! The files that are being registered: how many each tenant may have at once, and when one ends early.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use platform_front::stop::Stop;
use platform_model::error::Error;
use platform_model::id::TenantId;
use tokio::time::timeout;

use crate::http::RequestHead;
use crate::http::error::{ApiError, Result};

/// The time that a batch of rows has to be stored after the end of its file. A batch that waits for the database longer
/// is not stored.
const LAST_BATCH: Duration = Duration::from_millis(500);
/// The number of seconds after which a tenant with too many files may try again.
const RETRY_AFTER: u64 = 10;

/// The number of files of each tenant that are being registered at this server.
#[derive(Debug, Default)]
pub struct FilesUnderWay(Arc<Mutex<HashMap<TenantId, usize>>>);

/// A file that is being registered; dropping this ends it.
#[derive(Debug)]
pub(super) struct FileUnderWay {
    files: Arc<Mutex<HashMap<TenantId, usize>>>,
    tenant: TenantId,
}

impl FilesUnderWay {
    /// Counts a file of a tenant, unless `most` are under way already.
    ///
    /// # Errors
    /// `TooManyRequests` (N-18).
    pub(super) fn begin(&self, tenant: &TenantId, most: usize) -> Result<FileUnderWay> {
        let mut files = self.0.lock();
        let count = files.entry(tenant.clone()).or_default();
        if *count >= most {
            let of = "files of devices of this tenant at once (setting --registration-files-per-tenant)";
            return Err(ApiError::TooManyRequests { of, retry_after: RETRY_AFTER });
        }
        *count += 1;
        Ok(FileUnderWay { files: self.0.clone(), tenant: tenant.clone() })
    }
}

impl Drop for FileUnderWay {
    fn drop(&mut self) {
        let mut files = self.files.lock();
        if let Some(count) = files.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                files.remove(&self.tenant);
            }
        }
    }
}

/// The reasons that end a registration before its file ends (N-18).
pub(super) struct EarlyEnd<'a> {
    pub(super) head: &'a RequestHead,
    pub(super) stop: &'a Stop,
}

impl EarlyEnd<'_> {
    /// Performs work, unless the client leaves or the server stops before it has finished.
    ///
    /// # Errors
    /// The error of the work; `Unavailable` when the client left, `Stopping` when the server stops.
    pub(super) async fn or<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            reason = self.came() => Err(reason),
            done = work => done,
        }
    }

    /// Performs work as [`or`](Self::or) does, but leaves it some time to finish.
    ///
    /// # Errors
    /// The errors of [`or`](Self::or).
    pub(super) async fn soon_after<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut work = pin!(work);
        let reason = tokio::select! {
            biased;
            done = &mut work => return done,
            reason = self.came() => reason,
        };
        timeout(LAST_BATCH, work).await.unwrap_or(Err(reason))
    }

    async fn came(&self) -> ApiError {
        tokio::select! {
            () = self.stop.begun() => ApiError::Stopping,
            () = self.head.client_left() => Error::unavailable("the client left").into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenant_has_as_many_files_at_once_as_it_may() {
        let (files, a) = (FilesUnderWay::default(), TenantId::parse("a").expect("an id"));
        let b = TenantId::parse("b").expect("an id");
        let first = files.begin(&a, 2).expect("the first");
        let _second = files.begin(&a, 2).expect("the second");

        assert!(matches!(files.begin(&a, 2), Err(ApiError::TooManyRequests { .. })));
        assert!(files.begin(&b, 2).is_ok(), "another tenant");
        drop(first);

        assert!(files.begin(&a, 2).is_ok());
        assert_eq!(files.0.lock().len(), 1, "only tenants with files are kept");
    }
}
