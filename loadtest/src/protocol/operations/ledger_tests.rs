//! Tests of the ledger of operations: it must detect each kind of fault, and none in a clean run.

use serde_json::json;

use super::*;

/// Returns operation `id` for a device, due at 1000.
fn operation(id: &str, device: &str, status: &str) -> Operation {
    serde_json::from_value(json!({
        "id": id,
        "deviceId": device,
        "creationTime": "2026-01-02T03:04:05.678Z",
        "status": status,
        "loadtest_Sequence": "1-0-0-1000",
    }))
    .unwrap()
}

/// Creates a ledger with devices a and b of agent 0, device c of agent 1.
fn ledger() -> OperationLedger {
    OperationLedger::new([("a", 0), ("b", 0), ("c", 1)].map(|(id, agent)| (id.to_owned(), agent)).into())
}

fn notified(ledger: &mut OperationLedger, agent: u32, id: &str, device: &str) -> bool {
    ledger.seen(agent, &operation(id, device, "PENDING"), SeenBy::Notified, 3000)
}

fn execute(ledger: &mut OperationLedger, id: &str) {
    ledger.advanced(id, Status::Executing, 4000);
    ledger.advanced(id, Status::Successful, 6000);
}

/// Creates a ledger with two operations, delivered to their agents, executed and listed.
fn clean() -> OperationLedger {
    let mut ledger = ledger();
    for (agent, id, device) in [(0, "1", "b"), (1, "2", "c")] {
        assert!(notified(&mut ledger, agent, id, device));
        execute(&mut ledger, id);
        ledger.listed(&operation(id, device, "SUCCESSFUL"));
    }
    ledger
}

fn wrong(ledger: &OperationLedger, expected: usize) -> Vec<&'static str> {
    ledger
        .facts(expected..=expected, &(0..u64::MAX))
        .into_iter()
        .filter(|fact| !fact.holds)
        .map(|fact| fact.what)
        .collect()
}

#[test]
fn operations_delivered_executed_and_listed_once_are_clean() {
    let ledger = clean();
    assert!(wrong(&ledger, 2).is_empty());
    assert_eq!(ledger.progress(), (2, 0));
}

#[test]
fn operation_that_was_found_and_delivered_is_executed_once_and_clean() {
    let mut ledger = ledger();
    assert!(ledger.seen(0, &operation("1", "a", "PENDING"), SeenBy::Found, 2000));
    assert!(!notified(&mut ledger, 0, "1", "a"));
    assert_eq!(ledger.progress(), (1, 1));
    execute(&mut ledger, "1");
    ledger.listed(&operation("1", "a", "SUCCESSFUL"));
    assert!(wrong(&ledger, 1).is_empty());
}

#[test]
fn acknowledged_operation_that_no_agent_saw_is_reported() {
    assert_eq!(wrong(&clean(), 3), ["executed once", "listed, SUCCESSFUL"]);
    let mut left = clean();
    left.listed(&operation("3", "a", "PENDING"));
    assert_eq!(
        wrong(&left, 3),
        ["executed once", "listed, SUCCESSFUL", "listed otherwise", "listed, never seen"]
    );
}

#[test]
fn operation_delivered_twice_or_to_another_agent_is_reported() {
    let mut twice = clean();
    assert!(!notified(&mut twice, 0, "1", "b"));
    assert_eq!(wrong(&twice, 2), ["notified twice"]);
    let mut astray = clean();
    assert!(!notified(&mut astray, 1, "1", "b"));
    assert!(!notified(&mut astray, 0, "9", "unknown"));
    assert_eq!(wrong(&astray, 2), ["sent to another agent"]);
}

#[test]
fn operation_executed_twice_or_in_part_is_reported() {
    let mut twice = clean();
    execute(&mut twice, "1");
    assert_eq!(wrong(&twice, 2), ["executed once", "executed otherwise"]);
    let mut part = clean();
    notified(&mut part, 0, "3", "a");
    part.advanced("3", Status::Executing, 4000);
    part.listed(&operation("3", "a", "EXECUTING"));
    assert_eq!(part.progress(), (3, 1));
    assert_eq!(
        wrong(&part, 3),
        ["executed once", "executed otherwise", "listed, SUCCESSFUL", "listed otherwise"]
    );
}

#[test]
fn operation_that_is_done_and_still_pending_is_reported() {
    let mut ledger = clean();
    assert!(!ledger.seen(0, &operation("1", "b", "PENDING"), SeenBy::Found, 9000));
    assert_eq!(wrong(&ledger, 2), ["done, and found PENDING"]);
}

#[test]
fn operation_listed_twice_or_not_at_all_is_reported() {
    let mut twice = clean();
    twice.listed(&operation("1", "b", "SUCCESSFUL"));
    assert_eq!(wrong(&twice, 2), ["listed, SUCCESSFUL", "listed otherwise"]);
    let mut absent = clean();
    notified(&mut absent, 0, "3", "a");
    execute(&mut absent, "3");
    assert_eq!(wrong(&absent, 3), ["listed, SUCCESSFUL", "seen, not listed"]);
}

#[test]
fn legs_are_those_of_operations_that_were_due_in_time() {
    let legs = |from| serde_json::to_value(clean().delays(&(from..2000))).unwrap();
    let facts = clean().facts(0..=1, &(1001..2000));
    assert_eq!((facts[0].found.as_str(), facts[0].expected.as_str(), facts[0].holds), ("0", "0 to 1", true));
    let measured = legs(1000);
    let kinds: Vec<_> = measured.as_array().unwrap().iter().map(|leg| leg["kind"].clone()).collect();
    assert_eq!(kinds, ["due to notified", "seen to EXECUTING", "EXECUTING to SUCCESSFUL", "round trip"]);
    let longest: Vec<_> =
        (0..4).map(|leg| measured[leg]["latency"]["max_ms"].as_f64().unwrap().round()).collect();
    assert_eq!(longest, [2.0, 1.0, 2.0, 5.0]);
    assert_eq!(legs(1001), json!([]));
}
