//! The users that microservices act as: one bootstrap user in the owner's tenant (W-10), one service user in each subscriber's
//! (W-11). They go with the application, and with the subscription.

use deadpool_postgres::GenericClient;

use super::watch;
use crate::error::{Error, Result};
use crate::model::application::{Application, Duty};
use crate::model::id::TenantId;

const INSERT: &str = include_str!("../../../sql/queries/application_users/insert.sql");

/// The password of a new user, made by the edge: its hash, and sealed, for the microservice asks for it again.
#[derive(Debug, Clone)]
pub struct UserSecret {
    /// Keyed hash.
    pub hash: String,
    /// Ciphertext.
    pub sealed: String,
}

/// Creates the user that a microservice learns its subscribers as, as part of the transaction that creates the microservice.
///
/// # Errors
/// `Database`.
pub(super) async fn enter_bootstrap_user(
    client: &impl GenericClient,
    application: &Application,
    secret: &UserSecret,
) -> Result<()> {
    enter(client, &application.owner, application, Duty::Bootstrap, &[], secret).await
}

/// Creates a user of a microservice. A name that somebody else has gets the id of the application behind it.
async fn enter(
    client: &impl GenericClient,
    tenant: &TenantId,
    application: &Application,
    duty: Duty,
    roles: &[String],
    secret: &UserSecret,
) -> Result<()> {
    let name = format!("{}{}", duty.user_prefix(), application.name);
    let other_name = format!("{name}_{}", application.id);
    for name in [name, other_name] {
        let inserted = client
            .execute(
                INSERT,
                &[
                    &tenant.as_str(),
                    &name,
                    &secret.hash,
                    &secret.sealed,
                    &roles,
                    &application.id.0,
                    &duty.as_str(),
                ],
            )
            .await?;
        if inserted == 1 {
            return watch::announce(client, tenant, &name).await;
        }
    }
    Err(Error::unavailable("both names of a user of a microservice are taken"))
}
