//! The connection by which a process holds modules. PostgreSQL sees it end when the process does, whatever became of it; so others
//! need not wait for its leases to run out (CSV3).

use platform_model::error::Result;
use time::OffsetDateTime;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

use crate::Database;

const OPEN: &str = include_str!("../../../../sql/queries/module_holders/open_session.sql");

/// Such a connection, open as long as this is kept.
#[derive(Debug)]
pub struct ModuleSession {
    pub(crate) client: Client,
    /// As PostgreSQL numbers it.
    pub(crate) pid: i32,
    /// When it began, for numbers are given again.
    pub(crate) start: OffsetDateTime,
    driver: JoinHandle<()>,
}

impl ModuleSession {
    /// Connects. `ended` is called when the connection ends by itself: others may take over from then on.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn open(database: &Database, ended: impl FnOnce() + Send + 'static) -> Result<Self> {
        let (client, connection) = database.config.connect(NoTls).await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the connection by which modules are held was lost");
            }
            ended();
        });
        let (pid, start) = (0, OffsetDateTime::UNIX_EPOCH);
        let mut session = Self { client, pid, start, driver };
        // A machine that is gone without a word is noticed within seconds.
        let settings =
            "SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3";
        session.client.batch_execute(settings).await?;
        let row = session.client.query_one(OPEN, &[]).await?;
        (session.pid, session.start) = (row.get(0), row.get(1));
        Ok(session)
    }

    /// Whether it ended.
    pub fn is_over(&self) -> bool {
        self.client.is_closed()
    }
}

impl Drop for ModuleSession {
    fn drop(&mut self) {
        // The connection ends with its driver.
        self.driver.abort();
    }
}
