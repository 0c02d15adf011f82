//! Tests of the ledger of sessions: a gap is silent unless the session ended because of it.

use super::*;

const SECOND: u64 = 1_000_000;
/// The lane of device 1.
const OTHER: u32 = 4;
const PROMISE: Promise = Promise { stores: true, notifies: true };

/// Returns the scope of topic 0 of some devices, whose lanes are 0 and 4.
fn scope(devices: std::ops::Range<u32>) -> Scope {
    Scope::new(devices, vec![0])
}

/// Creates a ledger of two devices, with a client on device 0 (client 0) and one on all devices (client 1). Both have a
/// session at server 0 since 1 s.
fn ledger() -> SessionLedger {
    let mut ledger = SessionLedger::new(8);
    for devices in [0..1, 0..2] {
        let client = ledger.add_client(scope(devices));
        ledger.open(client, 0, SECOND / 2, SECOND);
    }
    ledger
}

/// Posts the next alarm of a device at a second, with the response a millisecond later.
fn post(ledger: &mut SessionLedger, lane: u32, second: u64) -> u32 {
    let sequence = ledger.of_lanes[lane as usize].len() as u32;
    ledger.post(lane, PROMISE, 1, second * SECOND, second * SECOND);
    ledger.acknowledge(lane, sequence, second * SECOND + 1000);
    sequence
}

/// Posts an alarm of device 0 that all clients except these receive.
fn post_except(ledger: &mut SessionLedger, second: u64, without: &[ClientId]) {
    let sequence = post(ledger, 0, second);
    for client in (0..2).filter(|client| !without.contains(client)) {
        ledger.deliver(client, 0, sequence, second * SECOND + 2000);
    }
}

fn audit(ledger: &SessionLedger) -> SessionAudit {
    audit_after(ledger, &[], true)
}

/// Returns the verdict after disturbances, on a run of one phase.
fn audit_after(ledger: &SessionLedger, disturbances: &[Disturbed], is_stored: bool) -> SessionAudit {
    ledger.audit(&[0], disturbances, |_, _| Some(is_stored)).remove(0)
}

/// Returns the numbers of received, told, lost, doubled and reordered notifications.
fn counts(ledger: &SessionLedger) -> [u64; 5] {
    let audit = audit(ledger);
    assert_eq!(audit.expected, audit.received + audit.told + audit.lost);
    assert_eq!(audit.is_clean(), audit.examples.is_empty() && audit.unexpected == 0);
    [audit.received, audit.told, audit.lost, audit.doubled, audit.reordered]
}

#[test]
fn everything_once_and_in_order_is_clean() {
    let mut ledger = ledger();
    (2..5).for_each(|second| post_except(&mut ledger, second, &[]));
    let sequence = post(&mut ledger, OTHER, 5);
    ledger.deliver(1, OTHER, sequence, 5 * SECOND);
    assert_eq!(counts(&ledger), [7, 0, 0, 0, 0]);
    assert_eq!((ledger.deliveries(), ledger.away()), (7, 0));
}

#[test]
fn notification_that_a_continuing_session_misses_is_lost() {
    let mut ledger = ledger();
    post_except(&mut ledger, 2, &[0]);
    post_except(&mut ledger, 3, &[]);
    post_except(&mut ledger, 4, &[1]);
    assert_eq!(counts(&ledger), [4, 0, 2, 0, 0]);
}

#[test]
fn notification_that_is_missing_at_the_end_of_its_session_is_told() {
    let mut ledger = ledger();
    post_except(&mut ledger, 2, &[]);
    post_except(&mut ledger, 3, &[0]);
    ledger.end(0, 4 * SECOND);
    post_except(&mut ledger, 5, &[0]);
    assert_eq!(ledger.away(), 1);
    ledger.open(0, 1, 6 * SECOND, 7 * SECOND);
    post_except(&mut ledger, 8, &[]);
    assert_eq!(counts(&ledger), [6, 2, 0, 0, 0]);
}

#[test]
fn notification_that_a_session_skipped_before_it_ended_is_lost() {
    let mut ledger = ledger();
    post_except(&mut ledger, 2, &[0, 1]);
    post_except(&mut ledger, 3, &[1]);
    let other = post(&mut ledger, OTHER, 4);
    ledger.deliver(1, OTHER, other, 4 * SECOND);
    (0..2).for_each(|client| ledger.end(client, 5 * SECOND));
    // Client 0 received the next one of the device, client 1 one of another device that was posted much later than
    // the first one but not than the second one.
    assert_eq!(counts(&ledger), [2, 1, 2, 0, 0]);
}

#[test]
fn alarm_posted_before_the_confirmed_subscription_may_arrive_or_not() {
    let mut ledger = SessionLedger::new(4);
    let client = ledger.add_client(scope(0..1));
    let [first, second] = [post(&mut ledger, 0, 2), post(&mut ledger, 0, 4)];
    ledger.open(client, 0, 3 * SECOND, 5 * SECOND);
    assert_eq!(counts(&ledger), [0, 2, 0, 0, 0]);
    ledger.deliver(client, 0, second, 5 * SECOND);
    assert_eq!(counts(&ledger), [1, 1, 0, 0, 0]);
    assert_eq!(audit(&ledger).old, 0);
    ledger.deliver(client, 0, first, 6 * SECOND);
    assert_eq!((audit(&ledger).old, audit(&ledger).oldest_ms), (1, 999));
}

#[test]
fn same_session_must_not_receive_twice_but_the_next_one_may() {
    let mut ledger = ledger();
    post_except(&mut ledger, 2, &[]);
    ledger.end(0, 3 * SECOND);
    ledger.open(0, 0, 3 * SECOND, 4 * SECOND);
    ledger.deliver(0, 0, 0, 4 * SECOND);
    assert_eq!(counts(&ledger), [2, 0, 0, 0, 0]);
    ledger.deliver(0, 0, 0, 5 * SECOND);
    assert_eq!(counts(&ledger), [2, 0, 0, 1, 0]);
}

#[test]
fn order_is_that_of_the_acknowledged_alarms_of_a_device() {
    let mut ledger = ledger();
    let rows = [2, 3].map(|second| post(&mut ledger, 0, second));
    for sequence in [rows[1], rows[0]] {
        for client in 0..2 {
            ledger.deliver(client, 0, sequence, 4 * SECOND);
        }
    }
    assert_eq!(counts(&ledger), [4, 0, 0, 0, 2]);
}

#[test]
fn alarm_without_a_response_must_be_delivered_if_it_is_stored_and_may_be_late() {
    let mut ledger = ledger();
    ledger.post(0, PROMISE, 1, 2 * SECOND, 2 * SECOND);
    post_except(&mut ledger, 3, &[]);
    ledger.deliver(1, 0, 0, 9 * SECOND);
    let audit = audit(&ledger);
    assert_eq!((audit.stored_unacknowledged, audit.lost_unacknowledged, audit.is_clean()), (1, 1, false));
    assert_eq!((audit.expected, audit.received, audit.reordered), (2, 2, 0));
    let audit = audit_after(&ledger, &[], false);
    assert_eq!((audit.lost_unacknowledged, audit.not_stored, audit.acknowledged), (0, 1, 1));
    assert!(ledger.audit(&[0], &[], |_, _| None)[0].is_clean());
}

#[test]
fn alarm_that_was_not_posted_or_is_not_watched_is_unexpected() {
    let mut ledger = ledger();
    let sequence = post(&mut ledger, OTHER, 2);
    ledger.deliver(1, OTHER, sequence, 2 * SECOND);
    ledger.deliver(0, OTHER, sequence, 2 * SECOND);
    ledger.deliver(0, 0, 7, 2 * SECOND);
    ledger.deliver(0, 9, 0, 2 * SECOND);
    assert_eq!(audit(&ledger).unexpected, 3);
}

#[test]
fn ends_of_sessions_are_compared_with_disturbances() {
    let mut ledger = ledger();
    ledger.end(0, 5 * SECOND);
    ledger.open(0, 1, 5 * SECOND, 7 * SECOND);
    ledger.end(1, 6 * SECOND);
    let of =
        |server| audit_after(&ledger, &[Disturbed { server, from: 4 * SECOND, until: 4 * SECOND }], true);
    let audit = of(Some(0));
    assert_eq!((audit.sessions, audit.ended, audit.ended_elsewhere, audit.away), (3, 2, 0, 1));
    assert_eq!(audit.longest_return_ms, 3000);
    assert_eq!((of(Some(1)).ended_elsewhere, of(None).ended_elsewhere), (2, 0));
    let early =
        audit_after(&ledger, &[Disturbed { server: None, from: 9 * SECOND, until: 9 * SECOND }], true);
    assert_eq!(early.ended_elsewhere, 2);
}

#[test]
fn session_that_moves_is_at_the_server_that_its_client_uses() {
    let mut ledger = ledger();
    let sequence = post(&mut ledger, 0, 2);
    ledger.deliver(0, 0, sequence, 3 * SECOND);
    ledger.move_to(0, 1, 3 * SECOND);
    let sequence = post(&mut ledger, 0, 4);
    ledger.deliver(0, 0, sequence, 4 * SECOND);
    ledger.end(0, 9 * SECOND);
    let ends_without_need = |server, from: u64| {
        let disturbed = Disturbed { server: Some(server), from, until: from };
        let audit = audit_after(&ledger, &[disturbed], true);
        assert_eq!((audit.moves, audit.delays().len()), (1, 2));
        audit.ended_elsewhere
    };
    // The session may take three seconds to follow its client.
    assert_eq!([ends_without_need(0, 6 * SECOND), ends_without_need(0, 7 * SECOND)], [0, 1]);
    assert_eq!([ends_without_need(1, 7 * SECOND), ends_without_need(2, 7 * SECOND)], [0, 1]);
}

#[test]
fn latency_is_split_by_the_server_of_the_post() {
    let mut ledger = ledger();
    for (server, micros) in [(0, 1000), (1, 5000)] {
        let sequence = ledger.of_lanes[0].len() as u32;
        ledger.post(0, PROMISE, server, 2 * SECOND, 2 * SECOND);
        ledger.acknowledge(0, sequence, 2 * SECOND);
        for client in 0..2 {
            ledger.deliver(client, 0, sequence, 2 * SECOND + micros);
        }
    }
    let audit = audit(&ledger);
    assert!((audit.added_ms(0.5).unwrap() - 4.0).abs() < 0.1);
    assert_eq!(audit.delays().len(), 2);
}

#[test]
fn phases_have_verdicts_of_their_own() {
    let mut ledger = ledger();
    post_except(&mut ledger, 2, &[]);
    post_except(&mut ledger, 4, &[1]);
    post_except(&mut ledger, 5, &[]);
    ledger.leave(0, 6 * SECOND);
    let audits = ledger.audit(&[SECOND, 3 * SECOND], &[], |_, _| Some(true));
    let counts =
        |audit: &SessionAudit| [audit.acknowledged, audit.received, audit.lost, audit.sessions, audit.left];
    assert_eq!((counts(&audits[0]), counts(&audits[1])), ([1, 2, 0, 2, 0], [2, 3, 1, 0, 1]));
    assert_eq!((audits[0].latency().len(), audits[1].latency().len()), (2, 3));
    assert_eq!([audits[1].ended, audits[1].ended_elsewhere], [0, 0]);
}

#[test]
fn delivery_of_an_unnotified_post_is_unexpected_and_an_unstored_post_is_not_missing() {
    let mut ledger = ledger();
    for (sequence, promise) in
        (0..).zip([Promise { stores: true, notifies: false }, Promise { stores: false, notifies: true }])
    {
        ledger.post(0, promise, 0, 2 * SECOND, 2 * SECOND);
        ledger.acknowledge(0, sequence, 2 * SECOND);
    }
    ledger.deliver(0, 0, 0, 3 * SECOND);
    (0..2).for_each(|client| ledger.deliver(client, 0, 1, 3 * SECOND));
    let audit = audit_after(&ledger, &[], false);
    assert_eq!((audit.expected, audit.received, audit.unexpected, audit.not_stored), (2, 2, 1, 1));
}

#[test]
fn records_of_two_generators_are_judged_as_one() {
    // Each of them has one of the clients and posts to one of the lanes.
    let [mut first, mut second] = [(); 2].map(|()| {
        let mut ledger = SessionLedger::new(8);
        for devices in [0..1, 0..2] {
            ledger.add_client(scope(devices));
        }
        ledger
    });
    first.open(0, 0, SECOND / 2, SECOND);
    second.open(1, 0, SECOND / 2, SECOND);
    let [of_first, of_second] = [post(&mut first, 0, 2), post(&mut second, OTHER, 3)];
    first.deliver(0, 0, of_first, 2 * SECOND);
    second.deliver(1, 0, of_first, 2 * SECOND);
    let lost = post(&mut first, 0, 4);
    first.deliver(0, 0, lost, 4 * SECOND);
    second.deliver(1, OTHER, of_second, 3 * SECOND);

    let text = serde_json::to_string(&second).expect("records are JSON");
    first.absorb(serde_json::from_str(&text).expect("they are read back"));

    assert_eq!(counts(&first), [4, 0, 1, 0, 0]);
    assert_eq!((first.deliveries(), first.away()), (4, 0));
}
