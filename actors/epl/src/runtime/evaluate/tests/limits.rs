//! The limits of expressions.

use platform_model::realtime::change::PublishedChange;

use super::*;
use crate::plan::expression::Property;
use crate::samples::{client_event, event, path};
use crate::value::StreamEvent;

#[test]
fn values_that_grow_without_end_end_at_a_fault() {
    let long = text(&"x".repeat(600_000));
    let doubled = binary_of(Operator::Concatenate, long.clone(), long);
    let deep = (0..100).fold(Value::Null, |inner, _| Value::List([inner].into()));
    for (expression, word) in [(doubled, "larger"), (Expression::List(vec![literal(deep)]), "nested")] {
        let (value, _) = evaluate_within(1_000_000, &expression, &[]);
        assert!(value.expect_err(word).0.contains(word));
    }
}

#[test]
fn slow_operations_count_as_many_evaluations() {
    let spent =
        |expression: &Expression, source: &StreamEvent| evaluate_within(1 << 40, expression, &[source]).1;
    let nothing = row(&[]);
    let equal = |text: Value| binary_of(Operator::Equal, text.clone(), text);
    assert_eq!(spent(&equal(text("short")), &nothing), 1);
    assert!(spent(&equal(text(&"x".repeat(500_000))), &nothing) > 900);
    let like = |length: usize| Expression::Like {
        value: boxed(text(&"a".repeat(length))),
        pattern: boxed(text(&format!("%{}b", "a".repeat(length / 2)))),
        escape: None,
        negated: false,
    };
    assert!(spent(&like(2000), &nothing) > 10_000);
    let fragment = format!(r#","plat_X":{{"a":"{}"}}"#, "x".repeat(500_000));
    let event = client_event(PublishedChange::EventCreated(event(&fragment)));
    assert!(spent(&path(Property::Object, &["plat_X", "a"]), &event) > 900);
    let (value, _) = evaluate_within(100, &path(Property::Object, &["plat_X", "a"]), &[&event]);
    assert!(value.expect_err("nothing left to spend").0.contains("may do at a time"));
}

#[test]
fn fragments_of_many_names_count_by_how_often_names_are_compared() {
    let pairs = |prefix: &str, count: usize| {
        let pair = |at: usize| (literal(text(&format!("{prefix}n{at}"))), literal(Value::Null));
        evaluate_within(u64::MAX, &Expression::Fragments((0..count).map(pair).collect()), &[]).1
    };
    assert!(pairs("", 4000) > 100_000);
    assert!(pairs("a.b.", 4000) > 100_000, "deep inside as well");
}
