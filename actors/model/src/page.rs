//! Pages of a collection (docs/rules.md#paging; P-01 to P-07).

use std::fmt;
use std::sync::Arc;

use time::OffsetDateTime;

/// The requested page of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// The number of members per page, 1 to 2000.
    pub size: u32,
    /// The number of the page, from 1.
    pub current: u32,
    /// The end of the previous page, which `next` links contain, so that page 10 000 costs no more than page 1.
    pub after: Option<After>,
    /// Whether the total number of pages is requested.
    pub total: TotalPages,
}

impl PageRequest {
    /// Returns how many members of the whole collection one request reads for a caller who sees only part of it (P-07).
    pub fn scan_budget(&self) -> u32 {
        10 * self.size.max(100)
    }

    /// Returns the page of an empty collection.
    pub fn empty<T>(&self) -> Page<T> {
        Page { members: Vec::new(), next: None, count: self.count_of(0) }
    }

    /// Returns the count of members of a collection, if it is requested (P-02a).
    pub fn count_of(&self, members: i64) -> Count {
        match self.total {
            TotalPages::Counted => Count::Of(members),
            TotalPages::Omitted => Count::Omitted,
        }
    }

    /// Returns a page of a short collection that is in memory, sorted by `name`.
    pub fn cut<T>(&self, all: Vec<T>, name: impl Fn(&T) -> &str) -> Page<T> {
        let count = self.count_of(all.len() as i64);
        let skipped = (self.current as usize - 1).saturating_mul(self.size as usize);
        let more = all.len() > skipped.saturating_add(self.size as usize);
        let members: Vec<T> = all.into_iter().skip(skipped).take(self.size as usize).collect();
        let next = if more { members.last().map(|last| After::Name(name(last).into())) } else { None };
        Page { members, next, count }
    }
}

/// Whether `totalPages` is requested (`withTotalPages=true`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TotalPages {
    /// The total is requested; it is exact up to a million records (P-03).
    Counted,
    /// The total is not requested.
    Omitted,
}

/// The position of a member in its collection: its sort key and its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The time by which the collection is sorted; 1970 if it is sorted by id only.
    pub time: OffsetDateTime,
    /// The id of the last member of the previous page.
    pub id: i64,
}

impl Position {
    /// Returns a position in a collection that is sorted by id only.
    pub fn of_id(id: i64) -> Self {
        Self { time: OffsetDateTime::UNIX_EPOCH, id }
    }

    /// Parses the form in `next` links: microseconds since 1970, and the id.
    pub fn parse(text: &str) -> Option<Self> {
        let (micros, id) = text.split_once('_')?;
        let nanos = i128::from(micros.parse::<i64>().ok()?) * 1000;
        let time = OffsetDateTime::from_unix_timestamp_nanos(nanos).ok()?;
        // The last hours of the year 0 are the year 1 east of Greenwich (C-12b).
        (0..=9999).contains(&time.year()).then_some(Self { time, id: id.parse().ok()? })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.time.unix_timestamp_nanos() / 1000, self.id)
    }
}

/// The end of a page, by the sort key of its collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// A position in a collection that is sorted by time and id, or by id only.
    Position(Position),
    /// The last name of a page, in a collection that is sorted by a unique name.
    Name(Arc<str>),
}

/// The prefix that distinguishes a name from a time in a link.
const NAME: &str = "n_";

impl After {
    /// Parses the form in `next` links.
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

/// The number of matching records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// It was not requested.
    Omitted,
    /// It is not returned, because the caller sees only part of the records (P-07). `currentPage` counts the members of
    /// the whole collection then, and the next page starts this many members later.
    Withheld {
        /// The members of the whole collection that were read for this page.
        scanned: u32,
    },
    /// The number of matching records.
    Of(i64),
}

/// One page of a collection.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The members, at most as many as requested.
    pub members: Vec<T>,
    /// The position at which the next page starts; `None` for the last page (P-01).
    pub next: Option<After>,
    /// The number of matching records.
    pub count: Count,
}

impl<T> Page<T> {
    /// Converts each member of the page.
    pub fn map<U>(self, shown: impl FnMut(T) -> U) -> Page<U> {
        let members = self.members.into_iter().map(shown).collect();
        Page { members, next: self.next, count: self.count }
    }
}

/// The start of a page.
impl PageRequest {
    /// Returns the position after which the page begins, in a collection that is sorted by time and id, or by id only.
    pub fn position(&self) -> Option<Position> {
        match self.after {
            Some(After::Position(position)) => Some(position),
            _ => None,
        }
    }

    /// Returns the name after which the page begins, in a collection that is sorted by name.
    pub fn after_name(&self) -> Option<&str> {
        match &self.after {
            Some(After::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns how many members to skip: those of the previous pages, unless a name determines where the page begins.
    pub fn offset(&self) -> i64 {
        match self.after_name() {
            Some(_) => 0,
            None => i64::from(self.current - 1) * i64::from(self.size),
        }
    }
}

/// The order of a time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeOrder {
    /// Newest `time` first, ties by descending id (P-06).
    #[default]
    NewestFirst,
    /// Oldest `time` first (`revert=true`).
    OldestFirst,
}

impl TimeOrder {
    /// Returns the opposite order.
    pub fn reversed(self) -> Self {
        match self {
            Self::NewestFirst => Self::OldestFirst,
            Self::OldestFirst => Self::NewestFirst,
        }
    }
}
