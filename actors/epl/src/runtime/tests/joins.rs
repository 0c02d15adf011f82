//! Joins of two sources.

use super::bench::{BUDGET, Bench, run};
use crate::runtime::Budget;

const STREAMS: &str = "create schema A(k string, x double); create schema B(k string, y double);";

#[test]
fn each_side_is_paired_with_the_events_that_the_other_retains() {
    let text = format!(
        "{STREAMS} @Name('o') select a.x as x, b.y as y from A.win:length(2) as a, B.win:keepall() as b where a.k = b.k"
    );
    run(
        &text,
        &[
            (0, "A p 1", ""),
            (0, "A q 2", ""),
            (0, "B p 10", "o 1,10"),
            (0, "B p 20", "o 1,20"),
            (0, "A p 3", "o 3,10 o 3,20"),
            (0, "B q 5", "o 2,5"),
            (0, "A r 7", ""),
            (0, "B q 6", ""),
            (0, "A null 7", ""),
            (0, "B null 6", ""),
        ],
    );
}

#[test]
fn other_conditions_are_evaluated_too() {
    let text = format!(
        "{STREAMS} @Name('o') select a.x as x, b.y as y from A.win:keepall() a, B.win:keepall() b where a.k = b.k \
         and a.x < b.y"
    );
    run(&text, &[(0, "A p 1", ""), (0, "A p 5", ""), (0, "B p 3", "o 1,3"), (0, "B p 9", "o 1,9 o 5,9")]);
}

#[test]
fn every_pair_is_evaluated_without_an_equality() {
    let text =
        format!("{STREAMS} @Name('o') select x, y from A.win:keepall() a, B.win:keepall() b where x > y");
    run(&text, &[(0, "A p 1", ""), (0, "A q 5", ""), (0, "B r 3", "o 5,3"), (0, "B s 0", "o 1,0 o 5,0")]);
}

#[test]
fn only_the_unidirectional_side_makes_rows() {
    let text = format!(
        "{STREAMS} @Name('o') select a.x as x, b.y as y from A as a unidirectional, B.win:keepall() as b where a.k = \
         b.k"
    );
    run(&text, &[(0, "B p 1", ""), (0, "A p 2", "o 2,1"), (0, "B p 3", ""), (0, "A p 4", "o 4,1 o 4,3")]);
}

#[test]
fn aggregates_of_a_unidirectional_join_begin_anew_with_each_event() {
    let text = format!(
        "{STREAMS} @Name('o') select sum(b.y) as s, count(*) as n from A as a unidirectional, B.win:keepall() as b \
         where a.k = b.k"
    );
    run(
        &text,
        &[(0, "B p 1", ""), (0, "A p 2", "o 1,1"), (0, "B p 3", ""), (0, "A p 4", "o 4,2"), (0, "A q 4", "")],
    );
}

#[test]
fn aggregates_over_pairs_forget_those_of_which_one_left() {
    let text = format!(
        "{STREAMS} @Name('o') select sum(a.x * b.y) as s, count(*) as n from A.win:length(1) as a, B.win:time(1 \
         seconds) as b where a.k = b.k"
    );
    run(
        &text,
        &[
            (0, "A p 2", ""),
            (0, "B p 3", "o 6,1"),
            (500, "B p 5", "o 16,2"),
            (1000, "", "o 10,1"),
            (1100, "A p 10", "o 50,1"),
            (1200, "A q 10", "o null,0"),
            (9000, "", ""),
        ],
    );
}

#[test]
fn groups_over_pairs_have_their_rows() {
    let text = format!(
        "{STREAMS} @Name('o') select a.k as k, count(*) as n from A.win:keepall() as a, B.win:length(1) as b where \
         a.k = b.k group by a.k"
    );
    run(
        &text,
        &[
            (0, "A p 2", ""),
            (0, "A p 3", ""),
            (0, "A q 3", ""),
            (0, "B p 3", "o p,2"),
            (0, "B q 3", "o q,1 o p,0"),
        ],
    );
}

#[test]
fn event_of_both_sides_enters_both_before_pairs_are_made() {
    let text = format!(
        "{STREAMS} @Name('o') select a.x as x, b.x as y from A.win:length(2) as a, A.win:length(2) as b"
    );
    run(&text, &[(0, "A p 1", "o 1,1"), (0, "A p 2", "o 2,1 o 2,2 o 1,2")]);
}

#[test]
fn a_named_window_is_a_side_with_its_contents() {
    let text = format!(
        "{STREAMS} create window A.win:length(2) as W; insert into W select * from A;
        @Name('o') select w.x as x, b.y as y from B as b unidirectional, W as w where b.k = w.k"
    );
    let mut bench = Bench::new(&text);
    bench.runtime.next_deadline();
    bench.run(&[
        (0, "A p 1", "statement_4 p,1"),
        (0, "B p 9", "o 1,9"),
        (0, "A p 2", "statement_4 p,2"),
        (0, "B p 9", "o 1,9 o 2,9"),
        (0, "A p 3", "statement_4 p,3"),
        (0, "B p 9", "o 2,9 o 3,9"),
    ]);
}

#[test]
fn a_snapshot_of_a_join_shows_all_pairs() {
    let text = format!(
        "{STREAMS} @Name('o') select a.x as x, b.y as y from A.win:length(2) as a, B.win:keepall() as b where a.k = b.k
            output snapshot every 1 seconds"
    );
    run(
        &text,
        &[
            (0, "A p 1", ""),
            (0, "B p 2", ""),
            (100, "A p 3", ""),
            (1000, "", "o 1,2 o 3,2"),
            (1100, "A p 4", ""),
            (2000, "", "o 3,2 o 4,2"),
        ],
    );
}

#[test]
fn a_join_over_large_windows_is_not_quadratic() {
    let text = format!(
        "{STREAMS} @Name('o') select a.x as x, b.y as y from A.win:length(10000) as a, B.win:length(10000) as b \
         where a.k = b.k"
    );
    // So few evaluations do not suffice to examine ten thousand events.
    let mut bench = Bench::with(&text, Budget { evaluations: 100, ..BUDGET });
    for at in 0..10_000 {
        assert!(bench.step(0, &format!("A k{at} {at}")).effects.is_empty());
    }
    for at in 0..10_000 {
        assert_eq!(bench.step(0, &format!("B k{at} {at}")).effects.len(), 1);
    }
    assert_eq!(bench.runtime.retained().events, 20_000);
}
