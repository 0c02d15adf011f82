//! Pages of a collection (document 1, Paging; P-01 to P-07).

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
    /// The page of a collection that can have no members.
    pub fn empty<T>(&self) -> Page<T> {
        Page { members: Vec::new(), next: None, count: (self.total == TotalPages::Counted).then_some(0) }
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
    /// Microseconds since 1970 of the time a collection is sorted by; 0 where it is sorted by id alone.
    pub time_micros: i64,
    /// Id of the last member of the page before.
    pub id: i64,
}

impl Position {
    /// Reads the form a `next` link carries.
    pub fn parse(text: &str) -> Option<Self> {
        let (time, id) = text.split_once('_')?;
        Some(Self { time_micros: time.parse().ok()?, id: id.parse().ok()? })
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.time_micros, self.id)
    }
}

/// One page of a collection.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The members, at most as many as asked for.
    pub members: Vec<T>,
    /// Where the next page starts; `None` when this is the last (P-01).
    pub next: Option<Position>,
    /// Matching records, when they were counted.
    pub count: Option<i64>,
}
