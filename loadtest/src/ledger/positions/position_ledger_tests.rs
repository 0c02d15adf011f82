//! Tests of the ledger by positions: each fault is found, and repetitions are none.

use super::*;
use crate::ledger::session::Promised;

const SCOPE: (u32, u32) = (0, 2);

/// A ledger with a consumer of all changes, created at position 10.
fn ledger() -> (PositionLedger, ConsumerId) {
    let mut ledger = PositionLedger::default();
    let scope = Scope::new(SCOPE.0..SCOPE.1, vec![0, 1, 2, 3]);
    let consumer = ledger.add_consumer("loadtest-x", 0, (scope, true), 10);
    (ledger, consumer)
}

/// Row n is at position 11 + n.
fn received(row: u32) -> Received {
    let position = 11 + u64::from(row);
    Received { position, digest: position * 7, row: Some((0, row)) }
}

/// Posts that are accepted at their due time, one each millisecond.
fn promises(rows: u32) -> Promises {
    let promise = |sequence: u32| {
        let due = u64::from(sequence) * 1000;
        ((0, sequence), (Promised { lane: 0, sequence, due, acknowledged: Some(due) }, Some(true)))
    };
    (0..rows).map(promise).collect()
}

fn audit(ledger: &PositionLedger, rows: u32) -> PositionAudit {
    ledger.audit(0..ledger.consumers.len(), &[0], &promises(rows)).remove(0)
}

fn deliver(ledger: &mut PositionLedger, rows: impl IntoIterator<Item = u32>) {
    rows.into_iter().for_each(|row| ledger.deliver(0, received(row), 5000 + u64::from(row)));
}

#[test]
fn all_rows_in_order_are_clean_and_their_latency_is_that_from_the_response() {
    let (mut ledger, consumer) = ledger();
    deliver(&mut ledger, 0..4);
    ledger.end(consumer, 14, 9000);
    let audit = audit(&ledger, 4);
    assert!(audit.is_clean(), "{audit:?}");
    assert_eq!((audit.expected, audit.received, audit.consumers), (4, 4, 1));
    assert_eq!((audit.after_response.len(), audit.after_response.micros(1.0) / 1000), (4, 5));
}

#[test]
fn repetition_after_a_new_response_is_no_fault_and_its_other_content_is() {
    let (mut ledger, consumer) = ledger();
    deliver(&mut ledger, 0..3);
    ledger.begin(consumer);
    deliver(&mut ledger, 1..4);
    let clean = audit(&ledger, 4);
    assert!(clean.is_clean(), "{clean:?}");
    assert_eq!((clean.repeated, clean.received), (2, 4));
    ledger.begin(consumer);
    ledger.deliver(consumer, Received { digest: 1, ..received(1) }, 7000);
    assert_eq!(audit(&ledger, 4).changed, 1);
}

#[test]
fn position_twice_or_backwards_in_a_response_is_a_fault() {
    let (mut ledger, _) = ledger();
    deliver(&mut ledger, [0, 0, 1, 2, 1, 3]);
    let audit = audit(&ledger, 4);
    assert_eq!((audit.doubled, audit.reordered, audit.holes, audit.lost), (1, 1, 0, 0));
}

#[test]
fn skipped_position_is_a_hole_and_lost_and_one_that_comes_later_is_reordered() {
    let (mut ledger, consumer) = ledger();
    deliver(&mut ledger, [0, 2]);
    let skipped = audit(&ledger, 3);
    assert_eq!((skipped.holes, skipped.lost, skipped.reordered), (1, 1, 0));
    ledger.begin(consumer);
    deliver(&mut ledger, [1]);
    let late = audit(&ledger, 3);
    assert_eq!((late.holes, late.lost, late.reordered), (1, 0, 1));
}

#[test]
fn first_positions_after_the_creation_and_the_last_ones_are_due_too() {
    let (mut ledger, consumer) = ledger();
    deliver(&mut ledger, [1, 2]);
    ledger.end(consumer, 15, 9000);
    let audit = audit(&ledger, 5);
    assert_eq!((audit.holes, audit.unread, audit.lost), (1, 2, 3));
}

#[test]
fn reported_gap_is_counted_once_and_its_posts_are_not_lost_silently() {
    let (mut ledger, consumer) = ledger();
    deliver(&mut ledger, [0]);
    ledger.miss(consumer, (12, 13), 6000);
    ledger.miss(consumer, (12, 13), 6500);
    deliver(&mut ledger, [3, 5]);
    let audit = audit(&ledger, 6);
    assert_eq!((audit.gaps, audit.missed, audit.told), (1, 2, 2));
    // The hole after the gap is not covered by it.
    assert_eq!((audit.holes, audit.lost), (1, 1));
    assert!(!audit.is_clean());
    assert!(audit.examples.iter().any(|text| text.starts_with("not recovered, missed up to")), "{audit:?}");
}

#[test]
fn object_at_two_positions_not_posted_or_not_stored_is_a_fault() {
    let (mut ledger, consumer) = ledger();
    deliver(&mut ledger, 0..2);
    ledger.deliver(consumer, Received { position: 13, ..received(1) }, 7000);
    ledger.deliver(consumer, Received { position: 14, ..received(8) }, 7000);
    let mut promises = promises(2);
    promises.insert((0, 1), (Promised { lane: 0, sequence: 1, due: 1000, acknowledged: None }, Some(false)));
    let audit = ledger.audit(0..1, &[0], &promises).remove(0);
    assert_eq!((audit.doubled, audit.unexpected, audit.lost), (1, 2, 0));
}

#[test]
fn stored_post_without_a_response_must_arrive_and_one_that_is_not_stored_need_not() {
    let (mut ledger, _) = ledger();
    deliver(&mut ledger, [0]);
    let mut promises = promises(1);
    for (sequence, stored) in [(1, Some(true)), (2, Some(false)), (3, None)] {
        let promised = Promised { lane: 0, sequence, due: 0, acknowledged: None };
        promises.insert((0, sequence), (promised, stored));
    }
    let audit = ledger.audit(0..1, &[0], &promises).remove(0);
    assert_eq!((audit.lost, audit.lost_unacknowledged, audit.expected), (0, 1, 1));
}

#[test]
fn consumer_of_some_channels_sees_holes_and_expects_only_its_rows() {
    let mut ledger = PositionLedger::default();
    let alarms = ledger.add_consumer("loadtest-x", 0, (Scope::new(0..2, vec![0]), false), 0);
    ledger.deliver(alarms, Received { position: 3, digest: 3, row: Some((0, 0)) }, 10);
    ledger.deliver(alarms, Received { position: 9, digest: 9, row: Some((4, 0)) }, 10);
    ledger.end(alarms, 30, 20);
    let promised = |lane| (Promised { lane, sequence: 0, due: 0, acknowledged: Some(1) }, Some(true));
    let promises: Promises = [0, 1, 4].map(|lane| ((lane, 0), promised(lane))).into();
    let clean = ledger.audit(0..1, &[0], &promises).remove(0);
    assert!(clean.is_clean() && clean.expected == 2, "{clean:?}");
    ledger.deliver(alarms, Received { position: 10, digest: 10, row: Some((1, 0)) }, 10);
    assert_eq!(ledger.audit(0..1, &[0], &promises).remove(0).unexpected, 1);
}

#[test]
fn consumers_of_a_tenant_see_the_same_at_a_position_and_those_of_another_one_need_not() {
    for (tenant, changed) in [(0, 1), (1, 0)] {
        let (mut ledger, first) = ledger();
        let scope = Scope::new(0..2, vec![0, 1, 2, 3]);
        let second = ledger.add_consumer("loadtest-y", tenant, (scope, true), 10);
        ledger.deliver(first, received(0), 10);
        ledger.deliver(second, Received { digest: 1, row: None, ..received(0) }, 10);
        let audit = ledger.audit(0..2, &[0], &Promises::new()).remove(0);
        assert_eq!(audit.changed, changed);
    }
}

#[test]
fn invalid_positions_are_unexpected_and_cost_no_memory() {
    let (mut ledger, consumer) = ledger();
    for position in [0, 10, u64::MAX / 2] {
        ledger.deliver(consumer, Received { position, ..received(0) }, 10);
    }
    ledger.miss(consumer, (5, 4), 10);
    assert_eq!(audit(&ledger, 0).unexpected, 4);
    assert_eq!(ledger.consumers[consumer].received.len(), 0);
}

#[test]
fn posts_and_faults_belong_to_their_phases() {
    let (mut ledger, consumer) = ledger();
    deliver(&mut ledger, 0..3);
    ledger.deliver(consumer, received(4), 9000);
    let audits = ledger.audit(0..1, &[0, 2000, 8000], &promises(5));
    let of_phases: Vec<_> = audits.iter().map(|audit| (audit.expected, audit.lost, audit.holes)).collect();
    assert_eq!(of_phases, [(2, 0, 0), (3, 1, 0), (0, 0, 1)]);
}
