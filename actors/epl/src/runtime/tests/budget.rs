//! The limits of a module, and its recovery after it exceeded one.

use super::bench::{BUDGET, Bench};
use crate::runtime::aggregates::{Memories, Memory};
use crate::runtime::results::Remembered;
use crate::runtime::views::Held;
use crate::runtime::{Budget, Excess, OffCause, Outcome, Retained};
use crate::stream::{Input, Occurrence};
use crate::value::StreamEvent;

const STREAM: &str = "create schema S(k string, v double);";

#[test]
fn events_that_left_and_rows_that_were_output_are_not_retained() {
    let text = format!(
        "{STREAM} @Name('a') select k, sum(v) as s, max(v) as m, median(v) as d, first(v) as f, count(distinct v) as c
            from S.win:time(1 seconds) group by k output all every 1 seconds;
        @Name('b') select k, v from S.win:time_batch(1 seconds) output every 3 events;
        @Name('c') select k, v from S.std:unique(k) output last every 500 milliseconds"
    );
    let mut bench = Bench::new(&text);
    let empty = bench.runtime.retained();
    for at in 0..300 {
        bench.step(at, &format!("S k{} {}", at % 7, at % 5));
    }
    assert!(bench.runtime.retained().events > 300);
    for at in 1..10 {
        bench.step(at * 1000, "");
    }
    let left = bench.runtime.retained();
    assert_eq!(left.events, empty.events + 7, "the last event of each key of a unique view");
    assert!(left.bytes < empty.bytes + 7 * 600, "{left:?}");
}

/// Returns the names of the statements that were switched off.
fn off(bench: &Bench, outcome: &Outcome) -> Vec<String> {
    outcome.off.iter().map(|(statement, _)| bench.name(*statement)).collect()
}

fn of_events(events: usize) -> Budget {
    Budget { retained: Retained { events, bytes: 1 << 20 }, ..BUDGET }
}

#[test]
fn a_statement_that_retains_too_much_is_switched_off_with_all_it_keeps() {
    let text =
        format!("{STREAM} @Name('o') select v from S.win:length_batch(100); @Name('n') select v from S;");
    let mut bench = Bench::with(&text, of_events(10));
    let begun = bench.runtime.retained();
    for at in 0..10 {
        assert_eq!(bench.step(at, "S a 1").off.len(), 0);
    }
    let outcome = bench.step(10, "S a 1");
    assert_eq!((off(&bench, &outcome), bench.written(&outcome)), (vec!["o".to_owned()], "n 1".to_owned()));
    let is_of_module = |cause| matches!(cause, OffCause::Retains(own, Excess::OfModule) if own.events == 11);
    assert!(is_of_module(outcome.off[0].1), "{:?}", outcome.off);
    let left = bench.runtime.retained();
    assert!(left.events == 0 && left.bytes < begun.bytes, "{left:?} of {begun:?}");
    for at in 11..200 {
        bench.run(&[(at, "S a 1", "n 1")]);
    }
}

#[test]
fn excess_switches_off_the_statement_that_retains_most() {
    let cases = [
        "@Name('kept') select v from S.win:length_batch(100);",
        "@Name('kept') create window S.win:keepall() as W; insert into W select * from S;",
        "@Name('kept') select a.v as v from pattern [every a=S -> b=S(v < 0)];",
        "@Name('kept') select v from S output every 100 events;",
        "@Name('kept') select a.v as v from S.win:keepall() a, S.std:lastevent() b where a.v > b.v;",
    ];
    for keeps in cases {
        let text = format!("{STREAM} @Name('hot') select v from S where v > 80; {keeps}");
        let mut bench = Bench::with(&text, of_events(10));
        let all: Vec<_> = (0..30).flat_map(|at| bench.step(at, "S a 1").off).collect();
        let names: Vec<_> = all.iter().map(|(statement, _)| bench.name(*statement)).collect();
        assert_eq!(names, ["kept"], "{keeps}");
        let outcome = bench.step(30, "S a 90");
        assert_eq!(bench.written(&outcome).split(' ').next(), Some("hot"), "{keeps}");
    }
}

#[test]
fn window_that_is_switched_off_is_empty_for_its_readers() {
    let text = format!(
        "{STREAM} create schema D(k string); @Name('w') create window S.win:keepall() as W;
        @Name('i') insert into W select * from S; @Name('n') select count(*) as n from W;
        @Name('j') select w.v as v from D d unidirectional, W w where w.k = d.k; @Name('d') select k from D"
    );
    let mut bench = Bench::with(&text, of_events(3));
    bench.run(&[
        (0, "S a 1", "i a,1 n 1"),
        (0, "D a", "j 1 d a"),
        (0, "S b 1", "i b,1 n 2"),
        (0, "S c 1", "i c,1 n 3"),
        (0, "S d 1", "i d,1 n 4"),
        (0, "D a", "d a"),
        (0, "S e 1", "i e,1"),
        (9, "D e", "d e"),
    ]);
    assert_eq!(bench.runtime.retained().events, 0);
    assert!(!bench.runtime.is_at_rest());
}

#[test]
fn statements_are_switched_off_with_their_context() {
    let long = "x".repeat(2000);
    let text = format!(
        "{STREAM} @Name('hot') select v from S where v > 80; @Name('c') create context C partition by k from S;
        @Name('a') context C select count(*) as n from S; @Name('p') context C select a.v as v from pattern [every a=S]"
    );
    let budget = Budget { retained: Retained { events: 10, bytes: 7000 }, ..BUDGET };
    let mut bench = Bench::with(&text, budget);
    bench.step(0, "S a 90");
    let outcome = bench.step(0, &format!("S {long}1 90"));
    assert_eq!(off(&bench, &outcome), [""; 0]);
    let outcome = bench.step(0, &format!("S {long}2 90"));
    assert_eq!(off(&bench, &outcome), ["c", "a", "p"]);
    let left = bench.runtime.retained();
    assert!(left.events == 0 && left.bytes < 1000, "{left:?}");
    bench.run(&[(0, "S a 91", "hot 91")]);
}

#[test]
fn excess_of_a_variable_is_a_fault_of_its_creating_statement_which_stays_on() {
    let text = format!(
        "{STREAM} @Name('hot') select v from S; @Name('kept') create variable string held; on S set held = k;"
    );
    let budget = Budget { retained: Retained { events: 10, bytes: 1500 }, ..BUDGET };
    let mut bench = Bench::with(&text, budget);
    let outcome = bench.step(0, &format!("S {} 1", "x".repeat(2000)));
    assert_eq!((bench.written(&outcome).as_str(), outcome.off.len()), ("hot 1 !kept", 0));
    assert!(bench.runtime.retained().exceeds(budget.retained));
}

#[test]
fn module_whose_selects_are_all_switched_off_is_idle() {
    let text =
        format!("{STREAM} @Name('a') select v from S; create variable string held; on S set held = k;");
    let mut bench = Bench::new(&text);
    assert!(!bench.runtime.is_at_rest());
    bench.runtime.leave_off(["a", "unknown"]);
    assert!(bench.runtime.is_at_rest());
    bench.run(&[(0, "S a 1", "")]);
}

#[test]
fn time_that_jumps_is_caught_up_within_the_budget_of_each_step() {
    let text = format!("{STREAM} @Name('o') select count(*) as n from S output last every 1 seconds");
    let mut bench = Bench::with(&text, Budget { timers: 10, ..BUDGET });
    bench.step(0, "S a 1");
    let outcome = bench.step(25_000, "");
    assert_eq!(outcome.effects.len(), 10);
    assert_eq!(bench.runtime.next_deadline(), Some(11_000));
    assert_eq!(bench.step(25_000, "").effects.len(), 10);
    assert_eq!(bench.step(25_000, "").effects.len(), 5);
    assert_eq!(bench.runtime.next_deadline(), Some(26_000));
}

#[test]
fn end_of_time_causes_no_fault() {
    let text = format!(
        "{STREAM} @Name('a') select count(*) as n from S.win:time(1000 days) output last every 1000 days;
        @Name('b') select count(*) as n from S.win:time_batch(1000 days)"
    );
    let mut bench = Bench::new(&text);
    bench.step(i64::MAX - 5, "S a 1");
    for _ in 0..3 {
        bench.step(i64::MAX, "");
    }
    bench.step(i64::MAX, "S a 1");
}

#[test]
fn the_next_deadline_of_many_partitions_is_known_at_once() {
    let text = format!(
        "{STREAM} create context C partition by k from S; context C select count(*) as n from S.win:time(10 seconds)"
    );
    let mut bench = Bench::new(&text);
    for at in 0..10_000 {
        bench.step(at, &format!("S k{at} 1"));
    }
    assert_eq!(bench.runtime.next_deadline(), Some(10_000));
}

#[test]
fn data_stored_with_an_event_is_small() {
    assert!(size_of::<Held<Remembered>>() <= 48);
    assert!(size_of::<Held<Remembered, ()>>() <= 32, "of an event that nobody asks for any more");
    assert_eq!((size_of::<Memory>(), size_of::<Memories>()), (16, 16));
    assert_eq!(size_of::<StreamEvent>(), 16);
    assert_eq!((size_of::<Input>(), size_of::<Occurrence>()), (24, 16));

    let counts = 2 * size_of::<usize>();
    let held = size_of::<Held<Remembered>>();
    assert!(held + held / 4 + counts + size_of::<Input>() <= 100, "in a window that grows by a quarter");
}

#[test]
fn values_that_aggregates_keep_count_as_retained_until_they_leave() {
    let text = format!(
        "{STREAM} @Name('o') select count(distinct k) as c, min(k) as n, last(k) as l from S.win:length(2)"
    );
    let mut bench = Bench::new(&text);
    bench.step(0, "S a 1");
    bench.step(0, "S a 1");
    let small = bench.runtime.retained().bytes;
    bench.step(0, &format!("S {} 1", "x".repeat(10_000)));
    assert!(bench.runtime.retained().bytes > small + 30_000);
    bench.step(0, "S a 1");
    bench.step(0, "S a 1");
    assert_eq!(bench.runtime.retained().bytes, small);
}

#[test]
fn window_retains_only_the_values_that_its_readers_need() {
    let most = Budget::of(&platform_model::limits::Limits::default()).retained;
    // README's example, with all devices together and with the rows of single events.
    for asks in [
        "k, avg(v) as a from S.win:time(1 hours) group by k",
        "avg(v) as a, max(v) as m from S.win:time(1 hours)",
        "v from S.win:time(1 hours)",
    ] {
        let mut bench = Bench::new(&format!("{STREAM} @Name('o') select {asks}"));
        let mut send = |from: i64, to: i64| {
            for at in from..to {
                bench.step(at * 1000 / 280, &format!("S device{} {}", at % 100, at % 7));
            }
            bench.runtime.retained()
        };
        // It sends 280 events a second, for ten seconds after the groups exist; an hour is extrapolated from these.
        let (begun, ten_seconds) = (send(0, 280), send(280, 280 * 11));
        let hour = begun.bytes + (ten_seconds.bytes - begun.bytes) * 360;
        assert!(hour < most.bytes && ten_seconds.events == 0, "{asks}: {hour} of {most:?}");

        while bench.runtime.next_deadline().is_some() {
            bench.step(4_000_000, "");
        }
        assert!(bench.runtime.retained().bytes < begun.bytes, "{asks}: what left is not retained");
    }
}

#[test]
fn events_of_keepall_and_events_that_do_not_pass_are_not_retained() {
    let text = format!(
        "{STREAM} @Name('ever') select sum(v) as s from S.win:keepall();
        @Name('hot') select count(*) as n from S.win:time(1 hours) where v > 80"
    );
    let mut bench = Bench::new(&text);
    bench.step(0, "S a 1");
    let begun = bench.runtime.retained();
    for at in 1..1000 {
        bench.step(at, "S a 1");
    }
    assert_eq!(bench.runtime.retained(), begun);
    bench.run(&[(1000, "S a 90", "ever 1090 hot 1"), (3_601_000, "", "hot 0")]);
}

#[test]
fn events_are_retained_where_an_output_shows_the_window() {
    let text = format!("{STREAM} @Name('o') select k, v from S.win:length(2) output snapshot every 2 events");
    let mut bench = Bench::new(&text);
    bench.run(&[
        (0, "S a 1", ""),
        (0, "S b 2", "o a,1 o b,2"),
        (0, "S c 3", ""),
        (0, "S d 4", "o c,3 o d,4"),
    ]);
    assert_eq!(bench.runtime.retained().events, 2);
}

#[test]
fn a_key_that_is_too_large_is_a_fault_and_the_event_is_not_kept() {
    let mut bench = Bench::new(&format!("{STREAM} @Name('o') select count(*) as n from S.std:unique(k)"));
    let long = "x".repeat(5000);
    bench.run(&[(0, &format!("S {long} 1"), "!o"), (0, "S a 1", "o 1")]);
}

#[test]
fn value_of_a_variable_is_retained_until_it_changes() {
    let mut bench = Bench::new(&format!("{STREAM} create variable string kept = 'a'; on S set kept = k;"));
    let begun = bench.runtime.retained();
    bench.step(0, &format!("S {} 1", "x".repeat(10_000)));
    assert!(bench.runtime.retained().bytes >= begun.bytes + 9_999);
    bench.step(0, "S a 1");
    assert_eq!(bench.runtime.retained(), begun);
}
