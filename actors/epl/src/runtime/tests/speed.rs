//! The cost of an event in evaluations: only the events that come and leave are examined, however many are retained.

use std::sync::Arc;

use platform_model::origin::Depth;

use super::bench::{BUDGET, Bench, Nothing};
use crate::runtime::{Budget, Outcome};
use crate::value::{Row, Value};

const DEVICES: usize = 1000;

/// Feeds this number of events of `S(k, v)`, each within this budget of evaluations.
fn feed_within(evaluations: u64, statements: &str, events: usize) {
    let text = format!("create schema S(k string, v double); {statements}");
    let mut bench = Bench::with(&text, Budget { evaluations, ..BUDGET });
    let columns = bench.columns("S");
    let names: Vec<Arc<str>> = (0..DEVICES).map(|at| format!("device-{at}").into()).collect();
    for at in 0..events {
        let values = [Value::Text(names[at % DEVICES].clone()), Value::Double(at as f64 * 0.1)];
        let row = Arc::new(Row::new(columns.clone(), Box::new(values), Depth::default()));
        let mut outcome = Outcome::default();
        bench.runtime.feed_row("S", &row, at as i64, &Nothing, &mut outcome);
        assert!(outcome.faults.is_empty(), "event {at}: {:?}", outcome.faults);
    }
}

#[test]
fn window_average_of_a_thousand_devices_reads_each_event_once() {
    for statements in [
        "create context C partition by k from S; context C select context.key1 as k, avg(v) as a from \
         S.win:length(100)",
        "select k, avg(v) as a from S.win:length(50000) group by k",
    ] {
        feed_within(20, statements, 60 * DEVICES);
    }
}

#[test]
fn filter_evaluation_stops_at_the_first_false_condition() {
    let filters: Vec<_> =
        (0..10).map(|at| format!("select v from S(k = 'none{at}' and v > {at});")).collect();
    feed_within(50, &filters.concat(), 1000);
}
