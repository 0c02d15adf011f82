//! A kind of write in the group commit: the statement that writes all changes of the kind in a batch, over arrays.
//!
//! Each noun implements its kinds beside its statements. The list of all kinds is in [`writer`](crate::writer::Change).

use deadpool_postgres::GenericClient;
use platform_model::error::Result;
use platform_model::fragments::Fragments;
use platform_model::id::TenantId;
use platform_model::idempotency::{FirstResponse, IdempotencyKey};

use crate::realtime::signatures::Signatures;
use crate::statistics::Counted;

/// The changes of one kind in a batch, each with its tenant.
pub(crate) type Rows<'a, K> = [(&'a TenantId, &'a <K as WriteKind>::Change)];

/// A kind of write.
pub(crate) trait WriteKind {
    /// The data of one change.
    type Change;
    /// The outcomes of the changes of a batch.
    type Outcomes: Default;
    /// The result of a change that was made.
    type Written;

    /// The statements that [`run`](Self::run) may send, which are prepared before.
    const STATEMENTS: &'static [&'static str];
    /// The count of a change in the statistics of its tenant (Z-07).
    const COUNTED: Counted;
    /// The data that a change adds to the database, which the quotas of its tenant bound (Z-20).
    const ADDED: Added<'static>;

    /// Writes the changes of a batch, of which there is at least one. All statements are sent when the future is polled
    /// for the first time, so that those of all kinds are in flight at once. Rows that take locks are sorted first, so
    /// that two processes that write the same rows lock them in the same order.
    async fn run(
        client: &impl GenericClient,
        signatures: &Signatures,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes>;

    /// Takes the result of a change, in the order of the changes; `None` if it was based on outdated data and nothing
    /// was written.
    fn written(outcomes: &mut Self::Outcomes, change: &Self::Change) -> Option<Self::Written>;

    /// Returns the response to the request that made a change, which repetitions of the request receive (C-24). `None`
    /// for kinds whose requests have no idempotency keys.
    fn response(
        _change: &Self::Change,
        _written: &Self::Written,
        _key: &IdempotencyKey,
    ) -> Option<FirstResponse> {
        None
    }

    /// Returns how many statements [`run`](Self::run) sends for these rows.
    fn sent(_rows: &Rows<'_, Self>) -> usize {
        1
    }

    /// Returns what a change counts as, and how often.
    fn counted(_change: &Self::Change, _written: &Self::Written) -> (Counted, u64) {
        (Self::COUNTED, 1)
    }

    /// Returns what a change adds.
    fn added(_change: &Self::Change) -> Added<'_> {
        Self::ADDED
    }

    /// Returns how many rows a change writes, which bounds batches and the queue.
    fn rows(_change: &Self::Change) -> usize {
        1
    }
}

/// The data that a change adds to the database.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Added<'a> {
    /// It adds nothing, or its sender checks by how much the data grows.
    Nothing,
    /// It adds data.
    Data,
    /// It adds a managed object with these fragments, which may be a device.
    Object(&'a Fragments),
}
