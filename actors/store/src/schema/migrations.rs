//! Schema migrations: forward only, checksummed, one process at a time.

use deadpool_postgres::{Object, Pool, PoolError};
use refinery_core::{Migration, Runner};
use tokio_postgres::Client;

use platform_model::error::{Error, Noun, Result};

use super::migration_files::MIGRATIONS;
use crate::connect::Connector;

const FIND_OPEN_ACCESS: &str = include_str!("../../../../sql/queries/deployment/find_open_access.sql");

/// An arbitrary number, the same in every server process.
pub(crate) const ADVISORY_LOCK: i64 = 0x706c_6174_666f_726d;

/// The schema that holds the previous content of a database while another one is restored.
pub const SET_ASIDE: &str = "before_restore";

/// The end of a migration's name that says which older servers work on the schema that it makes: those that know the
/// migrations up to this version. PostgreSQL keeps the name, so older servers can read it.
const WORKS_WITH: &str = "works_with_V";

/// Brings the schema up to date over a connection of `pool`, which other work uses afterwards. A newer schema is left
/// unchanged if it declares that servers of this version work on it.
///
/// # Errors
/// `Unavailable` or `Invalid` with the address when the connection fails; `Conflict` when neither this program nor an
/// earlier version made the schema, and it is not made for this program too.
pub(crate) async fn run(pool: &Pool, connector: &Connector) -> Result<()> {
    let mut connection = pool.get().await.map_err(|error| refused_at(connector, error))?;
    let outcome = run_over(&mut connection).await;
    if outcome.is_err() {
        // It may still hold the lock.
        drop(Object::take(connection));
    }
    outcome
}

async fn run_over(client: &mut Client) -> Result<()> {
    // A migration may take longer than the query of a client may.
    client.batch_execute("SET statement_timeout = 0").await?;
    client.execute("SELECT pg_advisory_lock($1)", &[&ADVISORY_LOCK]).await?;
    let runner = runner();
    let newer = newer_migrations(&runner, client).await?;
    let tolerated = !newer.is_empty() && newer.iter().all(|name| works_with(name, newest(&runner)));
    if tolerated {
        tracing::info!("the schema is newer than this server but compatible with it");
    }
    // It still checks that the older migrations are those that it knows.
    let runner = runner.set_abort_missing(!tolerated);
    let outcome = if restore_was_interrupted(client).await? {
        Err(half_restored())
    } else {
        match runner.run_async(client).await {
            Ok(_) => Ok(()),
            Err(error) => Err(misfit(&runner, client, &error).await),
        }
    };
    if outcome.is_ok() {
        keep_others_out(client).await;
    }
    client.execute("SELECT pg_advisory_unlock($1)", &[&ADVISORY_LOCK]).await?;
    client.batch_execute("RESET statement_timeout").await?;
    outcome
}

/// Takes the right to connect to the database from PUBLIC, if this server owns the database. Otherwise every role of
/// PostgreSQL could listen to what servers tell each other. It is called under the advisory lock, because PostgreSQL
/// refuses two such changes at once. A failure stops nothing.
async fn keep_others_out(client: &Client) {
    let revoked = async {
        let row = client.query_one(FIND_OPEN_ACCESS, &[]).await?;
        let (name, is_open, others_exist): (String, bool, bool) = (row.get(0), row.get(1), row.get(2));
        if is_open {
            client.batch_execute(&format!("REVOKE CONNECT ON DATABASE {name} FROM PUBLIC")).await?;
        }
        if is_open && others_exist {
            tracing::warn!(
                database = name,
                "CONNECT was taken from PUBLIC: other roles than the owner need GRANT CONNECT ON DATABASE from now on"
            );
        }
        Ok::<_, tokio_postgres::Error>(())
    };
    if let Err(error) = revoked.await {
        let error = Error::from(error);
        tracing::warn!(%error, "CONNECT on the database cannot be taken from PUBLIC");
    }
}

/// Returns whether the schema [`SET_ASIDE`] is there.
pub(crate) async fn restore_was_interrupted(client: &Client) -> Result<bool> {
    Ok(client.query_one("SELECT to_regnamespace($1) IS NOT NULL", &[&SET_ASIDE]).await?.get(0))
}

/// Returns the error for a database whose content was set aside for a restore that did not end. A server would set
/// itself up anew on what is there.
fn half_restored() -> Error {
    let message = format!(
        "a restore was interrupted, and what the database contained before is in its schema {SET_ASIDE}: `platform \
         restore FILE --replace` repeats the restore, `platform restore --undo` brings the previous content back"
    );
    Error::Conflict { noun: Noun::Tenant, message }
}

/// Returns why the connection to the operator's PostgreSQL failed, with its address.
fn refused_at(connector: &Connector, error: PoolError) -> Error {
    let at = connector.addresses();
    let error = match error {
        PoolError::Backend(error) => Error::from(error),
        other => Error::from(other),
    };
    match error {
        Error::Unavailable(cause) => {
            Error::unavailable(format!("PostgreSQL at {at} cannot be reached: {cause}"))
        }
        other => Error::Invalid(format!("PostgreSQL at {at} refuses the connection: {other}")),
    }
}

/// Returns the runner of all migrations that this program knows.
fn runner() -> Runner {
    let parsed = MIGRATIONS.iter().map(|(name, sql)| Migration::unapplied(name, sql));
    Runner::new(&parsed.collect::<Result<Vec<_>, _>>().expect("the names begin with a version"))
}

/// Returns the newest version of the schema that this program knows.
pub(crate) fn newest_version() -> i64 {
    newest(&runner())
}

/// Returns the version of the newest migration that this program knows.
fn newest(runner: &Runner) -> i64 {
    runner.get_migrations().iter().map(|migration| i64::from(migration.version())).max().unwrap_or_default()
}

/// Returns the version of the schema in the database; `None` if no server has used the database.
pub(crate) async fn version(client: &Client) -> Result<Option<i64>> {
    let there = "SELECT to_regclass('refinery_schema_history') IS NOT NULL";
    if !client.query_one(there, &[]).await?.get::<_, bool>(0) {
        return Ok(None);
    }
    let newest = "SELECT max(version)::bigint FROM refinery_schema_history";
    Ok(client.query_one(newest, &[]).await?.get(0))
}

/// Returns the names of the migrations in the database that are newer than this program.
async fn newer_migrations(runner: &Runner, client: &Client) -> Result<Vec<String>> {
    if version(client).await?.is_none() {
        return Ok(Vec::new());
    }
    let names = "SELECT name FROM refinery_schema_history WHERE version::bigint > $1";
    Ok(client.query(names, &[&newest(runner)]).await?.iter().map(|row| row.get(0)).collect())
}

/// Returns whether a migration of this name was made for servers that know the migrations up to `known`.
fn works_with(name: &str, known: i64) -> bool {
    let oldest = name.rsplit_once(WORKS_WITH).and_then(|(_, version)| version.parse::<i64>().ok());
    oldest.is_some_and(|oldest| oldest <= known)
}

/// Returns why the schema cannot be migrated. The usual reason is that a newer program was replaced by an older one.
async fn misfit(runner: &Runner, client: &Client, error: &refinery_core::Error) -> Error {
    let known = newest(runner);
    // If this fails, it fails for the same reason as the migration, whose error is reported then.
    let found = version(client).await.ok().flatten();
    let message = match found {
        Some(found) if found > known => format!(
            "its schema has version {found}, this program knows versions up to {known}: a newer program migrated it. \
             Start that one, or restore a copy of the database from before it"
        ),
        _ => format!("the schema does not fit this server: {error}"),
    };
    Error::Conflict { noun: Noun::Tenant, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migration_name_declares_the_compatible_servers() {
        assert!(works_with("servers__works_with_V26", 26));
        assert!(works_with("servers__works_with_V26", 30));
        assert!(!works_with("servers__works_with_V26", 25));
        for unmarked in ["servers", "servers__works_with_V", "works_with_V26_servers"] {
            assert!(!works_with(unmarked, 1000), "{unmarked}");
        }
    }

    #[test]
    fn compatibility_marks_name_earlier_versions() {
        for migration in runner().get_migrations() {
            if let Some((_, mark)) = migration.name().rsplit_once(WORKS_WITH) {
                let oldest: i64 = mark.parse().expect("a version");
                assert!(oldest < i64::from(migration.version()), "{}", migration.name());
            }
        }
    }
}
