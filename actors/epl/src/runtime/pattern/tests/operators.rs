//! Each operator alone, and the behaviour of `every` that Esper documents.

use super::harness::{Bench, check};

#[test]
fn every_begins_anew_where_it_stands() {
    check(&[
        ("every (a=A -> b=B)", "A1 B1{A1,B1} C1 B2 A2 D1 A3 B3{A2,B3} E1 A4 F1 B4{A4,B4}"),
        ("every a=A -> b=B", "A1 B1{A1,B1} C1 B2 A2 D1 A3 B3{A2,B3}{A3,B3} E1 A4 F1 B4{A4,B4}"),
        ("a=A -> every b=B", "A1 B1{A1,B1} C1 B2{A1,B2} A2 D1 A3 B3{A1,B3} E1 A4 F1 B4{A1,B4}"),
        (
            "every a=A -> every b=B",
            "A1 B1{A1,B1} C1 B2{A1,B2} A2 D1 A3 B3{A1,B3}{A2,B3}{A3,B3} E1 A4 F1 \
             B4{A1,B4}{A2,B4}{A3,B4}{A4,B4}",
        ),
    ]);
}

#[test]
fn without_every_a_pattern_is_true_once() {
    check(&[
        ("a=A", "B1 A1{A1} A2"),
        ("a=A -> b=B", "B1 A1 A2 B2{A1,B2} A3 B3"),
        ("a=A and b=B", "A1 B1{A1,B1} A2 B2"),
        ("a=A or b=B", "B1{B1} A1 B2"),
    ]);
}

#[test]
fn every_repeats_an_event_a_timer_and_a_group_in_parentheses() {
    check(&[
        ("every a=A", "A1{A1} B1 A2{A2} A3{A3}"),
        ("every (a=A or b=B)", "A1{A1} B1{B1} A2{A2}"),
        ("every (a=A and b=B)", "A1 A2 B1{A1,B1} B2 B3 A3{A3,B2}"),
        ("every timer:interval(10 sec)", "+9s +1s{} +20s{}{}"),
        ("every a=A(n > 2)", "A1 A3{A3} A2 A4{A4}"),
    ]);
}

#[test]
fn part_is_repeated_until_its_end_is_true() {
    check(&[
        ("a=A until b=B", "A1 A2 C1 B1{[A1,A2],B1} A3 B2"),
        ("A until b=B", "A1 A2 B1{B1} B2"),
        ("a=A until b=B", "B1{[],B1}"),
        ("every (a=A until b=B)", "A1 B1{[A1],B1} B2{[],B2} A2 A3 B3{[A2,A3],B3}"),
        ("every a=A until b=B", "A1 A2 B1{[A1,A2],B1} B2"),
        ("(a=A -> b=B) until c=C", "A1 A2 B1 A3 C1{[A1],[B1],C1}"),
        ("(a=A or b=B) until c=C", "A1 B1 B2 A2 C1{[A1,A2],[B1,B2],C1}"),
        ("a=A until timer:interval(10 sec)", "A1 +9s A2 +1s{[A1,A2]} A3"),
        ("every a=A -> (b=B until c=C)", "A1 B1 A2 B2 C1{A1,[B1,B2],C1}{A2,[B2],C1}"),
        ("every (a=A -> b=B) -> C until d=A(id = a.id)", "A1 B1 C1 A2:7 A3{A1,B1,A3} B2 A4 A5:7{A2,B2,A5}"),
        // The end comes first for an event that is both.
        ("a=A until b=A(n > 1)", "A1 A2{[A1],A2}"),
        // A repeated part that can never turn true any more abandons the whole.
        ("(a=A and not B) until c=C", "A1 B1 C1"),
        ("every ((a=A and not B) until c=C)", "A1 B1 A2 C1{[A2],C1}"),
    ]);
}

#[test]
fn events_before_an_end_are_retained_until_then() {
    let mut bench = Bench::new("every (a=A until b=B)");
    let before = bench.state.retained();
    bench.feed("A1");
    let each = bench.state.retained().bytes - before.bytes;
    for _ in 0..9 {
        bench.feed("A1");
    }
    assert_eq!(bench.state.retained().events, 10);
    assert_eq!(bench.state.retained().bytes, before.bytes + 10 * each);
    bench.feed("B1");
    assert_eq!(bench.state.retained(), before);
}

#[test]
fn an_event_begins_a_part_and_does_not_count_for_it() {
    check(&[
        ("a=A -> b=A", "A1 A2{A1,A2} A3"),
        ("every (a=A -> b=A)", "A1 A2{A1,A2} A3 A4{A3,A4}"),
        ("every a=A -> b=A", "A1 A2{A1,A2} A3{A2,A3}"),
        ("every a=A -> (b=B and not A)", "A1 B1{A1,B1} A2 A3 B2{A3,B2}"),
    ]);
}

#[test]
fn and_needs_all_in_any_order_and_one_event_may_be_several() {
    check(&[
        ("every (a=A and b=B and c=C)", "C1 A1 A2 B1{A1,B1,C1} B2 C2 A3{A3,B2,C2}"),
        ("a=A and b=A", "A1{A1,A1}"),
        ("every a=A and every b=B", "A1 A2 B1{A1,B1}{A2,B1} A3{A3,B1} B2{A1,B2}{A2,B2}{A3,B2}"),
        ("every a=A and b=B", "A1 A2 B1{A1,B1}{A2,B1} A3{A3,B1} B2"),
        ("every (every a=A and b=B)", "A1 B1{A1,B1}"),
    ]);
}

#[test]
fn or_abandons_the_other_side() {
    check(&[
        ("every ((a=A -> b=B) or c=C)", "A1 C1{C1} B1 A2 B2{A2,B2}"),
        ("a=A -> (b=B or c=C)", "A1 C1{A1,C1} B1"),
        ("every a=A or b=B", "A1{A1} A2{A2} B1{B1} A3"),
        // One event matches both: the first match abandons the other part.
        ("every (a=A or b=A)", "A1{A1} A2{A2}"),
    ]);
}

#[test]
fn not_is_true_until_it_happens() {
    check(&[
        ("every a=A -> (timer:interval(10 min) and not B)", "A1 +5m A2 +5m{A1} B1 +10m A3 +10m{A3} B2"),
        ("a=A -> (b=B and not C)", "A1 C1 B1 A2 B2"),
        ("every (a=A -> (b=B and not C))", "A1 C1 B1 A2 B2{A2,B2}"),
        ("every (a=A and not B)", "B1 A1{A1} B2 A2{A2}"),
        // Parts are handled from left to right.
        ("every a=A -> (b=B(n = 1) and not B)", "A1 B1{A1,B1} A2 B2 B1"),
        ("every a=A -> (not B and b=B(n = 1))", "A1 B1 A2 B2 B1"),
        ("every a=A -> (timer:interval(1 min) and not (B -> C))", "A1 B1 +1m{A1} A2 B2 C1 +1m"),
        // A part that repeats is never true for good.
        ("every a=A -> (timer:interval(1 min) and not every B)", "A1 B1 +1m{A1}"),
    ]);
}

#[test]
fn not_alone_is_true_at_once() {
    check(&[
        ("not A", "{} A1 B1"),
        ("a=A -> not B", "A1{A1} B1 A2"),
        ("every a=A -> not B", "A1{A1} B1 A2{A2}"),
        ("not not A", "{} A1"),
        ("not A or b=B", "{} A1 B1{B1}"),
    ]);
}

#[test]
fn every_around_a_part_that_is_true_at_once_ends() {
    check(&[
        ("every not A", "A1 A2"),
        ("every (a=A -> not B)", "A1{A1} A2{A2}"),
        ("every every not A", "A1"),
        ("every (not A and not B)", "A1 B1"),
    ]);
}

#[test]
fn nested_every_multiplies() {
    check(&[
        ("every every a=A", "A1{A1} A2{A2}{A2} A3{A3}{A3}{A3}{A3}"),
        ("every (every a=A -> b=B)", "A1 B1{A1,B1} A2 B2{A2,B2}{A2,B2}"),
    ]);
}

#[test]
fn filters_on_earlier_matches_distinguish_events() {
    check(&[
        ("every a=A -> b=B(b.id = a.id)", "A1:7 A2:8 A3:7 B1:9 B2:7{A1,B2}{A3,B2} B3:7 B4:8{A2,B4}"),
        ("every a=A -> b=B(id = a.id and n > a.n)", "A3:7 B1:7 B4:7{A3,B4}"),
        ("every a=A -> b=B(b.n > a.n)", "A1 A5 B3{A1,B3} B6{A5,B6}"),
        (
            "every a=A -> b=B(b.id = a.id) -> c=C(c.id = a.id and c.n = b.n)",
            "A1:7 B2:7 C2:8 C3:7 C2:7{A1,B2,C2}",
        ),
        ("every a=A -> (timer:interval(1 min) and not B(id = a.id))", "A1:7 A2:8 B1:7 +1m{A2}"),
        // Null equals nothing, so a node that waits for it waits in vain.
        ("every a=A -> b=B(b.id = null)", "A1 B1 A2 B2"),
    ]);
}

#[test]
fn failing_filter_matches_nothing_and_is_reported_once_per_event() {
    let mut bench = Bench::new("every a=A -> (b=B(fails() and n = a.n) or c=C)");
    for word in ["A1", "A2", "A3", "B1"] {
        bench.feed(word);
    }
    assert_eq!(bench.take_matches(), "");
    assert_eq!(bench.found.faults.len(), 1);
    bench.feed("C1");
    assert_eq!(bench.take_matches(), "{A1,C1}{A2,C1}{A3,C1}");
}
