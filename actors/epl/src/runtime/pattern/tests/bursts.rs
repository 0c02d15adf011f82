//! Patterns that grow without bound within one event.

use super::harness::{Bench, plan};

#[test]
fn pattern_that_doubles_with_each_event_finally_begins_anew() {
    let mut bench = Bench::new("every every every every a=A");
    for _ in 0..40 {
        bench.feed("A1");
    }
    assert!(!bench.found.faults.is_empty());
    assert!(bench.state.retained().bytes < 64 << 20);
    let size = bench.found.matches.len();
    bench.feed("A1");
    assert!(bench.found.matches.len() > size, "it goes on");
}

#[test]
fn excessive_combinations_are_not_made() {
    let mut bench = Bench::new("every a=A and every b=B and every c=C and every d=D");
    for _ in 0..100 {
        for word in ["A1", "B1", "C1"] {
            bench.feed(word);
        }
    }
    bench.feed("D1");
    assert_eq!(bench.found.faults.len(), 1);
    assert_eq!(bench.state.retained().events, 0);
}

#[test]
fn nested_operators_make_a_plan_no_larger_than_their_text() {
    for word in ["every", "not"] {
        let pattern = format!("{}a=A", format!("{word} ").repeat(60));
        assert_eq!(plan(&pattern).size(), 61);
        let mut bench = Bench::new(&pattern);
        for _ in 0..20 {
            bench.feed("A1");
        }
        assert!(bench.state.retained().bytes < 64 << 20);
    }
    let wide = format!("every ({})", (0..5000).map(|_| "A").collect::<Vec<_>>().join(" or "));
    let mut bench = Bench::new(&wide);
    for _ in 0..10 {
        bench.feed("A1");
    }
    assert_eq!(bench.found.matches.len(), 10);
    assert_eq!(bench.found.faults, []);
}

#[test]
fn and_of_thousands_turns_true_with_one_event() {
    let wide = format!("every ({})", (0..3000).map(|_| "A").collect::<Vec<_>>().join(" and "));
    let mut bench = Bench::new(&wide);
    for _ in 0..3 {
        bench.feed("A1");
    }
    assert_eq!(bench.found.matches.len(), 3);
    assert_eq!(bench.found.faults, []);
}
