//! Falsifies received notifications before they are recorded, to show that the ledger notices it.

use super::plan::Falsification;
use crate::ledger::mark::Mark;
use crate::ledger::session::ClientId;

/// One of this many notifications is falsified.
const EVERY: u64 = 1000;

/// The falsification of a run, if it has one.
#[derive(Debug, Default)]
pub(super) struct Falsifier {
    kind: Option<Falsification>,
    count: u64,
    /// The notification that is kept back until the same client receives the next one of the same device.
    kept: Option<(ClientId, Mark)>,
}

impl Falsifier {
    /// Creates it for a run.
    pub(super) fn new(kind: Option<Falsification>) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Returns what is recorded when a client receives a notification.
    pub(super) fn apply(&mut self, client: ClientId, mark: Mark) -> Vec<Mark> {
        let Some(kind) = self.kind else { return vec![mark] };
        let is_after = |kept: &mut (ClientId, Mark)| kept.0 == client && kept.1.device == mark.device;
        if let Some((_, kept)) = self.kept.take_if(is_after) {
            return vec![mark, kept];
        }
        self.count += 1;
        match kind {
            _ if !self.count.is_multiple_of(EVERY) => vec![mark],
            Falsification::Drop => Vec::new(),
            Falsification::Double => vec![mark, mark],
            Falsification::Swap if self.kept.is_some() => vec![mark],
            Falsification::Swap => {
                self.kept = Some((client, mark));
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::session::{Promise, Scope, SessionLedger};

    /// Returns what the ledger finds lost, doubled and reordered when 1500 notifications of a device are falsified.
    fn faults(kind: Option<Falsification>) -> [u64; 3] {
        let mut ledger = SessionLedger::new(4);
        let client = ledger.add_client(Scope::new(0..1, vec![0]));
        let promise = Promise { stores: true, notifies: true };
        ledger.open(client, 0, 0, 1);
        let mut falsifier = Falsifier::new(kind);
        for sequence in 0..1500 {
            let at = 10 + u64::from(sequence);
            ledger.post(0, promise, 0, at, at);
            ledger.acknowledge(0, sequence, at);
            for mark in falsifier.apply(client, Mark { run: 0, device: 0, sequence, due: at }) {
                ledger.deliver(client, mark.device, mark.sequence, at);
            }
        }
        let audit = ledger.audit(&[0], &[], |_, _| Some(true)).remove(0);
        [audit.lost, audit.doubled, audit.reordered]
    }

    #[test]
    fn ledger_notices_each_falsification() {
        assert_eq!(faults(None), [0, 0, 0]);
        assert_eq!(faults(Some(Falsification::Drop)), [1, 0, 0]);
        assert_eq!(faults(Some(Falsification::Double)), [0, 1, 0]);
        assert_eq!(faults(Some(Falsification::Swap)), [0, 0, 1]);
    }
}
