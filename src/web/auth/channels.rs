//! The right to receive what a named consumer receives: that to subscribe to each of its channels (B-01).

use platform_actors::Platform;
use platform_actors::session::{self, Rights, Verdict};
use platform_model::realtime::bayeux::Pattern;

use super::Caller;
use crate::http::error::{ApiError, Result};

/// Checks that the caller may receive what a consumer with these channels receives. Nothing is published on the channel
/// of an object that does not exist any more.
///
/// # Errors
/// 403, which names the channel; `Unavailable` or `Database`.
pub(crate) async fn ensure_readable(
    caller: &Caller,
    platform: &Platform,
    channels: &[Pattern],
) -> Result<()> {
    match denied(caller, platform, channels).await? {
        Some((channel, Verdict::Denied)) => Err(forbidden(&channel)),
        _ => Ok(()),
    }
}

/// Returns a channel that the caller may not receive, or else one whose object does not exist.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn denied(
    caller: &Caller,
    platform: &Platform,
    channels: &[Pattern],
) -> Result<Option<(Pattern, Verdict)>> {
    let rights = Rights { user: &caller.user, roles: &caller.roles, permissions: &caller.permissions };
    let asked: Vec<_> = channels.iter().map(|channel| (rights, std::slice::from_ref(channel))).collect();
    let verdicts = Box::pin(session::may_receive(platform.database(), &caller.tenant, &asked)).await?;
    let refused = channels.iter().zip(verdicts).filter(|(_, verdict)| *verdict != Verdict::Allowed);
    Ok(refused.max_by_key(|(_, verdict)| *verdict).map(|(channel, verdict)| (channel.clone(), verdict)))
}

/// Creates the error for a channel that the user may not receive.
pub(crate) fn forbidden(channel: &Pattern) -> ApiError {
    ApiError::forbidden_because(format!(
        "the user may not receive the channel {channel}, which requires {}",
        channel.role()
    ))
}
