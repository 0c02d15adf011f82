//! Rows of consumers, and the values in them.

use std::sync::Arc;

use platform_model::error::Result;
use platform_model::realtime::bayeux::Pattern;
use platform_model::realtime::consumer::{
    Backlog, BacklogBounds, Consumer, ConsumerReader, JournalPosition, Missed, ReaderWay, parse_channel,
};
use platform_model::realtime::filter::NotificationFilter;
use platform_model::timestamp::Timestamp;
use time::OffsetDateTime;
use tokio_postgres::Row;

/// The columns of a consumer, in the order in which [`from_row`] reads them.
pub(super) const COLUMNS: &str = "c.name, c.owner, c.channels, c.created_at, c.max_age, c.max_bytes, c.lapsed_at, \
    c.position, j.newest, j.bytes - c.bytes, oldest.arrived_at, s.name, c.reader_way, c.reader_since, \
    c.reader_address, c.missed_from, c.missed_to, c.filter";

pub(super) fn stored(bounds: BacklogBounds) -> (i32, i64) {
    (i32::try_from(bounds.max_age).unwrap_or(i32::MAX), i64::try_from(bounds.max_bytes).unwrap_or(i64::MAX))
}

pub(super) fn bounds(age: i32, bytes: i64) -> BacklogBounds {
    BacklogBounds { max_age: age.unsigned_abs(), max_bytes: bytes.unsigned_abs() }
}

/// Returns the gap that is stored as two positions.
pub(super) fn missed_of(from: Option<JournalPosition>, to: Option<JournalPosition>) -> Option<Missed> {
    from.zip(to).map(|(from, to)| Missed { from, to })
}

/// Parses stored channels.
pub(super) fn channels_of(names: &[String]) -> Result<Vec<Pattern>> {
    names.iter().map(|name| parse_channel(name)).collect()
}

/// Returns the text of a filter, as it is stored.
pub(super) fn text_of(filter: &Option<Arc<NotificationFilter>>) -> Option<&str> {
    filter.as_ref().map(|filter| filter.text())
}

/// Compiles a stored filter.
pub(super) fn filter_of(text: Option<&str>) -> Result<Option<Arc<NotificationFilter>>> {
    text.map(NotificationFilter::compile).transpose()
}

pub(super) fn from_row(row: &Row) -> Result<Consumer> {
    let time = |at: usize| -> Result<Option<Timestamp>> {
        Ok(row.try_get::<_, Option<OffsetDateTime>>(at)?.map(|time| Timestamp::stored(time, 0)))
    };
    let (position, newest): (JournalPosition, JournalPosition) = (row.try_get(7)?, row.try_get(8)?);
    let reader =
        match (row.try_get(11)?, row.try_get::<_, Option<&str>>(12)?.and_then(ReaderWay::find), time(13)?) {
            (Some(server), Some(way), Some(since)) => {
                let address = row.try_get::<_, Option<&str>>(14)?.and_then(|address| address.parse().ok());
                Some(ConsumerReader { way, since, address, server })
            }
            _ => None,
        };
    Ok(Consumer {
        name: row.try_get(0)?,
        owner: row.try_get(1)?,
        channels: channels_of(&row.try_get::<_, Vec<String>>(2)?)?,
        filter: filter_of(row.try_get(17)?)?,
        created: Timestamp::stored(row.try_get(3)?, 0),
        bounds: bounds(row.try_get(4)?, row.try_get(5)?),
        lapsed: time(6)?,
        missed: missed_of(row.try_get(15)?, row.try_get(16)?),
        position,
        newest,
        backlog: Backlog { notifications: newest - position, bytes: row.try_get(9)?, oldest: time(10)? },
        reader,
    })
}
