//! The running transactions of servers, which may not have seen a new row of `publication_listeners`. The
//! `application_name` of a server's connections ends with its token, which distinguishes them from those of others.

use std::time::{Duration, Instant};

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use tokio::time::sleep;
use tokio_postgres::Client;

const LIST_RUNNING: &str = include_str!("../../../../../sql/queries/publications/list_running.sql");
const COUNT_RUNNING: &str = include_str!("../../../../../sql/queries/publications/count_running.sql");
const LIST_LONG_RUNNING: &str = include_str!("../../../../../sql/queries/publications/list_long_running.sql");

/// The longest wait for running transactions. The timeouts of writes and of steps bound these.
const LONGEST: Duration = Duration::from_secs(10);
/// The wait for running transactions after which they are named in the log.
const NOTABLE: Duration = Duration::from_secs(5);

/// Waits until every transaction of a server has ended that runs now.
///
/// # Errors
/// `Unavailable` when some run for a long time; `Database`.
pub(super) async fn wait_for_running(client: &Client, tenant: &TenantId) -> Result<()> {
    let begun = Instant::now();
    let running: Vec<String> = client.query_one(LIST_RUNNING, &[]).await?.get(0);
    let (mut pause, mut is_told) = (Duration::from_millis(1), false);
    while !running.is_empty() {
        let left: i64 = client.query_one(COUNT_RUNNING, &[&running]).await?.get(0);
        if left == 0 {
            break;
        }
        if begun.elapsed() > LONGEST {
            return Err(Error::unavailable(format!("{left} transactions run for a long time")));
        }
        if begun.elapsed() > NOTABLE && !std::mem::replace(&mut is_told, true) {
            for row in client.query(LIST_LONG_RUNNING, &[&running]).await? {
                let (pid, server): (i32, String) = (row.get(0), row.get(1));
                tracing::warn!(
                    %tenant,
                    pid,
                    server,
                    "a transaction of a server runs for a long time, and the first subscription or write of a tenant \
                     waits for it; pg_terminate_backend(pid) ends it"
                );
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
    Ok(())
}
