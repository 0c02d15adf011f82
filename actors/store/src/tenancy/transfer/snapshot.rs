//! A tenant at one moment: what an export writes, and what a move copies.

use std::pin::Pin;

use deadpool_postgres::Transaction;
use futures_util::TryStreamExt;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use tokio_postgres::{CopyOutStream, IsolationLevel, Row};

use super::copying::Rows;
use super::tables::{Table, list_tables};
use super::{Content, FORMAT, ForeignApplication, TableContent, partitions};
use crate::Connection;

const LIST_APPLICATIONS: &str =
    include_str!("../../../../../sql/queries/tenant_transfer/list_applications.sql");

/// One transaction that reads a tenant. It writes nothing and keeps no writer waiting.
pub(super) struct Snapshot<'a> {
    transaction: Transaction<'a>,
    tenant: &'a TenantId,
}

/// The moment of a snapshot: the oldest transaction that ran then. Rows that were written later, or were not committed
/// yet, have the number of this transaction or of a later one.
#[derive(Debug, Clone)]
pub(super) struct Mark(String);

impl<'a> Snapshot<'a> {
    /// Begins the transaction.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn open(client: &'a mut Connection, tenant: &'a TenantId) -> Result<Self> {
        let moment =
            client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
        let transaction = moment.start().await?;
        transaction.batch_execute(FORMAT).await?;
        Ok(Self { transaction, tenant })
    }

    /// Describes the tenant, without the proofs of its tables and without its partitions.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable` or `Database`.
    pub(super) async fn describe(&self) -> Result<Content> {
        let Self { transaction, tenant } = self;
        let found = "SELECT domain, status FROM tenants WHERE id = $1";
        let row = transaction.query_opt(found, &[&tenant.as_str()]).await?;
        let row = row.ok_or_else(|| Error::not_found(Noun::Tenant, tenant))?;
        let applications = transaction.query(LIST_APPLICATIONS, &[&tenant.as_str()]).await?;
        Ok(Content {
            tenant: tenant.to_string(),
            domain: row.get(0),
            status: row.get(1),
            tables: Vec::new(),
            applications: applications.iter().map(foreign_application).collect(),
            partitions: Vec::new(),
        })
    }

    /// Lists the partitions that have rows of the tenant.
    pub(super) async fn partitions(&self) -> Result<Vec<String>> {
        partitions::list(&self.transaction, self.tenant).await
    }

    /// Lists the tables of the tenant.
    pub(super) async fn tables(&self) -> Result<Vec<Table>> {
        list_tables(&self.transaction).await
    }

    /// Returns the moment of this snapshot.
    pub(super) async fn mark(&self) -> Result<Mark> {
        let oldest = "SELECT pg_snapshot_xmin(pg_current_snapshot())::xid::text";
        Ok(Mark(self.transaction.query_one(oldest, &[]).await?.get(0)))
    }

    /// Returns the rows of a table, or those that were written since a moment. Rows that were written shortly before it
    /// may be among them, and after two billion transactions also old ones.
    pub(super) async fn rows(&self, table: &Table, since: Option<&Mark>) -> Result<StreamedRows> {
        let newer = since.map(|Mark(oldest)| format!("age(xmin) <= age('{oldest}'::xid)"));
        self.copy_out(&table.copy_out(self.tenant, newer.as_deref())).await
    }

    /// Returns the keys of the rows of a table.
    pub(super) async fn keys(&self, table: &Table) -> Result<StreamedRows> {
        self.copy_out(&table.copy_keys_out(self.tenant)).await
    }

    async fn copy_out(&self, statement: &str) -> Result<StreamedRows> {
        Ok(StreamedRows(Box::pin(self.transaction.copy_out(statement).await?)))
    }

    /// Counts the rows of a table.
    pub(super) async fn count(&self, table: &Table) -> Result<i64> {
        let count = format!("SELECT count(*) FROM {} WHERE {} = $1", table.name, table.key());
        Ok(self.transaction.query_one(&count, &[&self.tenant.as_str()]).await?.get(0))
    }

    /// Counts and digests the rows of a table.
    pub(super) async fn content(&self, table: &Table) -> Result<TableContent> {
        table.content(&self.transaction, self.tenant).await
    }

    /// Counts and digests the rows of tables.
    pub(super) async fn contents(&self, tables: &[Table]) -> Result<Vec<TableContent>> {
        let mut contents = Vec::with_capacity(tables.len());
        for table in tables {
            contents.push(self.content(table).await?);
        }
        Ok(contents)
    }

    /// Ends the transaction.
    pub(super) async fn end(self) -> Result<()> {
        Ok(self.transaction.commit().await?)
    }
}

fn foreign_application(row: &Row) -> ForeignApplication {
    ForeignApplication { id: row.get(0), owner: row.get(1), name: row.get(2) }
}

/// The rows that `COPY` sends.
pub(super) struct StreamedRows(Pin<Box<CopyOutStream>>);

impl Rows for StreamedRows {
    /// PostgreSQL sends each row in a message of its own.
    async fn read(&mut self, row: &mut Vec<u8>) -> Result<bool> {
        let Some(bytes) = self.0.try_next().await? else { return Ok(false) };
        row.extend_from_slice(&bytes);
        Ok(true)
    }
}
