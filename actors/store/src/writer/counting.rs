//! The statistics of committed writes (Z-07).

use std::sync::Arc;

use platform_model::id::TenantId;

use crate::statistics::{Counted, Statistics, TenantCounters};

/// Counts committed writes of tenants, each with the number that it counts.
pub(super) fn count<'w>(
    statistics: &Statistics,
    counted: impl Iterator<Item = (&'w TenantId, (Counted, u64))>,
) {
    let mut last: Option<(&TenantId, Arc<TenantCounters>)> = None;
    for (tenant, (kind, count)) in counted {
        // The writes of a batch are mostly of one tenant.
        let counters = match last.take() {
            Some((of, counters)) if of == tenant => counters,
            _ => statistics.of(tenant),
        };
        counters.add(kind, count);
        last = Some((tenant, counters));
    }
}
