//! The audit records of sessions that administrators end.

use platform_model::data::audit_record::AttributeChange;
use platform_model::error::Result;
use platform_model::users::user::Administration;

use super::audit::audit;
use crate::Database;

/// Stores an audit record of the end of a session of this user. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn record_end(
    database: &Database,
    administration: &Administration,
    user: &str,
    session: &str,
) -> Result<()> {
    let client = database.loader().await?;
    let change = AttributeChange::replaced("session", session, "");
    audit(&*client, administration, "Session", "Session ended", user.to_owned(), vec![change]).await
}
