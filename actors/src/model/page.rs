//! Pages of a collection (document 1, Paging; P-01 to P-07).

use time::OffsetDateTime;

/// Which page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// Members per page, 1 to 2000.
    pub size: u32,
    /// Number of the page, from 1.
    pub current: u32,
    /// Where the page before ended; carried by `next` links, so that page 10 000 costs what page 1 costs.
    pub after: Option<Position>,
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
        let count = match self.total {
            TotalPages::Counted => Count::Of(0),
            TotalPages::Omitted => Count::Omitted,
        };
        Page { members: Vec::new(), next: None, count }
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

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.time.unix_timestamp_nanos() / 1000, self.id)
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
    pub next: Option<Position>,
    /// Matching records.
    pub count: Count,
}
