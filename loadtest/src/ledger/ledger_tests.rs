//! Tests of the ledger: it must detect each kind of fault, and none in a clean run.

use super::*;

/// Creates a ledger of two devices, each with its own receiver (0 and 1), and a wildcard receiver (2).
fn ledger() -> Ledger {
    let mut ledger = Ledger::new(2);
    for watch in [Watch::Device(0), Watch::Device(1), Watch::All] {
        ledger.add_receiver(watch);
    }
    ledger
}

fn post(ledger: &mut Ledger, device: u32, outcome: Outcome) -> u32 {
    let sequence = ledger.post(device);
    ledger.settle(device, sequence, outcome);
    sequence
}

/// Posts `count` acknowledged alarms for device 0 and delivers them to the wildcard receiver.
fn posted(count: u32) -> Ledger {
    let mut ledger = ledger();
    for _ in 0..count {
        let sequence = post(&mut ledger, 0, Outcome::Acknowledged);
        ledger.deliver(2, 0, sequence);
    }
    ledger
}

/// Returns the counts of lost, doubled, reordered and unexpected deliveries.
fn faults(ledger: Ledger) -> [u64; 4] {
    let audit = ledger.audit();
    assert_eq!(audit.is_clean(), audit.examples.is_empty());
    [audit.lost, audit.doubled, audit.reordered, audit.unexpected]
}

#[test]
fn every_delivery_once_and_in_order_is_clean() {
    let mut ledger = posted(3);
    for sequence in 0..3 {
        ledger.deliver(0, 0, sequence);
    }
    let sequence = ledger.post(1);
    ledger.deliver(1, 1, sequence);
    ledger.deliver(2, 1, sequence);
    ledger.settle(1, sequence, Outcome::Acknowledged);
    assert_eq!(ledger.outstanding(), 0);
    let audit = ledger.audit();
    assert!(audit.is_clean());
    assert_eq!((audit.acknowledged, audit.expected, audit.delivered), (4, 8, 8));
}

/// Each row has the number of alarms of device 0, the deliveries (receiver, device, sequence), how many deliveries are
/// outstanding after these, and the counts of lost, doubled, reordered and unexpected ones.
#[test]
fn deliveries_are_lost_doubled_reordered_or_unexpected() {
    for (what, posts, deliveries, outstanding, expected) in [
        ("missing in the middle", 3, &[(0, 0, 0), (0, 0, 2)][..], 1, [1, 0, 0, 0]),
        ("missing at the end", 2, &[(0, 0, 0)], 1, [1, 0, 0, 0]),
        ("the same again", 2, &[(0, 0, 0), (0, 0, 1), (0, 0, 1), (0, 0, 0)], 0, [0, 2, 0, 0]),
        ("late is not lost", 3, &[(0, 0, 0), (0, 0, 2), (0, 0, 1)], 0, [0, 0, 1, 0]),
        ("late and twice", 2, &[(0, 0, 1), (0, 0, 0), (0, 0, 0)], 0, [0, 1, 1, 0]),
        ("another device", 1, &[(0, 0, 0), (1, 0, 0)], 0, [0, 0, 0, 1]),
        ("never posted", 1, &[(0, 0, 0), (0, 0, 1), (0, 0, u32::MAX), (0, 7, 0)], -1, [0, 0, 0, 3]),
    ] {
        let mut ledger = posted(posts);
        deliveries
            .iter()
            .for_each(|&(receiver, device, sequence)| ledger.deliver(receiver, device, sequence));
        assert_eq!(ledger.outstanding(), outstanding, "{what}");
        assert_eq!(faults(ledger), expected, "{what}");
    }
}

#[test]
fn dashboard_that_missed_everything_lost_everything() {
    let mut ledger = ledger();
    for device in [0, 0, 1] {
        let sequence = post(&mut ledger, device, Outcome::Acknowledged);
        ledger.deliver(device as usize, device, sequence);
    }
    assert_eq!(faults(ledger), [3, 0, 0, 0]);
}

#[test]
fn delivery_of_a_rejected_alarm_is_unexpected() {
    let mut ledger = ledger();
    let sequence = post(&mut ledger, 0, Outcome::Refused);
    ledger.deliver(0, 0, sequence);
    assert_eq!(faults(ledger), [0, 0, 0, 1]);
}

#[test]
fn alarm_of_unknown_outcome_may_arrive_or_not_but_never_twice() {
    let mut ledger = ledger();
    let first = post(&mut ledger, 0, Outcome::Unknown);
    post(&mut ledger, 0, Outcome::Unknown);
    ledger.deliver(0, 0, first);
    ledger.deliver(2, 0, first);
    ledger.deliver(2, 0, first);
    assert_eq!(faults(ledger), [0, 1, 0, 0]);
}

#[test]
fn collection_that_arrived_in_part_is_torn_regardless_of_its_response() {
    for outcome in [Outcome::Unknown, Outcome::Acknowledged] {
        let mut ledger = Ledger::new(1);
        ledger.add_receiver(Watch::All);
        let first = ledger.post_rows(0, 3);
        (first..3).for_each(|row| ledger.settle(0, row, outcome));
        ledger.deliver(0, 0, 0);
        ledger.deliver(0, 0, 2);
        let audit = ledger.audit();
        assert_eq!((audit.torn, audit.is_clean()), (1, false));
    }
}

#[test]
fn collection_of_unknown_outcome_may_be_whole_or_absent() {
    let mut ledger = Ledger::new(2);
    ledger.add_receiver(Watch::All);
    ledger.post_rows(0, 3);
    ledger.post_rows(1, 3);
    (0..3).for_each(|row| ledger.deliver(0, 1, row));
    assert!(ledger.audit().is_clean());
}

#[test]
fn rows_that_are_stored_each_for_itself_are_not_torn() {
    let mut ledger = Ledger::new(1);
    let receiver = ledger.add_receiver(Watch::All);
    assert_eq!(ledger.post_apart(0, 2), 0);
    assert_eq!(ledger.post_apart(0, 1), 2);
    ledger.settle(0, 0, Outcome::Acknowledged);
    ledger.settle(0, 1, Outcome::Refused);
    ledger.settle(0, 2, Outcome::Acknowledged);
    ledger.deliver(receiver, 0, 0);
    ledger.deliver(receiver, 0, 2);
    let audit = ledger.audit();
    assert!(audit.is_clean(), "{audit:?}");
    assert_eq!((audit.acknowledged, audit.delivered), (2, 2));
}
