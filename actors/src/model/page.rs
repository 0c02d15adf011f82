//! Pages of a collection (docs/rules.md#paging; P-01 to P-07).

use std::fmt;
use std::sync::Arc;

use time::OffsetDateTime;

/// Which page is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Members per page, 1 to 2000.
    pub size: u32,
    /// Number of the page, from 1.
    pub current: u32,
    /// Where the page before ended; carried by `next` links, so that page 10 000 costs what page 1 costs.
    pub after: Option<After>,
    /// Whether the pages are counted.
    pub total: TotalPages,
}

impl PageRequest {
    /// How many members of the whole collection one request looks at for a caller who sees only part of it (P-07).
    pub fn scan_budget(&self) -> u32 {
        10 * self.size.max(100)
    }

    /// The page of a collection that can have no members.
    pub fn empty<T>(&self) -> Page<T> {
        Page { members: Vec::new(), next: None, count: self.count_of(0) }
    }

    /// How many members a collection has, where that is asked for (P-02a).
    pub(crate) fn count_of(&self, members: i64) -> Count {
        match self.total {
            TotalPages::Counted => Count::Of(members),
            TotalPages::Omitted => Count::Omitted,
        }
    }

    /// A page of a short collection that is at hand whole, sorted by `name`.
    pub fn cut<T>(&self, all: Vec<T>, name: impl Fn(&T) -> &str) -> Page<T> {
        let count = self.count_of(all.len() as i64);
        let skipped = (self.current as usize - 1).saturating_mul(self.size as usize);
        let more = all.len() > skipped.saturating_add(self.size as usize);
        let members: Vec<T> = all.into_iter().skip(skipped).take(self.size as usize).collect();
        let next = if more { members.last().map(|last| After::Name(name(last).into())) } else { None };
        Page { members, next, count }
    }
}

/// Whether `totalPages` is asked for (`withTotalPages=true`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TotalPages {
    /// Counted: exact up to a million records (P-03).
    Counted,
    /// Left out.
    Omitted,
}

/// Place of a member in its collection: what it is sorted by, then its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The time a collection is sorted by; 1970 where it is sorted by id alone.
    pub time: OffsetDateTime,
    /// Id of the last member of the page before.
    pub id: i64,
}

impl Position {
    /// Place in a collection that is sorted by id alone.
    pub fn of_id(id: i64) -> Self {
        Self { time: OffsetDateTime::UNIX_EPOCH, id }
    }

    /// Reads the form a `next` link carries: microseconds since 1970, and the id.
    pub fn parse(text: &str) -> Option<Self> {
        let (micros, id) = text.split_once('_')?;
        let nanos = i128::from(micros.parse::<i64>().ok()?) * 1000;
        Some(Self { time: OffsetDateTime::from_unix_timestamp_nanos(nanos).ok()?, id: id.parse().ok()? })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.time.unix_timestamp_nanos() / 1000, self.id)
    }
}

/// Where a page ended, in whatever its collection is sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// A collection sorted by time and id, or by id alone.
    Position(Position),
    /// A collection sorted by a name that is unique in it: the last one of the page.
    Name(Arc<str>),
}

/// What tells a name from a time in a link.
const NAME: &str = "n_";

impl After {
    /// Reads the form a `next` link carries.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix(NAME) {
            Some(name) => Some(Self::Name(name.into())),
            None => Position::parse(text).map(Self::Position),
        }
    }
}

impl From<Position> for After {
    fn from(position: Position) -> Self {
        Self::Position(position)
    }
}

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Position(position) => position.fmt(f),
            Self::Name(name) => write!(f, "{NAME}{name}"),
        }
    }
}

/// How many records match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Nobody asked.
    Omitted,
    /// Not told, because the caller sees only part of them (P-07). `currentPage` then counts the members of the whole
    /// collection, and the next page starts this many further on.
    Withheld {
        /// Members of the whole collection that were looked at for this page.
        scanned: u32,
    },
    /// This many.
    Of(i64),
}

/// One page of a collection.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The members, at most as many as asked for.
    pub members: Vec<T>,
    /// Where the next page starts; `None` when this is the last (P-01).
    pub next: Option<After>,
    /// Matching records.
    pub count: Count,
}

impl<T> Page<T> {
    /// The same page of what each member is shown as.
    pub fn map<U>(self, shown: impl FnMut(T) -> U) -> Page<U> {
        let members = self.members.into_iter().map(shown).collect();
        Page { members, next: self.next, count: self.count }
    }
}

/// Where a page begins.
impl PageRequest {
    /// The place behind which the page begins, in a collection that is sorted by time and id, or by id alone.
    pub fn position(&self) -> Option<Position> {
        match self.after {
            Some(After::Position(position)) => Some(position),
            _ => None,
        }
    }

    /// The name behind which the page begins, in a collection that is sorted by name.
    pub fn after_name(&self) -> Option<&str> {
        match &self.after {
            Some(After::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// How many members to pass over: those of the pages before, unless a name says where the page begins.
    pub fn offset(&self) -> i64 {
        match self.after_name() {
            Some(_) => 0,
            None => i64::from(self.current - 1) * i64::from(self.size),
        }
    }
}

/// In which order a time series is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeOrder {
    /// Newest `time` first, ties by descending id (P-06).
    #[default]
    NewestFirst,
    /// The other way round (`revert=true`).
    OldestFirst,
}

impl TimeOrder {
    /// The other one.
    pub fn reversed(self) -> Self {
        match self {
            Self::NewestFirst => Self::OldestFirst,
            Self::OldestFirst => Self::NewestFirst,
        }
    }
}
