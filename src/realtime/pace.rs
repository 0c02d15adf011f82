//! The limits of tenants for clients that hold connections (Z-20): their messages wait instead of being rejected, so that
//! they keep their sessions, and their sockets are counted.

use std::sync::Arc;
use std::time::Duration;

use platform_model::error::Error;
use platform_model::limits::Limits;
use platform_store::tenant_limits::{Counted, TenantLimits};
use tokio::time::{Instant, sleep};

use crate::auth::Caller;

/// How long a message of a tenant waits that exceeds its rate, at most.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Counts a message, and waits if the tenant exceeds its rate: until there is room, but not so long that the session of
/// the client would end.
pub(crate) async fn count_patiently(caller: &Caller, limits: &Limits) {
    let requests = caller.limits.requests();
    let deadline = Instant::now() + LONGEST_WAIT.min(limits.session_interval / 2);
    while let Err(wait) = requests.admit(1) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        sleep(wait.min(left)).await;
    }
}

/// An open WebSocket, which counts for its tenant until this is dropped.
pub(super) struct CountedSocket(Arc<TenantLimits>);

impl CountedSocket {
    /// Counts a socket.
    ///
    /// # Errors
    /// `QuotaExceeded` when the tenant has as many as it may have.
    pub(super) fn of(caller: &Caller) -> Result<Self, Error> {
        let limits = caller.limits.clone();
        limits.add(Counted::WebSockets);
        let counted = Self(limits);
        counted.0.check(Counted::WebSockets)?;
        Ok(counted)
    }

    /// Returns whether it counts for the tenant of a caller.
    pub(super) fn is_of(&self, caller: &Caller) -> bool {
        Arc::ptr_eq(&self.0, &caller.limits)
    }
}

impl Drop for CountedSocket {
    fn drop(&mut self) {
        self.0.subtract(Counted::WebSockets);
    }
}
