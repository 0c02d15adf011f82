//! What an event costs. The bounds are those of a build for tests on a busy machine; the figures are printed.

use std::sync::Arc;
use std::time::Instant;

use super::bench::{Bench, Nothing};
use crate::event_processing::runtime::Outcome;
use crate::event_processing::stream::{Depth, Row};
use crate::event_processing::value::Value;

const DEVICES: usize = 1000;

/// Microseconds for each of so many events of `S(k, v)`, once the windows are full.
fn cost(statements: &str, warm: usize, events: usize) -> f64 {
    let mut bench = Bench::new(&format!("create schema S(k string, v double); {statements}"));
    let columns = bench.columns("S");
    let names: Vec<Arc<str>> = (0..DEVICES).map(|at| format!("device-{at}").into()).collect();
    let row = |at: usize| {
        let values = [Value::Text(names[at % DEVICES].clone()), Value::Double(at as f64 * 0.1)];
        Arc::new(Row::new(columns.clone(), Box::new(values), Depth::default()))
    };
    let mut outcome = Outcome::default();
    let mut feed = |row: &Arc<Row>, now: usize| {
        bench.runtime.feed_row("S", row, now as i64, &Nothing, &mut outcome);
        outcome.effects.clear();
    };
    (0..warm).for_each(|at| feed(&row(at), at));
    let rows: Vec<_> = (warm..warm + events).map(row).collect();
    let started = Instant::now();
    rows.iter().enumerate().for_each(|(at, row)| feed(row, warm + at));
    let cost = started.elapsed().as_secs_f64() * 1e6 / events as f64;
    assert!(outcome.faults.is_empty());
    eprintln!("{cost:.2} µs an event: {statements}");
    cost
}

#[test]
fn a_window_average_for_each_of_a_thousand_devices_is_quick() {
    for statements in [
        "create context C partition by k from S; context C select context.key1 as k, avg(v) as a from S.win:length(100)",
        "select k, avg(v) as a from S.win:length(100000) group by k",
    ] {
        assert!(cost(statements, 100 * DEVICES, 20_000) < 100.0);
    }
}

#[test]
fn ten_filters_that_let_nothing_through_are_quick() {
    let filters: Vec<_> =
        (0..10).map(|at| format!("select v from S(k = 'none{at}' and v > {at});")).collect();
    assert!(cost(&filters.concat(), 0, 20_000) < 100.0);
}
