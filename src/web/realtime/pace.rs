//! Limits of a tenant for clients with open connections (Z-20). Messages above the rate wait and are not rejected, so
//! that clients keep their sessions. The number of sockets is limited.

use std::sync::Arc;
use std::time::Duration;

use platform_model::error::Error;
use platform_model::limits::Limits;
use platform_store::Database;
use platform_store::tenancy::tenant_limits::{Counted, TenantLimits};
use tokio::time::{Instant, sleep};

use crate::auth::Caller;

/// The longest time that a message above the rate of its tenant waits.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Counts messages and, if the tenant exceeds its rate, waits until the rate permits them. The wait ends early enough
/// for the session of the client not to expire.
pub(crate) async fn count_patiently(caller: &Caller, messages: u64, limits: &Limits) {
    let requests = caller.limits.requests();
    let deadline = Instant::now() + LONGEST_WAIT.min(limits.session_interval / 2);
    while let Err(wait) = requests.admit(messages) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        sleep(wait.min(left)).await;
    }
}

/// An open WebSocket, which is counted for its tenant until this is dropped.
pub(super) struct CountedSocket(Arc<TenantLimits>);

impl CountedSocket {
    /// Counts a socket whose caller is known, after servers have agreed on their counts if the limit is nearly used up.
    ///
    /// # Errors
    /// `QuotaExceeded` when the tenant has reached its limit.
    pub(super) async fn agreed(caller: Option<&Caller>, database: &Database) -> Result<Option<Self>, Error> {
        let Some(caller) = caller else { return Ok(None) };
        database.agree_on(&caller.limits, Counted::WebSockets).await;
        Self::of(caller).map(Some)
    }

    /// Counts a socket.
    ///
    /// # Errors
    /// `QuotaExceeded` when the tenant has reached its limit.
    pub(super) fn of(caller: &Caller) -> Result<Self, Error> {
        let limits = caller.limits.clone();
        limits.add(Counted::WebSockets);
        let counted = Self(limits);
        counted.0.check(Counted::WebSockets)?;
        Ok(counted)
    }

    /// Returns whether the socket is counted for the tenant of this caller.
    pub(super) fn is_of(&self, caller: &Caller) -> bool {
        Arc::ptr_eq(&self.0, &caller.limits)
    }
}

impl Drop for CountedSocket {
    fn drop(&mut self) {
        self.0.subtract(Counted::WebSockets);
    }
}
