//! Named consumers of notifications, which remember how far they have read while no connection is open
//! (docs/rules.md#named-consumers; B-26 to B-31).

use std::net::IpAddr;
use std::sync::Arc;

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::bayeux::channel::{Endpoint, Pattern};
use super::filter::NotificationFilter;
use crate::body::{Body, missing, text};
use crate::error::{Error, Result};
use crate::links::{Linked, Links};
use crate::timestamp::Timestamp;

/// The most channels of a consumer.
pub const MOST_CHANNELS: usize = 100;
/// The shortest and the longest age of a backlog, in seconds.
const AGES: (u32, u32) = (60, 7 * 24 * 3600);
/// The age of a backlog unless the client sets another one: a day.
const DEFAULT_AGE: u32 = 24 * 3600;
/// The smallest and the largest size of a backlog, in bytes.
const SIZES: (u64, u64) = (64 << 10, 1 << 30);
/// The size of a backlog unless the client sets another one.
const DEFAULT_SIZE: u64 = 64 << 20;
/// The most characters of a name.
const MAX_NAME: usize = 64;

/// The members that clients set when they create a consumer.
const MEMBERS: [&str; 6] = ["name", "channels", "filter", "start", "maxAge", "maxBytes"];
/// The members that clients change.
const CHANGED_MEMBERS: [&str; 5] = ["filter", "maxAge", "maxBytes", "position", "acknowledged"];
/// The members that only the server sets; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 9] =
    ["self", "owner", "creationTime", "state", "lapsedTime", "missed", "newest", "backlog", "reader"];

/// A position in the journal of a tenant: the number of a notification. The first one is 1, and no number is left out.
pub type JournalPosition = i64;

/// The point of the journal at which a consumer continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With the next notification.
    Now,
    /// With the oldest notification of the journal.
    Earliest,
    /// With the first notification of this moment or later.
    Time(Timestamp),
    /// With the notification after this one.
    After(JournalPosition),
}

/// The bounds of the backlog of a consumer. A consumer with a larger or older backlog lapses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BacklogBounds {
    /// The age of the oldest notification, in seconds.
    pub max_age: u32,
    /// The size of all notifications, in bytes.
    pub max_bytes: u64,
}

/// A consumer to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConsumer {
    /// The name, unique in the tenant.
    pub name: String,
    /// The channels that it receives.
    pub channels: Vec<Pattern>,
    /// The condition on the notifications; `None` for all of them (B-35).
    pub filter: Option<Arc<NotificationFilter>>,
    /// The first notification.
    pub start: Start,
    /// The bounds of its backlog.
    pub bounds: BacklogBounds,
}

/// Changes of a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerPatch {
    /// The condition on the notifications; `Some(None)` removes it.
    pub filter: Option<Option<Arc<NotificationFilter>>>,
    max_age: Option<u32>,
    max_bytes: Option<u64>,
    /// The point at which it continues.
    pub seek: Option<Start>,
    /// The last notification that was handled; it does not disturb a reader.
    pub acknowledged: Option<JournalPosition>,
}

/// The way in which a reader receives the notifications of a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderWay {
    /// Long polls of the consumer.
    LongPoll,
    /// Server-sent events.
    Events,
    /// A Bayeux session.
    Bayeux,
}

impl ReaderWay {
    const ALL: [Self; 3] = [Self::LongPoll, Self::Events, Self::Bayeux];

    /// Returns the name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LongPoll => "LONG_POLL",
            Self::Events => "EVENTS",
            Self::Bayeux => "BAYEUX",
        }
    }

    /// Finds the way with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.as_str() == name)
    }
}

/// The current reader of a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerReader {
    /// The way of its connection.
    pub way: ReaderWay,
    /// When it began.
    pub since: Timestamp,
    /// The address of the client.
    pub address: Option<IpAddr>,
    /// The name of the server to which it is connected.
    pub server: String,
}

/// The notifications of the journal that a consumer has not acknowledged, whether or not they match its channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Their number.
    pub notifications: i64,
    /// Their size.
    pub bytes: i64,
    /// When the oldest of them was committed.
    pub oldest: Option<Timestamp>,
}

/// A consumer as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// The name, unique in the tenant.
    pub name: String,
    /// The user who created it, and who alone reads it.
    pub owner: String,
    /// The channels that it receives.
    pub channels: Vec<Pattern>,
    /// The condition on their notifications; `None` for all of them (B-35).
    pub filter: Option<Arc<NotificationFilter>>,
    /// When it was created.
    pub created: Timestamp,
    /// The bounds of its backlog.
    pub bounds: BacklogBounds,
    /// When it lapsed, unless it was read since.
    pub lapsed: Option<Timestamp>,
    /// The notifications that it missed, until the client acknowledges their end.
    pub missed: Option<Missed>,
    /// The last notification that it acknowledged.
    pub position: JournalPosition,
    /// The newest notification of the journal.
    pub newest: JournalPosition,
    /// Everything behind its position.
    pub backlog: Backlog,
    /// The current reader.
    pub reader: Option<ConsumerReader>,
}

/// Notifications that a consumer will never receive, because it lapsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// The first of them.
    pub from: JournalPosition,
    /// The last of them.
    pub to: JournalPosition,
}

impl NewConsumer {
    /// Parses the body of a POST.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and what is allowed, also for an unknown member (C-19a).
    pub fn parse(mut body: Body) -> Result<Self> {
        body.only(&MEMBERS, &SERVER_MEMBERS)?;
        let (name, channels) = (body.take("name"), body.take("channels"));
        let (Some(name), Some(channels)) = (&name, &channels) else {
            return Err(missing(&[("name", name.is_none()), ("channels", channels.is_none())]));
        };
        let allowed = "now, earliest, or a time";
        let start = body.take("start").map(|raw| named_start("start", &raw, allowed)).transpose()?;
        let bounds = BacklogBounds {
            max_age: max_age(&mut body)?.unwrap_or(DEFAULT_AGE),
            max_bytes: max_bytes(&mut body)?.unwrap_or(DEFAULT_SIZE),
        };
        Ok(Self {
            name: parse_name(&text("name", name, MAX_NAME * 4)?)?,
            channels: parse_channels(channels)?,
            filter: body.take("filter").map(|raw| parse_filter(&raw)).transpose()?,
            start: start.unwrap_or(Start::Now),
            bounds,
        })
    }
}

impl ConsumerPatch {
    /// Parses the body of a PUT.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and what is allowed, also for an unknown member (C-19a).
    pub fn parse(mut body: Body) -> Result<Self> {
        body.only(&CHANGED_MEMBERS, &[&SERVER_MEMBERS[..], &["name", "channels"]].concat())?;
        let filter = body.take_nullable("filter").map(|raw| raw.map(|raw| parse_filter(&raw)).transpose());
        let seek = body.take("position").map(|raw| parse_seek(&raw)).transpose()?;
        let acknowledged = body.take("acknowledged").map(|raw| position("acknowledged", &raw)).transpose()?;
        let (max_age, max_bytes) = (max_age(&mut body)?, max_bytes(&mut body)?);
        Ok(Self { filter: filter.transpose()?, max_age, max_bytes, seek, acknowledged })
    }

    /// Returns the bounds after the change.
    pub fn bounds(&self, before: BacklogBounds) -> BacklogBounds {
        BacklogBounds {
            max_age: self.max_age.unwrap_or(before.max_age),
            max_bytes: self.max_bytes.unwrap_or(before.max_bytes),
        }
    }
}

/// Parses the name of a consumer.
///
/// # Errors
/// `Invalid` names the value and what is allowed.
pub fn parse_name(name: &str) -> Result<String> {
    let begins = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    if begins && name.len() <= MAX_NAME && name.bytes().all(fits) {
        return Ok(name.to_owned());
    }
    let allowed = "1 to 64 letters, digits, '_', '.' and '-', beginning with a letter or a digit";
    Err(Error::invalid_value("name", name, allowed))
}

/// Parses a channel of a consumer: one that the endpoint `/notification/realtime` has, except for those of modules,
/// whose output is not stored, and of groups, whose earlier members are not known.
pub fn parse_channel(channel: &str) -> Result<Pattern> {
    match Pattern::parse(Endpoint::Realtime, channel) {
        Some(pattern) if !matches!(pattern, Pattern::Module { .. } | Pattern::Group(_)) => Ok(pattern),
        _ => {
            let allowed = "a channel of alarms, events, measurements, managed objects or operations, such as \
                /alarms/* or /events/208";
            Err(Error::invalid_value("channels", channel, allowed))
        }
    }
}

fn parse_channels(raw: &RawValue) -> Result<Vec<Pattern>> {
    let allowed = format!("an array of 1 to {MOST_CHANNELS} channels");
    let names: Option<Vec<String>> = serde_json::from_str(raw.get()).ok();
    let names = names.filter(|names| (1..=MOST_CHANNELS).contains(&names.len()));
    let names = names.ok_or_else(|| Error::invalid_value("channels", raw.get(), &allowed))?;
    let mut channels = Vec::with_capacity(names.len());
    for name in &names {
        let channel = parse_channel(name)?;
        if !channels.contains(&channel) {
            channels.push(channel);
        }
    }
    Ok(channels)
}

fn parse_filter(raw: &RawValue) -> Result<Arc<NotificationFilter>> {
    NotificationFilter::compile(&text("filter", raw, usize::MAX)?)
}

/// Parses a start that is a word or a time.
fn named_start(member: &str, raw: &RawValue, allowed: &str) -> Result<Start> {
    let value = text(member, raw, 64).map_err(|_| Error::invalid_value(member, raw.get(), allowed))?;
    match &*value {
        "now" => Ok(Start::Now),
        "earliest" => Ok(Start::Earliest),
        time => match Timestamp::parse(member, time) {
            Ok(time) => Ok(Start::Time(time)),
            Err(_) => Err(Error::invalid_value(member, time, allowed)),
        },
    }
}

fn parse_seek(raw: &RawValue) -> Result<Start> {
    match raw.get().starts_with('"') {
        true => named_start("position", raw, "a position, now, earliest, or a time"),
        false => Ok(Start::After(position("position", raw)?)),
    }
}

/// Parses a position in the journal.
fn position(member: &str, raw: &RawValue) -> Result<JournalPosition> {
    parse_position(member, raw.get())
}

/// Parses a position in the journal, for example of `Last-Event-ID`.
///
/// # Errors
/// `Invalid` names the value and what is allowed.
pub fn parse_position(member: &str, value: &str) -> Result<JournalPosition> {
    let parsed = value.parse().ok().filter(|position: &JournalPosition| *position >= 0);
    parsed.ok_or_else(|| Error::invalid_value(member, value, "the position of a notification"))
}

fn max_age(body: &mut Body) -> Result<Option<u32>> {
    let bounded = |raw: Box<RawValue>| {
        let age = raw.get().parse().ok().filter(|age: &u32| (AGES.0..=AGES.1).contains(age));
        let allowed = format!("{} to {} seconds", AGES.0, AGES.1);
        age.ok_or_else(|| Error::invalid_value("maxAge", raw.get(), &allowed))
    };
    body.take("maxAge").map(bounded).transpose()
}

fn max_bytes(body: &mut Body) -> Result<Option<u64>> {
    let bounded = |raw: Box<RawValue>| {
        let size = raw.get().parse().ok().filter(|size: &u64| (SIZES.0..=SIZES.1).contains(size));
        let allowed = format!("{} to {} bytes", SIZES.0, SIZES.1);
        size.ok_or_else(|| Error::invalid_value("maxBytes", raw.get(), &allowed))
    };
    body.take("maxBytes").map(bounded).transpose()
}

impl Serialize for Linked<'_, Consumer> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Linked { value: consumer, links } = self;
        let channels: Vec<String> = consumer.channels.iter().map(ToString::to_string).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.consumer(&consumer.name))?;
        map.serialize_entry("name", &consumer.name)?;
        map.serialize_entry("owner", &consumer.owner)?;
        map.serialize_entry("channels", &channels)?;
        if let Some(filter) = &consumer.filter {
            map.serialize_entry("filter", filter.text())?;
        }
        map.serialize_entry("creationTime", &consumer.created)?;
        map.serialize_entry("maxAge", &consumer.bounds.max_age)?;
        map.serialize_entry("maxBytes", &consumer.bounds.max_bytes)?;
        map.serialize_entry("state", if consumer.lapsed.is_some() { "LAPSED" } else { "ACTIVE" })?;
        if let Some(lapsed) = &consumer.lapsed {
            map.serialize_entry("lapsedTime", lapsed)?;
        }
        if let Some(missed) = &consumer.missed {
            map.serialize_entry("missed", missed)?;
        }
        map.serialize_entry("position", &consumer.position)?;
        map.serialize_entry("newest", &consumer.newest)?;
        map.serialize_entry("backlog", &consumer.backlog)?;
        if let Some(reader) = &consumer.reader {
            map.serialize_entry("reader", reader)?;
        }
        map.end()
    }
}

impl Serialize for Backlog {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut backlog = serializer.serialize_struct("backlog", 3)?;
        backlog.serialize_field("notifications", &self.notifications)?;
        backlog.serialize_field("bytes", &self.bytes)?;
        match &self.oldest {
            Some(oldest) => backlog.serialize_field("oldestTime", oldest)?,
            None => backlog.skip_field("oldestTime")?,
        }
        backlog.end()
    }
}

impl Serialize for ConsumerReader {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("way", self.way.as_str())?;
        map.serialize_entry("since", &self.since)?;
        if let Some(address) = &self.address {
            map.serialize_entry("address", address)?;
        }
        map.serialize_entry("server", &self.server)?;
        map.end()
    }
}

impl Links {
    /// Returns the URL of a consumer.
    pub fn consumer(&self, name: &str) -> String {
        self.item("/notification/consumers", name)
    }
}
