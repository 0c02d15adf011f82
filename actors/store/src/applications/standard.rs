//! The applications of a new deployment (W-16). They are created once, and later changes by the operator stay.

use platform_model::applications::application::Application;
use platform_model::error::Result;

use crate::Database;
use crate::applications::changes::{StoredSecrets, insert};
use crate::realtime::announcements::{Change, change};

const FIND: &str = include_str!("../../../../sql/queries/standard_applications/find.sql");
const CLAIM: &str = include_str!("../../../../sql/queries/standard_applications/claim.sql");

/// Returns whether the standard applications of this deployment were created, even if they were deleted since.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn were_made(database: &Database) -> Result<bool> {
    Ok(database.reader().await?.query_one(FIND, &[]).await?.get(0))
}

/// Creates the standard applications, unless this deployment has created them before. One transaction.
///
/// # Errors
/// `Duplicate` names the conflicting value; `Unavailable` or `Database`.
pub async fn make(database: &Database, applications: &[(Application, StoredSecrets)]) -> Result<()> {
    change(database, async |transaction, announcements| {
        if transaction.execute(CLAIM, &[]).await? == 0 {
            return Ok(());
        }
        for (application, secrets) in applications {
            insert(transaction, announcements, application, secrets).await?;
            announcements.add(Change::Applications(application.owner.clone()));
        }
        Ok(())
    })
    .await
}
