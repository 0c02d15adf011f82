//! A tenant that arrives: one transaction that creates it with its rows.

use std::collections::HashMap;

use deadpool_postgres::Transaction;
use platform_model::error::{Error, Noun, Result};
use platform_model::tenancy::tenant::TenantStatus;
use tokio::time::{Duration, sleep};

use super::copying::{self, Destination, Rows};
use super::tables::{Table, list_tables};
use super::{Existing, FORMAT, ForeignApplication, Secrets, TableContent, Target, sealed, sequences};
use crate::AGREE;
use crate::realtime::announcements::{Announcements, Change};
use crate::tenancy::tenants;

const FIND_TAKEN: &str = include_str!("../../../../../sql/queries/tenant_transfer/find_taken.sql");
const FIND_FORMER: &str = include_str!("../../../../../sql/queries/tenant_transfer/find_former.sql");
const SET_PARENT: &str = "UPDATE tenants SET parent = $2 WHERE id = $1";
const SET_DOMAIN: &str = "UPDATE tenants SET domain = $2 WHERE id = $1";
const FIND_APPLICATION: &str =
    include_str!("../../../../../sql/queries/tenant_transfer/find_application.sql");
const FIND_LEAD: &str = include_str!("../../../../../sql/queries/tenant_transfer/find_lead.sql");
const LEAVE_ROOM: &str = include_str!("../../../../../sql/queries/journals/leave_room.sql");

/// The time by which the newest id may be ahead of the clock. A server whose predecessor in its slot was killed makes
/// ids of the next seconds.
const LONGEST_LEAD: Duration = Duration::from_secs(30);

/// The transaction in which a tenant arrives.
pub(super) struct Arrival<'a> {
    pub(super) transaction: &'a Transaction<'a>,
    pub(super) target: &'a Target,
    /// The tables of the tenant, in the order of their foreign keys.
    pub(super) tables: Vec<Table>,
    /// The ids of applications of other tenants here, by those at the source.
    ids: HashMap<i64, i64>,
    /// The tenant that created the one that is replaced.
    parent: Option<String>,
}

impl<'a> Arrival<'a> {
    /// Begins with an id and a domain that are free, and the tables that the source has. A tenant that is replaced is
    /// deleted first.
    ///
    /// # Errors
    /// `Duplicate` for a tenant that exists, `NotFound` for one that shall be replaced and does not; `Invalid` for a
    /// domain that is taken, for other tables, for missing applications, and for a tenant that cannot be replaced;
    /// `Unavailable` or `Database`.
    pub(super) async fn begin(
        transaction: &'a Transaction<'a>,
        announcements: &Announcements,
        target: &'a Target,
        existing: Existing,
        (expected, applications): (&[(&str, &[String])], &[ForeignApplication]),
    ) -> Result<Self> {
        transaction.batch_execute(FORMAT).await?;
        let tables = list_tables(transaction).await?;
        let mut arrival = Self { transaction, target, tables, ids: HashMap::new(), parent: None };
        if existing == Existing::Replaced {
            arrival.parent = arrival.delete_former(announcements).await?;
        }
        arrival.refuse_taken().await?;
        arrival.refuse_other_tables(expected)?;
        arrival.find_applications(applications).await?;
        // A request that ran while a tenant of this id was deleted may have left rows.
        tenants::delete_contents(transaction, announcements, &target.tenant).await?;
        Ok(arrival)
    }

    /// Deletes the tenant that is replaced, and returns the one that created it.
    async fn delete_former(&self, announcements: &Announcements) -> Result<Option<String>> {
        let tenant = &self.target.tenant;
        let former = self.transaction.query_opt(FIND_FORMER, &[&tenant.as_str()]).await?;
        let former = former.ok_or_else(|| Error::not_found(Noun::Tenant, tenant))?;
        let (status, subscribers): (&str, Vec<String>) = (former.get(0), former.get(2));
        if status != TenantStatus::Suspended.as_str() {
            return Err(Error::Invalid(format!(
                "tenant {tenant} is {status}; suspend it before it is replaced, so that nobody writes what would be \
                 lost"
            )));
        }
        if !subscribers.is_empty() {
            return Err(Error::Invalid(format!(
                "other tenants have subscribed to applications of {tenant}, which would end: {}; unsubscribe them \
                 first",
                subscribers.join(", ")
            )));
        }
        tenants::delete_contents(self.transaction, announcements, tenant).await?;
        self.transaction.execute(tenants::DELETE, &[&tenant.as_str()]).await?;
        Ok(former.get(1))
    }

    async fn refuse_taken(&self) -> Result<()> {
        let Target { tenant, domain } = self.target;
        let taken = self.transaction.query_opt(FIND_TAKEN, &[&tenant.as_str(), domain]).await?;
        match taken.map(|row| row.get::<_, String>(0)) {
            None => Ok(()),
            Some(other) if other == tenant.as_str() => {
                Err(Error::Duplicate { noun: Noun::Tenant, key: tenant.to_string() })
            }
            Some(other) => Err(Error::Invalid(format!(
                "tenant {other} has the domain {domain} already; --domain gives the imported tenant another one"
            ))),
        }
    }

    fn refuse_other_tables(&self, expected: &[(&str, &[String])]) -> Result<()> {
        let here: Vec<_> = self.tables.iter().map(|table| (&*table.name, &*table.columns)).collect();
        let differs = here
            .iter()
            .find(|one| !expected.contains(one))
            .or(expected.iter().find(|one| !here.contains(one)));
        match differs {
            None if here == expected => Ok(()),
            differs => Err(Error::Invalid(format!(
                "the tenant has other tables or columns than this database, beginning with {}; bring both to the same \
                 version of the program",
                differs.map_or("their order", |(name, _)| *name)
            ))),
        }
    }

    /// Finds the applications of other tenants here.
    ///
    /// # Errors
    /// `Invalid` names those that are missing.
    pub(super) async fn find_applications(&mut self, applications: &[ForeignApplication]) -> Result<()> {
        let mut missing = Vec::new();
        for application in applications {
            let (owner, name) = (&application.owner, &application.name);
            match self.transaction.query_opt(FIND_APPLICATION, &[owner, name]).await? {
                Some(row) => drop(self.ids.insert(application.id, row.get(0))),
                None => missing.push(format!("{name} of tenant {owner}")),
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "the tenant has subscribed to applications that are not here: {}; create them first, or unsubscribe the \
             tenant and export it again",
            missing.join(", ")
        )))
    }

    /// Copies rows of a table, each for its tenant here, into the table or into a temporary one. Returns their number.
    pub(super) async fn copy(&self, table: &Table, into: &str, rows: &mut impl Rows) -> Result<u64> {
        let (statement, prefix) = (table.copy_in(into), table.prefix(self.target));
        let destination = Destination { statement, prefix, ids: &self.ids };
        copying::copy(self.transaction, table, &destination, rows).await
    }

    /// Copies the keys of a table into a temporary table. Keys name the tenant as the source does.
    pub(super) async fn copy_keys(&self, table: &Table, into: &str, keys: &mut impl Rows) -> Result<u64> {
        let statement = format!("COPY {into} FROM STDIN");
        let destination = Destination { statement, prefix: String::new(), ids: &HashMap::new() };
        copying::copy(self.transaction, table, &destination, keys).await
    }

    /// Counts and digests the rows that are here.
    pub(super) async fn contents(&self) -> Result<Vec<TableContent>> {
        let mut contents = Vec::with_capacity(self.tables.len());
        for table in &self.tables {
            contents.push(table.content(self.transaction, &self.target.tenant).await?);
        }
        Ok(contents)
    }

    /// Completes the tenant: seals its secrets for their new place, lets what is created from now on follow its rows,
    /// and lets servers know it. Returns the number of secrets that could not be opened.
    pub(super) async fn complete(
        &self,
        announcements: &Announcements,
        (source, claimed): (&str, &[TableContent]),
        secrets: &Secrets<'_>,
    ) -> Result<usize> {
        let tenant = &self.target.tenant;
        let closed = sealed::seal_again(self.transaction, (source, tenant), &self.ids, secrets).await?;
        for (name, sealed) in &secrets.hashing {
            self.transaction.execute(AGREE, &[name, sealed]).await?;
        }
        self.await_lead().await?;
        sequences::advance(self.transaction, tenant, claimed).await?;
        if let Some(parent) = &self.parent {
            self.transaction.execute(SET_PARENT, &[&tenant.as_str(), parent]).await?;
        }
        for change in [Change::Tenant, Change::Imported, Change::Applications, Change::Names, Change::Modules]
        {
            announcements.add(change(tenant.clone()));
        }
        Ok(closed)
    }

    /// Gives the tenant the domain that it has at the source now, which is not copied with its row.
    pub(super) async fn set_domain(&self, domain: &str) -> Result<()> {
        self.transaction.execute(SET_DOMAIN, &[&self.target.tenant.as_str(), &domain]).await?;
        Ok(())
    }

    /// Leaves room in the journal for what was published at the source since the rows were read.
    pub(super) async fn leave_room(&self) -> Result<()> {
        self.transaction.execute(LEAVE_ROOM, &[&Some(self.target.tenant.as_str())]).await?;
        Ok(())
    }

    /// Waits until the clock is beyond the ids of the tenant.
    async fn await_lead(&self) -> Result<()> {
        let lead = self.transaction.query_one(FIND_LEAD, &[&self.target.tenant.as_str()]).await?;
        let lead = Duration::from_millis(lead.get::<_, i64>(0).try_into().unwrap_or_default());
        if lead > LONGEST_LEAD {
            return Err(Error::Invalid(format!(
                "the newest ids of the tenant are {} s ahead of the clock of this database, so new rows could get \
                 them; correct the clocks, or import the file that much later",
                lead.as_secs()
            )));
        }
        sleep(lead).await;
        Ok(())
    }
}

/// Checks that the rows here are those that the source claims.
///
/// # Errors
/// `Invalid` names the first table that differs.
pub(super) fn prove(claimed: &[TableContent], found: &[TableContent]) -> Result<()> {
    match claimed.iter().zip(found).find(|(claimed, found)| claimed != found) {
        None => Ok(()),
        Some((claimed, found)) => Err(Error::Invalid(format!(
            "the table {} has {} rows with the digest {} after the import, the source claims {} with {}",
            claimed.table, found.rows, found.digest, claimed.rows, claimed.digest
        ))),
    }
}
