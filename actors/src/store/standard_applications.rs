//! The applications every deployment starts with (W-16): made once. What the operator does with them afterwards stays.

use super::Database;
use super::announcements::{Change, change};
use super::application_changes::{StoredSecrets, insert};
use crate::error::Result;
use crate::model::application::Application;

const FIND: &str = include_str!("../../../sql/queries/standard_applications/find.sql");
const CLAIM: &str = include_str!("../../../sql/queries/standard_applications/claim.sql");

/// Whether this deployment had its standard applications made, be they there or deleted.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn were_made(database: &Database) -> Result<bool> {
    Ok(database.reader().await?.query_one(FIND, &[]).await?.get(0))
}

/// Makes the standard applications, unless this deployment had them made. One transaction.
///
/// # Errors
/// `Duplicate` names what is taken; `Unavailable` or `Database`.
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
