//! Reads of one moment: all statements see the same snapshot, and it is known which transactions it shows.

use std::sync::Arc;

use platform_model::error::{Error, Result};
use platform_model::realtime::transactions::ShownTransactions;

use crate::Database;
use crate::connection::MomentConnection;

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const SHOWN: &str = "SELECT pg_current_snapshot()::text";

/// A transaction that only reads, and whose connection serves one read after the other.
pub struct Moment {
    connection: Arc<MomentConnection>,
    /// The transactions whose writes it shows.
    pub shown: ShownTransactions,
}

impl Database {
    /// Begins a transaction that only reads. The returned database reads in it, one read at a time; it takes one
    /// connection for reads, and one turn of the tenant whose request is being processed.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn at_one_moment(&self) -> Result<(Self, Moment)> {
        let (connection, turn) = self.reader().await?.into_parts();
        let moment = Arc::<MomentConnection>::default();
        moment.put_back(connection, turn);
        let client = moment.take()?;
        client.batch_execute(BEGIN).await?;
        let text: String = client.query_one(SHOWN, &[]).await?.get(0);
        let shown = ShownTransactions::parse(&text)
            .ok_or_else(|| Error::unavailable("the snapshot of a transaction cannot be read"))?;
        drop(client);
        Ok((self.reading_in(moment.clone()), Moment { connection: moment, shown }))
    }
}

impl Moment {
    /// Ends the transaction, and returns the connection to its pool.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn end(self) -> Result<ShownTransactions> {
        let client = self.connection.take()?;
        client.batch_execute("COMMIT").await?;
        drop(client.into_parts());
        Ok(self.shown)
    }
}
