//! Reading from a consumer: its position moves with each acknowledgement.

use std::net::IpAddr;
use std::sync::Arc;

use deadpool_postgres::GenericClient;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::realtime::bayeux::Pattern;
use platform_model::realtime::consumer::{JournalPosition, Missed, ReaderWay};
use platform_model::realtime::filter::NotificationFilter;
use tokio_postgres::Row;

use super::rows::{channels_of, filter_of, missed_of};
use super::unknown;
use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Change, announce};
use crate::realtime::journal::Place;

const BEGIN_READING: &str = include_str!("../../../../sql/queries/consumers/begin_reading.sql");
const ACKNOWLEDGE: &str = include_str!("../../../../sql/queries/consumers/acknowledge.sql");
const PASS: &str = include_str!("../../../../sql/queries/consumers/pass.sql");
const NOTE_GAP: &str = include_str!("../../../../sql/queries/consumers/note_gap.sql");
const FIND_READER: &str = include_str!("../../../../sql/queries/consumers/find_reader.sql");
const END_READING: &str = include_str!("../../../../sql/queries/consumers/end_reading.sql");

/// A request for the notifications of a consumer.
#[derive(Debug, Clone, Copy)]
pub struct Read<'r> {
    /// The tenant of the consumer.
    pub tenant: &'r TenantId,
    /// The name of the consumer.
    pub name: &'r str,
    /// The user who reads, who has to be the owner.
    pub user: &'r str,
    /// The way of the reader's connection.
    pub way: ReaderWay,
    /// The address of the client.
    pub address: Option<IpAddr>,
    /// The last notification that the client handled.
    pub acknowledged: Option<JournalPosition>,
    /// The number of the session that read the consumer at another place before, and now continues.
    pub continued: Option<i64>,
}

/// A consumer at the begin of reading.
#[derive(Debug)]
pub struct Begun {
    /// The channels of the consumer.
    pub channels: Vec<Pattern>,
    /// The condition on their notifications.
    pub filter: Option<Arc<NotificationFilter>>,
    /// The place after which it continues.
    pub place: Place,
    /// The notifications that it missed, until it acknowledges their end.
    pub missed: Option<Missed>,
    /// The newest position of the journal.
    pub newest: JournalPosition,
    /// The bytes that its backlog may have.
    pub max_bytes: i64,
    /// A random number of the session or stream that reads; `None` for a long poll.
    pub session: Option<i64>,
}

/// Begins to read a consumer, or continues. Takes it over from a reader at another server, which is notified. One
/// statement, or two at a takeover.
///
/// # Errors
/// `NotFound` for an unknown consumer and for one of another user; `Conflict` for a session that continues after
/// another reader took over; `Invalid` for an acknowledgement of a notification that does not exist; `Unavailable` or
/// `Database`.
pub async fn begin_reading(database: &Database, read: Read<'_>) -> Result<Begun> {
    let client = database.loader().await?;
    let server = database.publications().incarnation();
    let address = read.address.map(|address| address.to_string());
    let row = client
        .find(
            BEGIN_READING,
            &[
                &read.tenant.as_str(),
                &read.name,
                &read.user,
                &read.acknowledged,
                &server,
                &read.way.as_str(),
                &address,
                &read.continued,
            ],
        )
        .await?;
    let Some(row) = row else { return Err(unreadable(&*client, read).await?) };
    let (begun, before) = from_row(&row)?;
    if let Some(acknowledged) = read.acknowledged.filter(|acknowledged| *acknowledged > begun.newest) {
        let allowed = format!("at most {}, the newest position", begun.newest);
        return Err(Error::invalid_value("acknowledge", acknowledged, &allowed));
    }
    if before.is_some() && before != server {
        let change = Change::Consumer(read.tenant.clone(), read.name.into());
        announce(&*client, &database.signatures, &change).await?;
    }
    Ok(begun)
}

/// Returns the reason for which a consumer cannot be read.
async fn unreadable(client: &impl GenericClient, read: Read<'_>) -> Result<Error> {
    let exists = client.find(FIND_READER, &[&read.tenant.as_str(), &read.name]).await?.is_some();
    Ok(match read.continued {
        Some(_) if exists => {
            let message = format!("another reader of the consumer '{}' took over", read.name);
            Error::Conflict { noun: Noun::Consumer, message }
        }
        _ => unknown(read.name),
    })
}

fn from_row(row: &Row) -> Result<(Begun, Option<i64>)> {
    let begun = Begun {
        channels: channels_of(&row.try_get::<_, Vec<String>>(0)?)?,
        filter: filter_of(row.try_get(9)?)?,
        place: Place { position: row.try_get(1)?, arrived: row.try_get(2)?, bytes: row.try_get(3)? },
        missed: missed_of(row.try_get(4)?, row.try_get(5)?),
        newest: row.try_get(6)?,
        max_bytes: row.try_get(8)?,
        session: row.try_get(10)?,
    };
    Ok((begun, row.try_get(7)?))
}

/// Acknowledges the notifications of a consumer up to a position, without a change of its reader. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn acknowledge(
    database: &Database,
    (tenant, name): (&TenantId, &str),
    position: JournalPosition,
) -> Result<()> {
    database.loader().await?.run(ACKNOWLEDGE, &[&tenant.as_str(), &name, &position]).await?;
    Ok(())
}

/// Moves a consumer that is read at this server to a place, because nothing up to there matched its channels. One
/// statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn pass(database: &Database, (tenant, name): (&TenantId, &str), to: Place) -> Result<()> {
    let (client, server) = (database.loader().await?, database.publications().incarnation());
    client.run(PASS, &[&tenant.as_str(), &name, &to.position, &to.arrived, &to.bytes, &server]).await?;
    Ok(())
}

/// Notes that a consumer missed all notifications from a position up to a place, because the journal has them no
/// longer. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn note_gap(
    database: &Database,
    (tenant, name): (&TenantId, &str),
    from: JournalPosition,
    to: Place,
) -> Result<()> {
    let client = database.loader().await?;
    client.run(NOTE_GAP, &[&tenant.as_str(), &name, &from, &to.position, &to.arrived, &to.bytes]).await?;
    Ok(())
}

/// Notes that consumers are no longer read at this server. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn end_reading(database: &Database, consumers: &[(TenantId, Box<str>)]) -> Result<()> {
    if consumers.is_empty() {
        return Ok(());
    }
    let tenants: Vec<&str> = consumers.iter().map(|(tenant, _)| tenant.as_str()).collect();
    let names: Vec<&str> = consumers.iter().map(|(_, name)| &**name).collect();
    let server = database.publications().incarnation();
    database.loader().await?.run(END_READING, &[&tenants, &names, &server]).await?;
    Ok(())
}

/// The state of a consumer, as its reader looks at it after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadState {
    /// Whether it is read at this server.
    pub is_read_here: bool,
    /// The last notification that it acknowledged.
    pub position: JournalPosition,
    /// Whether it has lapsed.
    pub has_lapsed: bool,
    /// The condition on its notifications.
    pub filter: Option<Arc<NotificationFilter>>,
}

/// Returns the state of a consumer; `None` if it does not exist. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_state(database: &Database, tenant: &TenantId, name: &str) -> Result<Option<ReadState>> {
    let client = database.loader().await?;
    let row = client.find(FIND_READER, &[&tenant.as_str(), &name]).await?;
    let server = database.publications().incarnation();
    let state = |row: Row| -> Result<ReadState> {
        Ok(ReadState {
            is_read_here: row.try_get::<_, Option<i64>>(0)? == server,
            position: row.try_get(1)?,
            has_lapsed: row.try_get(2)?,
            filter: filter_of(row.try_get(3)?)?,
        })
    };
    row.map(state).transpose()
}
