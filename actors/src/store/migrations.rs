//! Schema migrations: forward only, checksummed, one process at a time.

use tokio_postgres::{Config, NoTls};

use crate::error::{Error, Noun, Result};

mod embedded {
    refinery::embed_migrations!("../sql/migrations");
}

/// Any number, the same in every server process.
const ADVISORY_LOCK: i64 = 0x706c_6174_666f_726d;

pub(super) async fn run(config: &Config) -> Result<()> {
    let (mut client, connection) = config.connect(NoTls).await?;
    let driver = tokio::spawn(connection);
    // A migration may take longer than a query of a client may.
    client.batch_execute("SET statement_timeout = 0").await?;
    client.execute("SELECT pg_advisory_lock($1)", &[&ADVISORY_LOCK]).await?;
    let outcome = embedded::migrations::runner().run_async(&mut client).await;
    client.execute("SELECT pg_advisory_unlock($1)", &[&ADVISORY_LOCK]).await?;
    drop(client);
    // The driver ends with the client; what it ended with no longer matters.
    let _ = driver.await;
    outcome.map(drop).map_err(|e| Error::Conflict {
        noun: Noun::Tenant,
        message: format!("the schema does not fit this server: {e}"),
    })
}
