//! Tests of the report: the figures are computed and shown as documented.

use super::*;
use crate::ledger::latency::Latency;
use crate::ledger::latency::Times;
use crate::ledger::{Ledger, Outcome, Watch};
use crate::traffic::poster::Responses;

/// Returns the report of a run with one acknowledged alarm that never arrived.
fn report() -> Report {
    let mut ledger = Ledger::new(1);
    ledger.add_receiver(Watch::All);
    let sequence = ledger.post(0);
    ledger.settle(0, sequence, Outcome::Acknowledged);
    let ledger = ledger.audit();
    let mut responses = Responses::default();
    responses.by_status.insert("201".to_owned(), 4);
    for micros in [1000, 2000, 3000, 4000] {
        responses.latency.record(micros);
    }
    Report {
        scenario: "fanout",
        target: "127.0.0.1:8080".to_owned(),
        settings: serde_json::json!({"devices": 1}),
        seconds: 2.0,
        clean: ledger.is_clean(),
        posts: Some(Posts::of(&responses, 2.0)),
        memory: Memory::of(10, Some(1_048_576), Some(3_145_728), Some(3_355_443)),
        cpu: Some(Cpu::of(Some(0.5), 1.0, 2.0).per_delivery(40_000)),
        clients: Some(ClientFailures::default()),
        ledger: Some(ledger),
        ..Report::default()
    }
}

#[test]
fn table_shows_figures_faults_and_verdict() {
    let table = report().table();
    for line in [
        "posts/s                  2\n",
        "p50 2.00  p90 4.00  p95 4.00  p99 4.00  p99.9 4.00  max 4.00 ms  (4 samples)",
        "memory per held poll     209715 bytes",
        "after/held 1.067, growth only 1.100",
        "server 0.50 s (25.00 % of a core)  generator 1.00 s (50.0 %)",
        "server CPU per delivery  12.50 µs\n",
        "lost: receiver 0, device 0, row 0",
        "verdict                  NOT CLEAN\n",
    ] {
        assert!(table.contains(line), "{line:?} not in\n{table}");
    }
}

#[test]
fn json_leaves_out_what_was_not_measured() {
    let json = serde_json::to_value(report()).unwrap();
    assert_eq!(json["posts"]["by_status"]["201"], 4);
    assert_eq!(json["ledger"]["lost"], 1);
    assert_eq!(json["clean"], false);
    assert!(json.get("deliveries").is_none());
}

#[test]
fn memory_is_absent_when_the_server_cannot_be_read() {
    assert_eq!(Memory::of(10, Some(1), None, Some(2)), None);
}

#[test]
fn cpu_per_delivery_is_absent_without_deliveries() {
    let cpu = Cpu::of(Some(0.5), 1.0, 2.0).per_delivery(0);
    let json = serde_json::to_value(cpu).unwrap();
    assert!(json.get("server_micros_per_delivery").is_none());
}

#[test]
fn percentiles_of_nothing_are_zero() {
    assert_eq!(Latency::of(&Times::default()).p99_ms, 0.0);
}

#[test]
fn rows_steps_and_facts_are_shown() {
    let mut responses = Responses::default();
    responses.latency.record_n(2000, 10);
    responses.by_status.insert("201".to_owned(), 10);
    let posts = Some(Posts::of_rows(&responses, 2.0, 100));
    let latency = Latency::of(&responses.latency);
    let step = Step { rate: 500, per_second: 499.6, failed: 1, late: 2, unsent: 3, broke: true, latency };
    let facts = vec![Fact::number("reported twice", 2, 0), Fact::number("cleared once", 7, 7)];
    let report = Report { posts, steps: vec![step], facts, ledger: None, ..report() };
    let table = report.table();
    for line in [
        "posts/s                  5\n",
        "rows/s                   500\n",
        "at a rate of                500/s  answered 500/s  p50 2.00  p99 2.00  max 2.00 ms  failed 1  late 2  \
         unsent 3  BROKE\n",
        "reported twice           2 INSTEAD OF 0\n",
        "cleared once             7\n",
    ] {
        assert!(table.contains(line), "{line:?} not in\n{table}");
    }
}
