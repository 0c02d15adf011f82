//! The database connection by which a process holds its leases of modules. PostgreSQL notices when the connection
//! ends, which it does however the process ends. So other processes can take over at once and need not wait until the
//! leases expire.

use std::sync::Arc;

use platform_model::error::Result;
use time::OffsetDateTime;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::Database;
use crate::realtime::signatures::Signatures;

const OPEN: &str = include_str!("../../../../../sql/queries/module_holders/open_session.sql");

/// The connection by which a process holds its leases; it closes when this is dropped.
#[derive(Debug)]
pub struct ModuleSession {
    pub(crate) client: Client,
    /// The process id of the connection's backend in PostgreSQL.
    pub(crate) pid: i32,
    /// When the backend started; it distinguishes the connection from a later one, because process ids are reused.
    pub(crate) start: OffsetDateTime,
    driver: JoinHandle<()>,
    pub(super) signatures: Arc<Signatures>,
}

impl ModuleSession {
    /// Connects. `ended` is called when the connection is lost; other processes may take over from then on.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn open(database: &Database, ended: impl FnOnce() + Send + 'static) -> Result<Self> {
        let (client, connection) = database.connector.connect().await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the connection that holds the modules was lost");
            }
            ended();
        });
        let (pid, start) = (0, OffsetDateTime::UNIX_EPOCH);
        let mut session = Self { client, pid, start, driver, signatures: database.signatures.clone() };
        // TCP keep-alive lets PostgreSQL notice within seconds that the machine of this process is gone.
        let settings =
            "SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3";
        session.client.batch_execute(settings).await?;
        let row = session.client.query_one(OPEN, &[]).await?;
        (session.pid, session.start) = (row.get(0), row.get(1));
        Ok(session)
    }

    /// Returns whether the connection has ended.
    pub fn is_over(&self) -> bool {
        self.client.is_closed()
    }
}

impl Drop for ModuleSession {
    fn drop(&mut self) {
        // The connection closes when its driver task ends.
        self.driver.abort();
    }
}
