//! The pools of connections.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use deadpool_postgres::{
    Connect, Hook, HookError, Manager, ManagerConfig, PoolConfig, QueueMode, RecyclingMethod,
};
use deadpool_postgres::{Pool, Runtime, Timeouts};
use platform_model::error::{Error, Result};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config};

use super::{CONNECT, Connector};

/// The time that a request waits for a connection before its response is 503.
pub(crate) const CONNECTION_WAIT: Duration = Duration::from_secs(5);

/// Creates a pool of at most `size` connections, which are opened when they are needed.
pub(crate) fn pool(connector: &Connector, size: usize) -> Result<Pool> {
    connector.shared.pooled.fetch_add(size, Ordering::Relaxed);
    let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let mut pool = PoolConfig::new(size);
    // The connection that was used last has the tables and statements of the next request in its caches.
    pool.queue_mode = QueueMode::Lifo;
    pool.timeouts = Timeouts {
        wait: Some(CONNECTION_WAIT),
        create: Some(CONNECT),
        recycle: Some(Duration::from_secs(1)),
    };
    // The connector has the configuration; the configuration of the manager applies only to connectors without one.
    let manager = Manager::from_connect(Config::new(), connector.clone(), manager);
    let current = connector.clone();
    let only_current = Hook::sync_fn(move |_, metrics| {
        if current.is_current(metrics.created) {
            Ok(())
        } else {
            Err(HookError::message("it leads to a PostgreSQL that accepts no writes any more"))
        }
    });
    Pool::builder(manager)
        .config(pool)
        .runtime(Runtime::Tokio1)
        .pre_recycle(only_current)
        .build()
        .map_err(|e| Error::Invalid(format!("Invalid connection pool: {e}")))
}

type Connecting<'a> =
    Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), tokio_postgres::Error>> + Send + 'a>>;

impl Connect for Connector {
    fn connect(&self, _: &Config) -> Connecting<'_> {
        Box::pin(async move {
            let (client, connection) = Connector::connect(self).await?;
            let driver = tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to the database was lost");
                }
            });
            Ok((client, driver))
        })
    }
}
