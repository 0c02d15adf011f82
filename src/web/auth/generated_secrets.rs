//! The verification of secrets that the platform generated: of this deployment, or of one from which a tenant came
//! (Z-21).

use std::sync::atomic::{AtomicU64, Ordering};

use platform_front::secrets::secret_key;

use super::Authenticator;
use crate::http::error::Result;

/// How often tenants have changed, and up to which change the hashing keys of other deployments are read.
#[derive(Default)]
pub(super) struct ForeignKeys {
    changes: AtomicU64,
    read: AtomicU64,
}

impl ForeignKeys {
    /// Notes that a tenant may have come from another deployment.
    pub(super) fn outdate(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}

impl Authenticator {
    /// Compares a secret with a hash. The keys of other deployments are read when a comparison fails after a tenant has
    /// changed, so a device of a tenant that has just arrived is known at once.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn verifies(&self, secret: &str, hash: &str) -> Result<bool> {
        if self.secret_key.verifies(secret, hash) {
            return Ok(true);
        }
        let ForeignKeys { changes, read } = &self.foreign_keys;
        let now = changes.load(Ordering::Acquire);
        if read.load(Ordering::Acquire) >= now {
            return Ok(false);
        }
        if !secret_key::learn(&self.secret_key, &self.database).await? {
            tracing::error!(
                "a hashing key of another deployment cannot be opened; its devices cannot log in"
            );
        }
        read.fetch_max(now, Ordering::AcqRel);
        Ok(self.secret_key.verifies(secret, hash))
    }
}
