//! Long chains, and the memory that they retain.

use super::harness::{Bench, check, plan, row};
use crate::runtime::Retained;

#[test]
fn each_part_of_a_chain_waits_for_the_one_before() {
    check(&[
        ("every a=A -> b=B -> c=C", "A1 C1 B1 A2 C2{A1,B1,C2} B2 C3{A2,B2,C3}"),
        ("every a=A -> every b=B -> c=C", "A1 B1 B2 C1{A1,B1,C1}{A1,B2,C1} B3 C2{A1,B3,C2}"),
        ("a=A -> (timer:interval(10 sec) -> b=B)", "A1 B1 +10s B2{A1,B2}"),
    ]);
}

#[test]
fn a_chain_as_long_as_a_text_needs_no_stack() {
    let nots = vec!["not A"; 5000].join(" -> ");
    let mut bench = Bench::new(&format!("{nots} -> b=B"));
    bench.feed("B1");
    assert_eq!(bench.take_matches(), "{B1}");
}

#[test]
fn active_instances_are_counted_and_ended_ones_are_not() {
    let mut bench = Bench::new("every a=A -> b=B(b.id = a.id)");
    let idle = bench.state.retained();
    assert_eq!(idle.events, 0);
    for id in 0..100 {
        bench.feed_row(0, row(0, 1, id));
    }
    assert_eq!(bench.state.retained().events, 100);
    assert!(bench.state.retained().bytes > idle.bytes + 100 * 50);
    for id in 0..100 {
        bench.feed_row(1, row(1, 1, id));
    }
    assert_eq!(bench.state.retained(), idle);
}

#[test]
fn matches_that_an_and_stores_are_counted() {
    let mut bench = Bench::new("every a=A and b=B -> c=C");
    for _ in 0..10 {
        bench.feed("A1");
    }
    assert_eq!(bench.state.retained().events, 10);
}

#[test]
fn pattern_that_has_ended_retains_nothing() {
    for pattern in [
        "a=A -> b=B",
        "a=A and b=B",
        "(a=A or C) -> (b=B and not C)",
        "a=A -> (timer:interval(1 sec) and b=B)",
    ] {
        let mut bench = Bench::new(pattern);
        bench.feed("A1");
        bench.go_on(1000);
        bench.feed("B1");
        assert_eq!(bench.take_matches(), "{A1,B1}", "{pattern}");
        assert_eq!(bench.state.retained(), Retained::default(), "{pattern}");
        assert_eq!(bench.state.next_deadline(), None, "{pattern}");
    }
}

#[test]
fn an_equality_finds_its_instance_among_ten_thousand() {
    let mut bench = Bench::new("every a=A -> b=B(b.id = a.id and b.n > 0)");
    for id in 0..10_000 {
        bench.feed_row(0, row(0, 1, id));
    }
    bench.feed_row(1, row(1, 1, 77));
    assert_eq!(bench.take_matches(), "{A1,B1}");
    assert!(bench.evaluated < 20, "{} expressions for one event", bench.evaluated);
    bench.feed_row(1, row(1, 1, 77));
    assert!(bench.evaluated < 20 && bench.found.matches.is_empty());
}

#[test]
fn filter_that_reads_nothing_of_the_match_is_evaluated_once() {
    let mut bench = Bench::new("every a=A -> b=B(b.n > 5)");
    for _ in 0..1000 {
        bench.feed("A1");
    }
    bench.feed("B1");
    assert!(bench.evaluated < 10, "{} expressions for one event", bench.evaluated);
}

#[test]
fn the_streams_it_reads_are_known() {
    assert_eq!(plan("every a=C -> (b=A and not C)").streams().collect::<Vec<_>>(), [0, 2]);
}
