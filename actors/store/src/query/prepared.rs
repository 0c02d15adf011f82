//! Running statements that are prepared once for each connection.

use deadpool_postgres::GenericClient;
use platform_model::error::Result;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// The parameters of a statement.
pub(crate) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection, or a transaction on one. Each statement is prepared unless the connection has prepared it before.
pub(crate) trait PreparedQueries: GenericClient {
    /// Runs a query and returns its rows.
    fn rows(&self, sql: &str, parameters: Parameters<'_>) -> impl Future<Output = Result<Vec<Row>>> + Send {
        async move { Ok(self.query(&self.prepare_cached(sql).await?, parameters).await?) }
    }

    /// Runs a query that returns one row.
    fn row(&self, sql: &str, parameters: Parameters<'_>) -> impl Future<Output = Result<Row>> + Send {
        async move { Ok(self.query_one(&self.prepare_cached(sql).await?, parameters).await?) }
    }

    /// Runs a query that returns at most one row.
    fn find(
        &self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> impl Future<Output = Result<Option<Row>>> + Send {
        async move { Ok(self.query_opt(&self.prepare_cached(sql).await?, parameters).await?) }
    }

    /// Runs a statement and returns how many rows it changed.
    fn run(&self, sql: &str, parameters: Parameters<'_>) -> impl Future<Output = Result<u64>> + Send {
        async move { Ok(self.execute(&self.prepare_cached(sql).await?, parameters).await?) }
    }
}

impl<C: GenericClient> PreparedQueries for C {}
