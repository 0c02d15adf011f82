//! The knowledge of this server about which tenants have a journal, and the beginning of one.
//!
//! A server that shares the database with others learns of a journal from its transactions, each of which asserts that
//! the tenant has none. A server that is alone asserts nothing: it has read which journals exist when it became alone,
//! and only itself can begin one since.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use tokio::time::sleep;
use tokio_postgres::Client;

use super::Publications;
use super::running::wait_for_running;
use crate::Database;

const LIST_WRITTEN: &str = include_str!("../../../../../sql/queries/journals/list_written.sql");
const LIST_SERVERS_WITHOUT: &str =
    include_str!("../../../../../sql/queries/journals/list_servers_without.sql");
const BEGIN: &str = include_str!("../../../../../sql/queries/journals/begin.sql");

/// The longest wait for transactions that do not assert.
const LONGEST: Duration = Duration::from_secs(10);

/// The beginning of a journal. While it exists, every transaction of this server asserts.
struct Beginning<'a>(&'a Publications);

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        self.0.beginning_journals.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Publications {
    /// Reads which tenants have a journal, unless this server knows it because it was alone before.
    pub(super) async fn learn_journals(&self, client: &Client) -> Result<()> {
        if self.alone_at.lock().is_some() {
            return Ok(());
        }
        for row in client.query(LIST_WRITTEN, &[]).await? {
            if let Ok(tenant) = TenantId::parse(row.get(0)) {
                self.tenants.get(&tenant).set_journaled(true);
            }
        }
        Ok(())
    }

    /// Returns whether a tenant has a journal, as far as this server knows. If it is alone, it knows.
    pub fn has_journal(&self, tenant: &TenantId) -> bool {
        self.tenants.get(tenant).is_journaled()
    }

    /// Waits until every running transaction of this server asserts.
    async fn all_transactions_assert(&self) -> Result<Beginning<'_>> {
        self.beginning_journals.fetch_add(1, Ordering::AcqRel);
        let beginning = Beginning(self);
        let begun = Instant::now();
        while self.unasserted.load(Ordering::Acquire) > 0 {
            if begun.elapsed() > LONGEST {
                return Err(Error::unavailable("transactions run for a long time"));
            }
            sleep(Duration::from_millis(1)).await;
        }
        Ok(beginning)
    }
}

impl Database {
    /// Begins the journal of a tenant, or goes on with it. Every transaction that commits after this returns appends
    /// its publications, whichever server runs it.
    ///
    /// # Errors
    /// `Unavailable` while a server of an earlier version is registered, because it writes no journals; when
    /// transactions run for a long time; or when the database is not reachable. `Database`.
    pub(crate) async fn begin_journal(&self, tenant: &TenantId) -> Result<()> {
        let client = self.loader().await?;
        ensure_new_servers(&client, "write no journal").await?;
        client.execute(BEGIN, &[&tenant.as_str()]).await?;
        self.publications.tenants.get(tenant).set_journaled(true);
        let _beginning = self.publications.all_transactions_assert().await?;
        wait_for_running(&client, tenant).await
    }
}

/// Checks that no server of a version without journals is registered, because it does not do something.
///
/// # Errors
/// `Unavailable` names such servers; `Database`.
pub(super) async fn ensure_new_servers(client: &Client, omission: &str) -> Result<()> {
    let rows = client.query(LIST_SERVERS_WITHOUT, &[]).await?;
    let without: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    if without.is_empty() {
        return Ok(());
    }
    Err(Error::unavailable(format!("servers of an earlier version {omission}: {}", without.join(", "))))
}
