//! Copies a tenant in.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::pin::pin;

use bytes::BytesMut;
use deadpool_postgres::Transaction;
use futures_util::SinkExt;
use platform_model::error::{Error, Noun, Result};
use platform_model::users::user::Administration;
use tokio::sync::Mutex;
use tokio::time::{Duration, sleep};
use tokio_postgres::CopyInSink;

use super::tables::{Table, list_tables};
use super::{Content, FORMAT, Source, Target, partitions, sealed, sequences, unusable};
use crate::Database;
use crate::realtime::announcements::{Announcements, Change, change_over, rehearse};
use crate::schema::sealed_texts::{Replacement, SealedText};
use crate::tenancy::tenants;

const FIND_TAKEN: &str = include_str!("../../../../../sql/queries/tenant_transfer/find_taken.sql");
const FIND_APPLICATION: &str =
    include_str!("../../../../../sql/queries/tenant_transfer/find_application.sql");
const FIND_LEAD: &str = include_str!("../../../../../sql/queries/tenant_transfer/find_lead.sql");
const LEAVE_ROOM: &str = include_str!("../../../../../sql/queries/journals/leave_room.sql");

/// The size of a part that is sent to PostgreSQL.
const PART: usize = 1 << 16;
/// The greatest size of a row: PostgreSQL takes none above a gigabyte, and no row of a tenant comes near this.
const LARGEST_ROW: u64 = 1 << 28;
/// The time by which the newest id may be ahead of the clock. A server whose predecessor in its slot was killed makes
/// ids of the next seconds.
const LONGEST_LEAD: Duration = Duration::from_secs(30);

/// Whether an import counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It creates the tenant.
    Real,
    /// It is rolled back at the end.
    Rehearsal,
}

/// Creates a tenant from an export, and notifies every server process. `seal` seals a secret of the source for its
/// place here. Returns the number of secrets that could not be opened. One transaction, apart from partitions, which
/// are made before: it is rolled back unless every table has the rows that the file claims.
///
/// # Errors
/// `Duplicate` for a tenant or a domain that exists; `Invalid` for a file that does not fit this deployment, or that
/// contains other rows than it claims; `Unavailable` or `Database`.
pub async fn import(
    database: &Database,
    by: &Administration,
    (content, source): (&Content, &Mutex<impl Source>),
    target: &Target,
    mode: Mode,
    seal: &dyn Fn(&SealedText, &SealedText) -> Option<Replacement>,
) -> Result<usize> {
    let import = Import { content, target, seal };
    let connect = async || database.patient_loader().await;
    let work = async |transaction: &Transaction<'_>, announcements: &Announcements| {
        let closed = import.run(transaction, announcements, source).await?;
        tenants::audit::imported(transaction, announcements, by, &target.tenant).await?;
        Ok(closed)
    };
    match mode {
        Mode::Rehearsal => rehearse(database, connect, work).await,
        Mode::Real => {
            partitions::make(database, &content.partitions).await?;
            change_over(database, connect, work).await
        }
    }
}

struct Import<'a> {
    content: &'a Content,
    target: &'a Target,
    seal: &'a dyn Fn(&SealedText, &SealedText) -> Option<Replacement>,
}

impl Import<'_> {
    async fn run(
        &self,
        transaction: &Transaction<'_>,
        announcements: &Announcements,
        source: &Mutex<impl Source>,
    ) -> Result<usize> {
        let Self { content, target, seal } = self;
        transaction.batch_execute(FORMAT).await?;
        self.refuse_taken(transaction).await?;
        let tables = self.matching_tables(transaction).await?;
        let ids = self.find_applications(transaction).await?;
        // A request that ran while a tenant of this id was deleted may have left rows.
        tenants::delete_contents(transaction, announcements, &target.tenant).await?;
        let mut source = source.lock().await;
        for table in &tables {
            let mut rows = source.rows(&table.name).map_err(|error| unusable(&error))?;
            copy(transaction, table, target, &ids, &mut rows).await?;
        }
        for (table, claimed) in tables.iter().zip(&content.tables) {
            let found = table.content(transaction, &target.tenant).await?;
            if found != *claimed {
                return Err(Error::Invalid(format!(
                    "the table {} has {} rows with the digest {} after the import, the file claims {} with {}",
                    table.name, found.rows, found.digest, claimed.rows, claimed.digest
                )));
            }
        }
        let closed = sealed::seal_again(transaction, (&content.tenant, &target.tenant), &ids, seal).await?;
        self.settle(transaction).await?;
        for change in [Change::Tenant, Change::Applications, Change::Names, Change::Modules] {
            announcements.add(change(target.tenant.clone()));
        }
        Ok(closed)
    }

    /// Lets what is created from now on follow the imported rows.
    async fn settle(&self, transaction: &Transaction<'_>) -> Result<()> {
        let tenant = &self.target.tenant;
        if self.content.status == "ACTIVE" {
            transaction.execute(LEAVE_ROOM, &[&Some(tenant.as_str())]).await?;
        }
        let lead: i64 = transaction.query_one(FIND_LEAD, &[&tenant.as_str()]).await?.get(0);
        let lead = Duration::from_millis(lead.try_into().unwrap_or_default());
        if lead > LONGEST_LEAD {
            return Err(Error::Invalid(format!(
                "the newest ids of the tenant are {} s ahead of the clock of this database, so new rows could get \
                 them; correct the clocks, or import the file that much later",
                lead.as_secs()
            )));
        }
        sleep(lead).await;
        sequences::advance(transaction, tenant, &self.content.tables).await
    }

    async fn refuse_taken(&self, transaction: &Transaction<'_>) -> Result<()> {
        let Target { tenant, domain } = self.target;
        let taken = transaction.query_opt(FIND_TAKEN, &[&tenant.as_str(), domain]).await?;
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

    /// Returns the tables of this database if they are those of the file.
    async fn matching_tables(&self, transaction: &Transaction<'_>) -> Result<Vec<Table>> {
        let tables = list_tables(transaction).await?;
        let here: Vec<_> = tables.iter().map(|table| (&*table.name, &table.columns)).collect();
        let there: Vec<_> = self.content.tables.iter().map(|table| (&*table.table, &table.columns)).collect();
        let differs =
            here.iter().find(|one| !there.contains(one)).or(there.iter().find(|one| !here.contains(one)));
        match differs {
            None if here == there => Ok(tables),
            differs => Err(Error::Invalid(format!(
                "the file has other tables or columns than this database, beginning with {}; import it with the \
                 program that wrote it",
                differs.map_or("their order", |(name, _)| *name)
            ))),
        }
    }

    /// Returns the ids here of the applications of other tenants, by their ids at the source.
    async fn find_applications(&self, transaction: &Transaction<'_>) -> Result<HashMap<i64, i64>> {
        let (mut ids, mut missing) = (HashMap::new(), Vec::new());
        for application in &self.content.applications {
            let (owner, name) = (&application.owner, &application.name);
            match transaction.query_opt(FIND_APPLICATION, &[owner, name]).await? {
                Some(row) => drop(ids.insert(application.id, row.get(0))),
                None => missing.push(format!("{name} of tenant {owner}")),
            }
        }
        if missing.is_empty() {
            return Ok(ids);
        }
        Err(Error::Invalid(format!(
            "the tenant has subscribed to applications that are not here: {}; create them first, or unsubscribe the \
             tenant and export it again",
            missing.join(", ")
        )))
    }
}

/// Copies the rows of a table, each for its new tenant.
async fn copy(
    transaction: &Transaction<'_>,
    table: &Table,
    target: &Target,
    ids: &HashMap<i64, i64>,
    rows: &mut dyn BufRead,
) -> Result<()> {
    let (statement, prefix) = table.copy_in(target);
    let mut sink = pin!(transaction.copy_in::<_, bytes::Bytes>(&statement).await?);
    let copied = send(&mut sink, table, &prefix, ids, rows).await;
    let finished = match copied {
        Ok(()) => sink.finish().await.map(drop).map_err(Error::from),
        Err(error) => Err(error),
    };
    finished.map_err(|error| match error.is_unique_violation() {
        true => Error::Invalid(format!(
            "a row of the table {} is there already, of another tenant, and may be there only once: {error}",
            table.name
        )),
        false => error,
    })
}

async fn send(
    sink: &mut std::pin::Pin<&mut CopyInSink<bytes::Bytes>>,
    table: &Table,
    prefix: &str,
    ids: &HashMap<i64, i64>,
    rows: &mut dyn BufRead,
) -> Result<()> {
    let (mut row, mut part) = (Vec::new(), BytesMut::with_capacity(2 * PART));
    loop {
        row.clear();
        let read = Read::take(&mut *rows, LARGEST_ROW).read_until(b'\n', &mut row);
        if read.map_err(|error| unusable(&error))? == 0 {
            break;
        }
        if !row.ends_with(b"\n") {
            return Err(Error::Invalid(format!("a row of the table {} is incomplete", table.name)));
        }
        part.extend_from_slice(prefix.as_bytes());
        part.extend_from_slice(table.with_applications(&row, ids).as_deref().unwrap_or(&row));
        if part.len() >= PART {
            sink.send(part.split().freeze()).await?;
        }
    }
    Ok(sink.send(part.freeze()).await?)
}
