//! The statistics of committed writes (Z-07).

use std::sync::Arc;

use platform_model::id::TenantId;

use super::{Change, Written};
use crate::statistics::{Counted, Statistics, TenantCounters};

/// Counts writes that are committed, with their results.
pub(super) fn count<'w>(statistics: &Statistics, writes: impl Iterator<Item = (&'w Change, &'w Written)>) {
    let mut last: Option<(&TenantId, Arc<TenantCounters>)> = None;
    for (change, written) in writes {
        let Some((kind, count)) = counted(change, written) else { continue };
        let tenant = change.tenant();
        // The writes of a batch are mostly of one tenant.
        let counters = match last.take() {
            Some((of, counters)) if of == tenant => counters,
            _ => statistics.of(tenant),
        };
        counters.add(kind, count);
        last = Some((tenant, counters));
    }
}

/// Returns what a write counts as; `None` if it has written nothing.
fn counted(change: &Change, written: &Written) -> Option<(Counted, u64)> {
    let kind = match (change, written) {
        (_, Written::Stale) => return None,
        (Change::RaiseAlarm(..), Written::Alarm(alarm)) if alarm.count == 1 => Counted::AlarmCreated,
        (Change::RaiseAlarm(..) | Change::CountRepetition(..) | Change::UpdateAlarm(..), _) => {
            Counted::AlarmUpdated
        }
        (Change::InsertMeasurements(_, sent), _) => {
            return Some((Counted::MeasurementCreated, sent.measurements.len() as u64));
        }
        (Change::InsertManagedObject(..) | Change::InsertBinary(..), _) => Counted::InventoryCreated,
        (Change::UpdateManagedObject(..) | Change::ReplaceBinary(..), _) => Counted::InventoryUpdated,
        (Change::InsertEvent(..), _) => Counted::EventCreated,
        (Change::UpdateEvent(..), _) => Counted::EventUpdated,
        (Change::QueueOperation(..), _) => Counted::OperationCreated,
        (Change::UpdateOperation(..), _) => Counted::OperationUpdated,
    };
    Some((kind, 1))
}
