//! Rows of the conditions of a run.

use crate::ledger::Audit;
use crate::traffic::audience::ClientFailures;

impl ClientFailures {
    pub(super) fn row(&self) -> String {
        let cause = self.first_cause.as_deref().map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("reconnects {}  ended {}{cause}", self.reconnects, self.ended)
    }
}

impl Audit {
    pub(super) fn row(&self) -> String {
        format!(
            "acknowledged {}  unknown {}  expected {}  delivered {}  lost {}  doubled {}  reordered {}  unexpected \
             {}  torn {}",
            self.acknowledged,
            self.unknown,
            self.expected,
            self.delivered,
            self.lost,
            self.doubled,
            self.reordered,
            self.unexpected,
            self.torn
        )
    }
}
