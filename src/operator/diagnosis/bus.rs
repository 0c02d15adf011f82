//! The findings about the notifications of PostgreSQL, by which the servers of a deployment reach each other: who may
//! listen to them, whether their queue fills, and which transactions hold up new subscriptions.

use std::time::Duration;

use platform_store::Database;
use platform_store::schema::description::{LongTransaction, Postgres};

use super::Finding;

/// The age of a transaction of a server above which it is reported. The servers log it after the same time.
const LONG: Duration = Duration::from_secs(5);
/// The share of the queue of notifications above which something reads too slowly.
const FILLING: f64 = 0.1;
/// The share above which the queue will soon be full. Then nothing that notifies anybody can be stored.
const NEARLY_FULL: f64 = 0.5;

/// Returns the findings about the notifications of PostgreSQL.
pub(super) async fn check(database: &Database, postgres: &Postgres) -> Vec<Finding> {
    // Before the first start there are no servers, and so no transactions of theirs.
    let long = database.list_long_transactions(LONG).await.unwrap_or_default();
    [Some(access(postgres)), Some(queue(postgres.notification_queue)), transactions(&long)]
        .into_iter()
        .flatten()
        .collect()
}

/// Checks that only roles with the right to do so can connect to the database.
pub(super) fn access(postgres: &Postgres) -> Finding {
    const SUBJECT: &str = "access";
    let name = &postgres.name;
    if postgres.everybody_connects {
        return Finding::warning(
            SUBJECT,
            format!(
                "every role of PostgreSQL may connect to the database {name}, and receives the alarms and operations \
                 that servers send each other"
            ),
            format!(
                "its owner runs REVOKE CONNECT ON DATABASE {name} FROM PUBLIC; and GRANT CONNECT to the roles that \
                 need it"
            ),
        );
    }
    Finding::good(SUBJECT, format!("only roles with the right CONNECT reach the database {name}"))
}

/// Checks that the listening sessions read what PostgreSQL notifies.
pub(super) fn queue(share: f64) -> Finding {
    const SUBJECT: &str = "notifications";
    let told = format!("{:.0} % of PostgreSQL's queue of notifications is in use", share * 100.0);
    let remedy = "a session that listens has stayed in a transaction or does not read: `SELECT pid, datname, \
        application_name, state FROM pg_stat_activity ORDER BY xact_start` lists the oldest first, and \
        `SELECT pg_terminate_backend(pid)` ends one";
    if share >= NEARLY_FULL {
        return Finding::fault(SUBJECT, format!("{told}; when it is full, writes get 503"), remedy);
    }
    if share >= FILLING {
        return Finding::warning(SUBJECT, told, remedy);
    }
    Finding::good(SUBJECT, told)
}

/// Names the transactions that the first subscriptions of tenants wait for.
pub(super) fn transactions(long: &[LongTransaction]) -> Option<Finding> {
    let LongTransaction { pid, server, age } = long.first()?;
    let count = long.len();
    Some(Finding::warning(
        "transactions",
        format!(
            "{count} of the servers are open for long, one of {server} (pid {pid}) for {age:.0} s: new subscriptions \
             wait for them"
        ),
        format!("if that server hangs, stop it, or run SELECT pg_terminate_backend({pid});"),
    ))
}
