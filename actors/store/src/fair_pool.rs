//! A pool of connections that tenants share fairly.

use std::time::{Duration, Instant};

use deadpool_postgres::{Object, Pool, PoolError, TimeoutType, Timeouts};
use futures_util::future::BoxFuture;
use platform_model::error::{Error, Result};
use tokio::time::timeout;

use crate::connect::{CONNECTION_WAIT, ConnectionTurn, Connector, Turns, low_priority_pool, pool, shares};
use crate::connection::Connection;
use crate::metrics::POOL_WAIT;

/// A pool of connections that tenants share fairly.
#[derive(Clone)]
pub(crate) struct FairPool {
    pub(crate) pool: Pool,
    turns: Turns,
    /// One connection whose backend has a low priority, for a tenant with slow statements. Only a PostgreSQL on this
    /// machine has it.
    low_priority: Option<Pool>,
}

impl FairPool {
    pub(crate) fn new(connector: &Connector, size: usize) -> Result<Self> {
        Ok(Self { pool: pool(connector, size)?, turns: Turns::new(size), low_priority: None })
    }

    /// Gives slow statements a connection with a low priority while other tenants are active. The PostgreSQL must run
    /// on this machine, and the connector must have the options of this pool.
    pub(crate) fn set_low_priority(&mut self, connector: &Connector) -> Result<()> {
        self.low_priority = Some(low_priority_pool(connector)?);
        Ok(())
    }

    /// Takes a connection when it is the turn of the tenant whose request is being processed. The future is boxed,
    /// because the compiler generates the code of another one in every crate that waits for it.
    pub(crate) fn take(&self) -> BoxFuture<'_, Result<Connection>> {
        Box::pin(async {
            let waiting = Instant::now();
            let turn = match shares::charged() {
                Some(charged) => {
                    Some(timeout(CONNECTION_WAIT, self.turns.take_for(&charged)).await.map_err(|_| {
                        Error::unavailable(
                            "the tenant's other requests use its share of the database connections",
                        )
                    })?)
                }
                None => None,
            };
            let connection = self.connection_for(turn.as_ref()).await;
            POOL_WAIT.record(waiting.elapsed());
            Ok(Connection::of(connection?, turn, None))
        })
    }

    async fn connection_for(&self, turn: Option<&ConnectionTurn>) -> Result<Object, PoolError> {
        if let (Some(low), true) = (&self.low_priority, turn.is_some_and(ConnectionTurn::is_slow)) {
            let at_once = Timeouts { wait: Some(Duration::ZERO), ..low.timeouts() };
            match low.timeout_get(&at_once).await {
                // Another slow statement has it. This one waits for nobody, as if there was no such connection.
                Err(PoolError::Timeout(TimeoutType::Wait)) => {}
                connection => return connection,
            }
        }
        self.pool.get().await
    }
}
