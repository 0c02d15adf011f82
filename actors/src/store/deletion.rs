//! Deletions of what a filter finds, however much that is.

use super::until_uncontended;
use crate::error::{Error, Result};
use crate::model::id::ManagedObjectId;
use crate::model::page::Position;

/// Ids that match behind a place, and where to go on: `None` behind the end.
pub(super) type Listed = Result<(Vec<i64>, Option<Position>)>;
/// What was deleted, with its sources.
pub(super) type Gone<Id> = Result<Vec<(Id, ManagedObjectId)>>;

/// A deletion that is under way. Each step is a transaction; the collection is walked once, so that what is left over costs no
/// step anything.
pub(crate) struct Deletion<L, D> {
    list: L,
    delete: D,
    after: Option<Position>,
    ended: bool,
}

impl<L, D, Id> Deletion<L, D>
where
    L: AsyncFn(Option<Position>) -> Listed,
    D: AsyncFn(&[i64]) -> Gone<Id>,
{
    /// `list` gives what comes behind a place. `delete` deletes some of that in one transaction and gives what is gone now.
    pub(super) fn of(list: L, delete: D) -> Self {
        Self { list, delete, after: None, ended: false }
    }

    /// Deletes what comes next and gives it with its sources; `None` when there is no more.
    ///
    /// # Errors
    /// `Timeout`, `Contended`, `Unavailable` or `Database`; then part of it may be gone.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<(Id, ManagedObjectId)>>> {
        if self.ended {
            return Ok(None);
        }
        let (ids, next) = (self.list)(self.after).await?;
        let mut gone = Vec::with_capacity(ids.len());
        let (mut rest, mut size) = (&ids[..], ids.len().max(1));
        while !rest.is_empty() {
            let (some, others) = rest.split_at(size.min(rest.len()));
            match until_uncontended(async || (self.delete)(some).await).await {
                Ok(deleted) => {
                    gone.extend(deleted);
                    rest = others;
                }
                // What has large files takes long: fewer at once.
                Err(Error::Timeout) if size > 1 => size = size.div_ceil(8),
                Err(error) => return Err(error),
            }
        }
        (self.after, self.ended) = (next, next.is_none());
        Ok(Some(gone))
    }
}
