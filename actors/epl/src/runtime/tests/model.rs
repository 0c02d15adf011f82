//! Compares windows and aggregates with a model that recomputes everything for each event.

use proptest::prelude::*;

use super::bench::Bench;
use crate::runtime::{Effect, Outcome};
use crate::value::Value;

#[derive(Debug, Clone, Copy)]
enum Window {
    Length(usize),
    Time(i64),
    Unique,
    Forever,
}

/// The time since the last event, the key and the value.
type Happened = (i64, u8, Option<i16>);

/// Returns the events in the window after the last event.
fn in_window(window: Window, events: &[(i64, u8, Option<i16>)], now: i64) -> Vec<(u8, Option<f64>)> {
    let all = events.iter().enumerate();
    let stays = |at: usize, time: i64, key: u8| match window {
        Window::Length(length) => at + length >= events.len(),
        Window::Time(period) => time + period > now,
        Window::Unique => !events[at + 1..].iter().any(|(_, other, _)| *other == key),
        Window::Forever => true,
    };
    all.filter(|(at, (time, key, _))| stays(*at, *time, *key))
        .map(|(_, (_, key, value))| (*key, value.map(|value| f64::from(value) / 8.0)))
        .collect()
}

/// Returns count(v), sum, avg, min, max, median, stddev, first, last, count(distinct v).
fn reckon(values: &[f64]) -> Vec<Option<f64>> {
    let count = values.len() as f64;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let median = match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    };
    let sum: f64 = values.iter().sum();
    let mean = sum / count;
    let deviation = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let mut distinct = sorted.clone();
    distinct.dedup();
    let some = |value: f64| (!values.is_empty()).then_some(value);
    vec![
        Some(count),
        some(sum),
        some(mean),
        sorted.first().copied(),
        sorted.last().copied(),
        median,
        (values.len() > 1).then(|| deviation.sqrt()),
        values.first().copied(),
        values.last().copied(),
        Some(distinct.len() as f64),
    ]
}

fn numbers(values: &[Value]) -> Vec<Option<f64>> {
    values
        .iter()
        .map(|value| match value {
            Value::Integer(value) => Some(*value as f64),
            Value::Double(value) => Some(*value),
            _ => None,
        })
        .collect()
}

fn last_row(outcome: &Outcome) -> Vec<Option<f64>> {
    match outcome.effects.last() {
        Some(Effect::Publish { row, .. }) => numbers(&row.values),
        other => panic!("{other:?}"),
    }
}

const AGGREGATES: &str =
    "count(v) as c, sum(v) as s, avg(v) as a, min(v) as n, max(v) as x, median(v) as m, stddev(v) as d,
    first(v) as f, last(v) as l, count(distinct v) as u";

fn check(window: Window, by_key: bool, events: &[Happened]) {
    let view = match window {
        Window::Length(length) => format!(".win:length({length})"),
        Window::Time(period) => format!(".win:time({period} milliseconds)"),
        Window::Unique => ".std:unique(k)".to_owned(),
        Window::Forever => String::new(),
    };
    let group = if by_key { "group by k" } else { "" };
    // Because of `v` the statement makes a row for each event, so the last row is that of the last event.
    let text =
        format!("create schema S(k string, v double); select v as own, {AGGREGATES} from S{view} {group}");
    let mut bench = Bench::new(&text);
    let mut now = 0;
    let mut seen = Vec::new();
    for (later, key, value) in events {
        now += later;
        seen.push((now, *key, *value));
        let shown = value.map_or("null".to_owned(), |value| format!("{:?}", f64::from(value) / 8.0));
        let outcome = bench.step(now, &format!("S k{key} {shown}"));
        assert_eq!(outcome.faults, []);
        let row = last_row(&outcome);
        let in_it = in_window(window, &seen, now);
        let values: Vec<_> = in_it
            .iter()
            .filter(|(other, _)| !by_key || other == key)
            .filter_map(|(_, value)| *value)
            .collect();
        for (at, (is, should)) in row[1..].iter().zip(reckon(&values)).enumerate() {
            let close = match (is, should) {
                (Some(is), Some(should)) => (is - should).abs() <= 1e-9 * should.abs().max(1.0),
                (is, should) => is.is_none() && should.is_none(),
            };
            assert!(close, "aggregate {at} of {values:?}: {is:?}, not {should:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn windows_and_aggregates_are_what_a_model_says(
        window in prop_oneof![
            (1_usize..6).prop_map(Window::Length),
            (100_i64..600).prop_map(Window::Time),
            Just(Window::Unique),
            Just(Window::Forever),
        ],
        by_key: bool,
        events in prop::collection::vec((0_i64..200, 0_u8..4, prop::option::weighted(0.9, -20_i16..20)), 1..60),
    ) {
        check(window, by_key, &events);
    }
}
