//! Audit records (docs/rules.md#audit; Y-01 to Y-06).

mod create;
mod delete;
mod list;
mod roles;
mod smart_rules;

use crate::harness::prelude::*;

const RECORDS: &str = "/audit/auditRecords";

/// A complete body.
fn record_of(kind: &str, source: &str) -> Value {
    json!({
        "activity": "Door opened",
        "type": kind,
        "time": "2024-03-10T02:30:00.000+01:00",
        "text": "Somebody opened a door",
        "source": {"id": source},
        "severity": "minor",
    })
}
