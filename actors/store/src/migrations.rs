//! Schema migrations: forward only, checksummed, one process at a time.

use refinery::Runner;
use tokio_postgres::Client;

use platform_model::error::{Error, Noun, Result};

use crate::connect::Connector;

mod embedded {
    refinery::embed_migrations!("../../sql/migrations");
}

/// An arbitrary number, the same in every server process.
const ADVISORY_LOCK: i64 = 0x706c_6174_666f_726d;

/// Brings the schema up to date.
///
/// # Errors
/// `Unavailable` or `Invalid` with the address when the connection fails; `Conflict` when neither this program nor an
/// earlier version made the schema.
pub(super) async fn run(connector: &Connector) -> Result<()> {
    let (mut client, connection) = connector.connect().await.map_err(|error| refused_at(connector, error))?;
    let driver = tokio::spawn(connection);
    // A migration may take longer than the query of a client may.
    client.batch_execute("SET statement_timeout = 0").await?;
    client.execute("SELECT pg_advisory_lock($1)", &[&ADVISORY_LOCK]).await?;
    let runner = embedded::migrations::runner();
    let outcome = match runner.run_async(&mut client).await {
        Ok(_) => Ok(()),
        Err(error) => Err(misfit(&runner, &client, &error).await),
    };
    client.execute("SELECT pg_advisory_unlock($1)", &[&ADVISORY_LOCK]).await?;
    drop(client);
    // The driver ends with the client; its result no longer matters.
    let _ = driver.await;
    outcome
}

/// Returns why the connection to the operator's PostgreSQL failed, with its address.
fn refused_at(connector: &Connector, error: tokio_postgres::Error) -> Error {
    let at = connector.addresses();
    match Error::from(error) {
        Error::Unavailable(cause) => {
            Error::unavailable(format!("PostgreSQL at {at} cannot be reached: {cause}"))
        }
        other => Error::Invalid(format!("PostgreSQL at {at} refuses the connection: {other}")),
    }
}

/// Returns why the schema cannot be migrated. The usual reason is that a newer program was replaced by an older one.
async fn misfit(runner: &Runner, client: &Client, error: &refinery::Error) -> Error {
    let known = runner.get_migrations().iter().map(|migration| i64::from(migration.version())).max();
    let newest = "SELECT max(version)::bigint FROM refinery_schema_history";
    // If this query fails, it fails for the same reason as the migration, whose error is reported then.
    let found = client.query_one(newest, &[]).await.ok().and_then(|row| row.get::<_, Option<i64>>(0));
    let message = match (found, known) {
        (Some(found), Some(known)) if found > known => format!(
            "its schema has version {found}, this program knows versions up to {known}: a newer program migrated it. \
             Start that one, or restore a copy of the database from before it"
        ),
        _ => format!("the schema does not fit this server: {error}"),
    };
    Error::Conflict { noun: Noun::Tenant, message }
}
