//! Falsifies received notifications before they are recorded, to show that the ledgers notice it.

use super::plan::Falsification;

/// One of this many notifications is falsified.
const EVERY: u64 = 1000;

/// A receiver, and the device of the notification if only those of a device have an order.
type Lane = (usize, u32);

/// The falsification of a run, if it has one. `T` is a notification.
#[derive(Debug)]
pub(super) struct Falsifier<T> {
    kind: Option<Falsification>,
    count: u64,
    /// The notification that is kept back until the next one of its lane is received.
    kept: Option<(Lane, T)>,
}

impl<T: Copy> Falsifier<T> {
    /// Creates it for a run.
    pub(super) fn new(kind: Option<Falsification>) -> Self {
        Self { kind, count: 0, kept: None }
    }

    /// Returns what is recorded when a notification is received.
    pub(super) fn apply(&mut self, lane: Lane, notification: T) -> Vec<T> {
        let Some(kind) = self.kind else { return vec![notification] };
        if let Some((_, kept)) = self.kept.take_if(|kept| kept.0 == lane) {
            return vec![notification, kept];
        }
        self.count += 1;
        match kind {
            _ if !self.count.is_multiple_of(EVERY) => vec![notification],
            Falsification::Drop => Vec::new(),
            Falsification::Double => vec![notification, notification],
            Falsification::Swap if self.kept.is_some() => vec![notification],
            Falsification::Swap => {
                self.kept = Some((lane, notification));
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::mark::Mark;
    use crate::ledger::positions::{PositionLedger, Promises, Received};
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
            let mark = Mark { run: 0, device: 0, sequence, due: at };
            for mark in falsifier.apply((client, mark.device), mark) {
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

    /// Returns what the ledger of consumers finds missing, doubled and reordered when 1500 positions are falsified.
    fn faults_of_positions(kind: Option<Falsification>) -> [u64; 4] {
        let mut ledger = PositionLedger::default();
        let scope = Scope::new(0..1, vec![0]);
        let consumer = ledger.add_consumer("loadtest-x", 0, (scope, true), 0);
        let mut falsifier = Falsifier::new(kind);
        for position in 1..=1500 {
            let received = Received { position, digest: position, row: None };
            for received in falsifier.apply((consumer, 0), received) {
                ledger.deliver(consumer, received, position);
            }
        }
        let audit = ledger.audit(0..1, &[0], &Promises::new()).remove(0);
        [audit.holes, audit.doubled, audit.reordered, u64::from(audit.is_clean())]
    }

    #[test]
    fn ledger_of_positions_notices_each_falsification() {
        assert_eq!(faults_of_positions(None), [0, 0, 0, 1]);
        assert_eq!(faults_of_positions(Some(Falsification::Drop)), [1, 0, 0, 0]);
        assert_eq!(faults_of_positions(Some(Falsification::Double)), [0, 1, 0, 0]);
        assert_eq!(faults_of_positions(Some(Falsification::Swap)), [1, 0, 1, 0]);
    }
}
