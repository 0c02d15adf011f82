//! Transactions outside of the group commit that publish what they write: deletions, links, files of events, steps of
//! bulk work. They carry their publications like those of a [`Writer`](crate::writer::Writer). A server that is alone
//! sends no additional statement.

use std::sync::atomic::{AtomicUsize, Ordering};

use deadpool_postgres::{Object, Transaction};
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::limits::NOTIFIED_DELETIONS;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::{Cause, Publication};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::{Checked, NOTIFY, Route, TransactionPublications};
use crate::leases::module_leases;
use crate::realtime::journal;
use crate::{Database, until_uncontended};

/// The outcome of a transaction.
pub(crate) enum Ended<T> {
    /// It is committed and published.
    Committed(T),
    /// Nothing is written, because this server must first [change](Database::switch_order) how it publishes the
    /// tenant.
    HasToSwitch(TenantId),
}

impl<T> Ended<T> {
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Ended<U> {
        match self {
            Self::Committed(written) => Ended::Committed(change(written)),
            Self::HasToSwitch(tenant) => Ended::HasToSwitch(tenant),
        }
    }
}

impl Database {
    /// Runs a transaction, and repeats it after this server has changed how it publishes the tenant. The transaction
    /// must return its connection of [`Database::reader`] or [`Database::loader`] to the pool before it ends, because
    /// that change needs one too.
    pub(crate) async fn until_committed<T>(
        &self,
        mut transaction: impl AsyncFnMut() -> Result<Ended<T>>,
    ) -> Result<T> {
        loop {
            match transaction().await? {
                Ended::Committed(written) => return Ok(written),
                Ended::HasToSwitch(tenant) => Box::pin(self.switch_order(&tenant)).await?,
            }
        }
    }

    /// Does the same as [`until_committed`](Self::until_committed), and retries the transaction when it conflicts with
    /// concurrent ones.
    ///
    /// # Errors
    /// The error of the transaction; `Contended` when every attempt conflicted.
    pub(crate) async fn until_uncontended<T>(
        &self,
        transaction: impl AsyncFn() -> Result<Ended<T>>,
    ) -> Result<T> {
        until_uncontended(async || self.until_committed(&transaction).await).await
    }

    /// Commits a transaction and publishes its writes at all servers.
    ///
    /// # Errors
    /// `Contended`, `Unavailable` or `Database`.
    pub(crate) async fn commit_published<T>(
        &self,
        transaction: Transaction<'_>,
        tenant: &TenantId,
        written: T,
        publications: Vec<Publication>,
    ) -> Result<Ended<T>> {
        if publications.is_empty() {
            transaction.commit().await?;
            return Ok(Ended::Committed(written));
        }
        let ended = self.commit_described(transaction, tenant, async |_| Ok(publications.clone())).await?;
        Ok(ended.map(|route| {
            self.publications.deliver_by(&route, tenant, publications);
            written
        }))
    }

    /// Publishes changes that earlier transactions have stored, in a transaction of its own.
    ///
    /// # Errors
    /// `Contended`, `Unavailable` or `Database`.
    pub async fn publish_stored(&self, tenant: &TenantId, publications: Vec<Publication>) -> Result<()> {
        self.until_committed(async || {
            let mut client = self.loader().await?;
            let transaction = client.transaction().await?;
            self.commit_published(transaction, tenant, (), publications.clone()).await
        })
        .await
    }

    /// Commits a transaction. `describe` reads its publications and is called only if the transaction carries them.
    /// Unless the database sends them, the caller publishes them before it drops the route.
    ///
    /// # Errors
    /// `Contended`, `Unavailable` or `Database`.
    pub(crate) async fn commit_described(
        &self,
        transaction: Transaction<'_>,
        tenant: &TenantId,
        describe: impl AsyncFn(&Transaction<'_>) -> Result<Vec<Publication>>,
    ) -> Result<Ended<Route>> {
        let mut carried = TransactionPublications::begin(&self.publications, vec![tenant]);
        if !carried.asserts_nothing() {
            if let Checked::HasToSwitch(tenant) = carried.check(&transaction).await? {
                transaction.rollback().await?;
                return Ok(Ended::HasToSwitch(tenant));
            }
            if carried.carries(tenant) {
                let by_tenant = [(tenant, describe(&transaction).await?)];
                let notify = transaction.prepare_cached(NOTIFY).await?;
                let append = transaction.prepare_cached(journal::APPEND).await?;
                carried.append(&transaction, &append, &by_tenant).await?;
                carried.send(&transaction, &notify, &by_tenant).await?;
            }
        }
        transaction.commit().await?;
        Ok(Ended::Committed(carried.route(tenant)))
    }

    /// Runs one statement and commits it; with a fence it succeeds only while this process
    /// [holds](module_leases::hold) the modules. See [`commit_described`](Self::commit_described). While this server is
    /// alone and no fence is required, the statement runs as its own transaction.
    ///
    /// # Errors
    /// `Conflict`, `Timeout`, `Contended`, `Unavailable` or `Database`.
    pub(crate) async fn run_published(
        &self,
        client: &mut Object,
        Write { tenant, fence, statement, parameters }: Write<'_>,
        describe: impl AsyncFn(&Transaction<'_>, &[Row]) -> Result<Vec<Publication>>,
    ) -> Result<Ended<(Vec<Row>, Route)>> {
        if fence.is_none() {
            let carried = TransactionPublications::begin(&self.publications, vec![tenant]);
            if carried.asserts_nothing() {
                let rows = client.query(statement, parameters).await?;
                return Ok(Ended::Committed((rows, carried.route(tenant))));
            }
        }
        let transaction = client.transaction().await?;
        module_leases::hold_one(&transaction, tenant, fence).await?;
        let rows = transaction.query(statement, parameters).await?;
        if rows.is_empty() {
            transaction.commit().await?;
            return Ok(Ended::Committed((rows, Route::Caller(None))));
        }
        let described = async |transaction: &Transaction<'_>| describe(transaction, &rows).await;
        let ended = self.commit_described(transaction, tenant, described).await?;
        Ok(ended.map(|route| (rows, route)))
    }
}

impl Database {
    /// Runs a statement that deletes rows and returns the id and the source of each row, and publishes the deletions.
    /// Returns their number. See [`run_published`](Self::run_published).
    pub(crate) async fn delete_published(
        &self,
        client: &mut Object,
        write: Write<'_>,
        notices: &DeletionNotices,
        change: fn(i64) -> PublishedChange,
    ) -> Result<Ended<usize>> {
        let tenant = write.tenant;
        let publications = |rows: &[Row]| {
            let gone: Vec<_> = rows.iter().map(|row| (row.get(0), ManagedObjectId(row.get(1)))).collect();
            notices.describe(&gone, change)
        };
        let ended = self.run_published(client, write, async |_, rows| Ok(publications(rows))).await?;
        Ok(ended.map(|(rows, route)| {
            self.publications.deliver_by(&route, tenant, publications(&rows));
            notices.committed(rows.len());
            rows.len()
        }))
    }
}

/// A statement whose writes are published.
pub(crate) struct Write<'a> {
    pub(crate) tenant: &'a TenantId,
    /// The fence of the module that writes.
    pub(crate) fence: Option<i64>,
    pub(crate) statement: &'a Statement,
    pub(crate) parameters: &'a [&'a (dyn ToSql + Sync)],
}

/// The notifications of the deletions of one request: only the first thousand are published (B-06).
#[derive(Debug)]
pub struct DeletionNotices {
    cause: Cause,
    left: AtomicUsize,
}

impl DeletionNotices {
    /// Creates the notices of a request with this cause.
    pub fn new(cause: Cause) -> Self {
        Self { cause, left: AtomicUsize::new(NOTIFIED_DELETIONS) }
    }

    /// Returns whether further deletions are published.
    pub fn publishes_more(&self) -> bool {
        self.left.load(Ordering::Relaxed) > 0
    }

    /// Returns the DELETE notifications of the objects, each with its source, that a transaction has deleted.
    pub(crate) fn describe<Id: Copy>(
        &self,
        deleted: &[(Id, ManagedObjectId)],
        change: fn(Id) -> PublishedChange,
    ) -> Vec<Publication> {
        let publication = |(id, source): &(Id, ManagedObjectId)| Publication::Change {
            source: *source,
            change: change(*id),
            cause: self.cause.clone(),
        };
        deleted.iter().take(self.left.load(Ordering::Relaxed)).map(publication).collect()
    }

    /// Counts the deletions of a committed transaction.
    pub(crate) fn committed(&self, count: usize) {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(count), Ordering::Relaxed);
    }
}
