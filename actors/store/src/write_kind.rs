//! A kind of write in the group commit: the statement that writes all changes of the kind in a batch, over arrays.
//!
//! Each noun implements its kinds beside its statements. The list of all kinds is in [`writer`](crate::writer::Change).

use std::sync::Arc;

use deadpool_postgres::Object;
use platform_model::error::Result;
use platform_model::fragments::Fragments;
use platform_model::id::TenantId;

use crate::signatures::Signatures;
use crate::statistics::Counted;

/// The changes of one kind in a batch, each with its tenant.
pub(crate) type Rows<'a, K> = [(&'a TenantId, &'a <K as WriteKind>::Change)];

/// A kind of write.
pub(crate) trait WriteKind {
    /// The data of one change.
    type Change;
    /// The prepared statements.
    type Statements;
    /// The outcomes of the changes of a batch.
    type Outcomes: Default;
    /// The result of a change that was made.
    type Written;

    /// Prepares the statements.
    async fn prepare(client: &Object, signatures: &Arc<Signatures>) -> Result<Self::Statements>;

    /// Returns how many statements [`run`](Self::run) sends for these rows, of which there is at least one.
    fn statements(_rows: &Rows<'_, Self>) -> usize {
        1
    }

    /// Writes the changes. All statements are sent when the future is polled for the first time, so that those of all
    /// kinds are in flight at once. Rows that take locks are sorted first, so that two processes that write the same
    /// rows lock them in the same order.
    async fn run(
        client: &tokio_postgres::Client,
        statements: &Self::Statements,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes>;

    /// Takes the result of a change, in the order of the changes; `None` if it was based on outdated data and nothing
    /// was written.
    fn written(outcomes: &mut Self::Outcomes, change: &Self::Change) -> Option<Self::Written>;

    /// Returns what a change counts as in the statistics of its tenant, and how often (Z-07).
    fn counted(change: &Self::Change, written: &Self::Written) -> (Counted, u64);

    /// Returns what a change adds to the database, which the quotas of its tenant bound (Z-20).
    fn added(change: &Self::Change) -> Added<'_>;

    /// Returns how many rows a change writes, which bounds batches and the queue.
    fn rows(_change: &Self::Change) -> usize {
        1
    }
}

/// What a change adds to the database.
pub(crate) enum Added<'a> {
    /// It adds nothing, or its sender checks by how much the data grows.
    Nothing,
    /// It adds data.
    Data,
    /// It adds a managed object with these fragments, which may be a device.
    Object(&'a Fragments),
}
