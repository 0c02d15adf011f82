//! Deletions of everything that a filter matches, whatever its size.

use platform_model::error::{Error, Result};
use platform_model::page::Position;

use crate::until_uncontended;

/// The matching ids after a position, and the position to continue from, which is `None` at the end.
pub(crate) type ListedIds = Result<(Vec<i64>, Option<Position>)>;

/// A deletion in progress. Each step is a transaction. The collection is scanned once, so rows that stay do not slow
/// down later steps.
pub struct Deletion<L, D> {
    list: L,
    delete: D,
    after: Option<Position>,
    ended: bool,
}

impl<L, D> Deletion<L, D>
where
    L: AsyncFn(Option<Position>) -> ListedIds,
    D: AsyncFn(&[i64]) -> Result<usize>,
{
    /// Starts a deletion. `list` returns the ids after a position. `delete` deletes some of them in one transaction,
    /// publishes it, and returns how many it has deleted.
    pub(crate) fn of(list: L, delete: D) -> Self {
        Self { list, delete, after: None, ended: false }
    }

    /// Deletes everything.
    ///
    /// # Errors
    /// `Timeout`, `Contended`, `Unavailable` or `Database`; a part of the rows may be deleted then.
    pub async fn run(mut self) -> Result<()> {
        while !self.ended {
            self.step().await?;
        }
        Ok(())
    }

    async fn step(&mut self) -> Result<()> {
        let (ids, next) = (self.list)(self.after).await?;
        let (mut rest, mut size) = (&ids[..], ids.len().max(1));
        while !rest.is_empty() {
            let (some, others) = rest.split_at(size.min(rest.len()));
            match until_uncontended(async || (self.delete)(some).await).await {
                Ok(_) => rest = others,
                // Rows with large files take long, so the next attempt deletes fewer at once.
                Err(Error::Timeout) if size > 1 => size = size.div_ceil(8),
                Err(error) => return Err(error),
            }
        }
        (self.after, self.ended) = (next, next.is_none());
        Ok(())
    }
}
