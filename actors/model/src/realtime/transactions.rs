//! The transactions that stored what is published, and those that a list shows (B-36).

use std::fmt;
use std::num::NonZeroU64;

/// The id of a transaction of PostgreSQL (`xid8`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionId(NonZeroU64);

impl TransactionId {
    /// Parses the text of an `xid8`. Returns `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The transactions whose writes a list shows: those that were committed when its transaction took its snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownTransactions {
    /// All transactions before this one had ended.
    first_running: u64,
    /// This transaction and all later ones had not begun.
    next: u64,
    /// The transactions in between that were running, sorted.
    running: Box<[u64]>,
}

impl ShownTransactions {
    /// Parses the text of a `pg_snapshot`, for example `10:20:10,14,15`. Returns `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let (first_running, next) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let running = parts.next()?.split(',').filter(|id| !id.is_empty());
        let mut running = running.map(|id| id.parse().ok()).collect::<Option<Box<[u64]>>>()?;
        running.sort_unstable();
        parts.next().is_none().then_some(Self { first_running, next, running })
    }

    /// Returns whether the list shows the writes of a transaction that was committed, then or since.
    pub fn contain(&self, TransactionId(id): TransactionId) -> bool {
        let id = id.get();
        id < self.first_running || id < self.next && self.running.binary_search(&id).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_that_had_ended_are_shown_and_running_and_later_ones_are_not() {
        let shown = ShownTransactions::parse("10:20:15,10,14").expect("a snapshot");
        for (id, expected) in
            [(1, true), (9, true), (10, false), (11, true), (14, false), (15, false), (19, true), (20, false)]
        {
            let id = TransactionId::parse(&format!("{id}")).expect("an id");
            assert_eq!(shown.contain(id), expected, "{id}");
        }
    }

    #[test]
    fn snapshot_without_running_transactions_is_read_and_other_text_is_not() {
        let shown = ShownTransactions::parse("7:7:").expect("a snapshot");
        assert_eq!(shown, ShownTransactions { first_running: 7, next: 7, running: Box::default() });
        for text in ["", "7", "7:7", "7:7:a", "7:7:1:2", "a:7:", "7:-7:"] {
            assert_eq!(ShownTransactions::parse(text), None, "{text}");
        }
        assert!(TransactionId::parse("0").is_none() && TransactionId::parse("-1").is_none());
    }
}
