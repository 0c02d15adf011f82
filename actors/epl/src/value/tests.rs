use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use platform_model::realtime::change::PublishedChange;
use proptest::prelude::*;

use super::*;
use super::{Match, StreamEvent};
use crate::language::syntax::Operator;
use crate::samples::{alarm, client_event, event, map, measurement, row, shown, text, time};

fn id(value: &str) -> Value {
    Value::Id(Arc::new(Id::of(value)))
}

fn list(values: &[Value]) -> Value {
    Value::List(values.into())
}

fn key(value: Value) -> Key {
    Key(vec![value])
}

#[test]
fn keys_of_equal_values_are_equal() {
    let later = Timestamp::parse("time", "2024-01-01T00:00:00.500Z").expect("a time");
    for (left, right) in [
        (Value::Null, Value::Null),
        (Value::Integer(1), Value::Double(1.0)),
        (Value::Double(-0.0), Value::Integer(0)),
        (Value::Double(f64::NAN), Value::Double(-f64::NAN)),
        (id("7"), text("7")),
        (Value::Time(time()), Value::Time(later)),
        (list(&[Value::Integer(1), text("a")]), list(&[Value::Double(1.0), id("a")])),
        (map(&[("a", Value::Null)]), map(&[("a", Value::Null)])),
        (Value::Object(Object::Alarm(alarm(""))), Value::Object(Object::Alarm(alarm(r#","plat_X":1"#)))),
    ] {
        let mut groups = HashMap::from([(key(left.clone()), 1)]);
        assert_eq!(groups.remove(&key(right.clone())), Some(1), "{left:?} {right:?}");
    }
}

#[test]
fn keys_that_differ_are_not_mixed_up() {
    let one_row = Value::Event(row(&[]));
    for (left, right) in [
        (Value::Null, text("null")),
        (Value::Boolean(true), Value::Integer(1)),
        (Value::Integer(1), text("1")),
        (Value::Integer(i64::MAX), Value::Double(i64::MAX as f64)),
        (Value::Integer(9_007_199_254_740_993), Value::Double(9_007_199_254_740_992.0)),
        (list(&[]), map(&[])),
        (list(&[Value::Null]), list(&[])),
        (Value::Object(Object::Alarm(alarm(""))), Value::Object(Object::Event(event("")))),
        (one_row, Value::Event(row(&[]))),
    ] {
        assert_ne!(key(left.clone()), key(right.clone()), "{left:?} {right:?}");
    }
    assert_ne!(Key(vec![text("a")]), Key(vec![text("a"), Value::Null]));
}

#[test]
fn numbers_and_texts_are_ordered_and_everything_has_a_place() {
    let ascending = [
        Value::Null,
        Value::Boolean(false),
        Value::Boolean(true),
        Value::Double(f64::NEG_INFINITY),
        Value::Integer(i64::MIN),
        Value::Double(-0.5),
        Value::Integer(0),
        Value::Double(0.5),
        Value::Integer(9_007_199_254_740_992),
        Value::Integer(9_007_199_254_740_993),
        Value::Double(9_007_199_254_740_994.0),
        Value::Integer(i64::MAX),
        Value::Double(9_223_372_036_854_775_808.0),
        Value::Double(f64::INFINITY),
        Value::Double(f64::NAN),
        text(""),
        id("10"),
        text("9"),
        Value::Time(time()),
        list(&[]),
    ];
    for (at, left) in ascending.iter().enumerate() {
        for (other, right) in ascending.iter().enumerate() {
            assert_eq!(left.order(right), at.cmp(&other), "{left:?} {right:?}");
        }
    }
}

#[test]
fn values_of_incompatible_types_have_no_order_and_no_equality() {
    let kinds = [
        Value::Null,
        Value::Boolean(true),
        Value::Integer(1),
        text("1"),
        Value::Time(time()),
        list(&[]),
        map(&[]),
    ];
    for (at, left) in kinds.iter().enumerate() {
        for (other, right) in kinds.iter().enumerate() {
            let alike = at == other && at > 0;
            assert_eq!(
                Seen::Kept(left).equals(&Seen::Kept(right)),
                alike.then_some(true),
                "{left:?} {right:?}"
            );
            let ordered = at == other && (2..=4).contains(&at);
            assert_eq!(
                left.plain().compare(right.plain()),
                ordered.then_some(Ordering::Equal),
                "{left:?} {right:?}"
            );
        }
    }
}

#[test]
fn arithmetic_keeps_whole_numbers_whole_and_ends_at_no_edge() {
    use Number::{Double as D, Integer as I};
    use Operator::{Add, Divide, Modulo, Multiply, Subtract};
    for (left, operator, right, result) in [
        (I(1), Add, I(2), Some(I(3))),
        (I(1), Add, D(2.5), Some(D(3.5))),
        (I(i64::MAX), Add, I(1), Some(D(9_223_372_036_854_775_808.0))),
        (I(i64::MIN), Subtract, I(1), Some(D(-9_223_372_036_854_775_808.0))),
        (I(i64::MIN), Multiply, I(-1), Some(D(9_223_372_036_854_775_808.0))),
        (I(6), Divide, I(3), Some(D(2.0))),
        (I(1), Divide, I(0), None),
        (D(1.0), Divide, D(-0.0), None),
        (I(7), Modulo, I(3), Some(I(1))),
        (I(-7), Modulo, I(3), Some(I(-1))),
        (I(i64::MIN), Modulo, I(-1), Some(I(0))),
        (I(7), Modulo, I(0), None),
        (D(7.5), Modulo, I(2), Some(D(1.5))),
        (D(1.0), Modulo, I(0), None),
        (D(1e308), Multiply, I(10), Some(D(f64::INFINITY))),
    ] {
        assert_eq!(reckon(operator, left, right), result, "{left:?} {operator:?} {right:?}");
    }
    assert_eq!(negate(I(i64::MIN)), D(9_223_372_036_854_775_808.0));
    assert_eq!(negate(I(5)), I(-5));
}

#[test]
fn values_are_written_as_clients_know_them() {
    let named = Id { value: "7".into(), type_: Some("P1".into()), name: Some("pump".into()) };
    for (value, json) in [
        (Value::Null, "null"),
        (Value::Double(20.0), "20"),
        (Value::Double(-0.0), "0"),
        (Value::Double(0.1), "0.1"),
        (Value::Double(1e300), "1e+300"),
        (Value::Double(f64::NAN), "null"),
        (Value::Double(f64::INFINITY), "null"),
        (Value::Integer(9_007_199_254_740_993), "9007199254740993"),
        (text("a\"b"), r#""a\"b""#),
        (Value::Time(time()), r#""2024-01-01T01:00:00.500+01:00""#),
        (id("7"), r#"{"value":"7","type":null,"name":null}"#),
        (Value::Id(Arc::new(named)), r#"{"value":"7","type":"P1","name":"pump"}"#),
        (list(&[Value::Null, Value::Boolean(true)]), "[null,true]"),
        (map(&[("b", Value::Integer(1)), ("a", list(&[]))]), r#"{"b":1,"a":[]}"#),
        (
            Value::Object(Object::Measurement(measurement(r#","a":{"x":{"value":20,"unit":"C"}}"#))),
            concat!(
                r#"{"self":"/measurement/measurements/100","id":"100","type":"t","#,
                r#""time":"2024-01-01T01:00:00.500+01:00","#,
                r#""source":{"id":"7","self":"/inventory/managedObjects/7"},"#,
                r#""a":{"x":{"value":20,"unit":"C"}}}"#
            ),
        ),
        (Value::Event(row(&[("a", Value::Double(1.0)), ("b", Value::Null)])), r#"{"a":1,"b":null}"#),
        (
            Value::Event(client_event(PublishedChange::MeasurementDeleted(
                platform_model::id::MeasurementId(5),
            ))),
            concat!(
                r#"{"_type":"MEASUREMENT_DELETE","_mode":"PERSISTENT","_origin":null,"#,
                r#""measurement":{"id":{"value":"5","type":null,"name":null},"#,
                r#""source":{"value":"7","type":null,"name":null}}}"#
            ),
        ),
    ] {
        assert_eq!(value.to_json(), json);
    }
}

#[test]
fn text_of_a_value_is_written_as_by_a_person() {
    for (value, written) in [
        (Value::Null, None),
        (Value::Boolean(true), Some("true")),
        (Value::Integer(-3), Some("-3")),
        (Value::Double(20.0), Some("20")),
        (Value::Double(20.25), Some("20.25")),
        (Value::Double(f64::NAN), Some("NaN")),
        (Value::Double(f64::NEG_INFINITY), Some("-Infinity")),
        (id("7"), Some("7")),
        (Value::Time(time()), Some("2024-01-01T01:00:00.500+01:00")),
        (list(&[Value::Integer(1)]), Some("[1]")),
    ] {
        assert_eq!(value.as_text().as_deref(), written, "{value:?}");
    }
}

#[test]
fn json_is_read_within_bounds() {
    for (json, value) in [
        ("1", "i:1"),
        ("-9223372036854775808", "i:-9223372036854775808"),
        ("9223372036854775808", "d:9.223372036854776e+18"),
        ("1.0", "d:1"),
        (r#"{"a":1,"b":[true,null],"a":"x"}"#, r#"m:{"a":"x","b":[true,null]}"#),
        (r#""\u00e9""#, r#"s:"é""#),
    ] {
        assert_eq!(shown(&Value::of_json(json).expect(json)), value);
    }
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(Value::of_json(&deep(64)).is_ok());
    let many = format!("[{}1]", "1,".repeat(100_000));
    for json in ["", "{", "1 2", r#""\ud800""#, "1e999", &deep(65), &deep(100_000), &many] {
        let fault = Value::of_json(json).expect_err(&json[..json.len().min(20)]);
        assert!(fault.0.starts_with("JSON that cannot be read"), "{fault}");
    }
}

#[test]
fn last_of_doubled_members_counts_among_few_and_many() {
    for count in [2, 16, 17, 50] {
        let members: Vec<String> = (0..count).chain([0, 1]).map(|n| format!("\"m{n}\":{n}")).collect();
        let json = format!("{{{},\"m1\":\"last\"}}", members.join(","));
        let Value::Map(map) = Value::of_json(&json).expect(&json) else { panic!("{json}") };
        assert_eq!((map.0.len(), shown(&map.0[1].1)), (count, "s:\"last\"".into()));
        assert_eq!(shown(&parse::member(&json, "m1").value().expect("a text")), "s:\"last\"");
    }
}

#[test]
fn larger_values_have_a_larger_weight_and_nesting_of_rows_is_limited() {
    let (light, heavy) = (measurement(""), measurement(&format!(r#","a":"{}""#, "x".repeat(5000))));
    let weight = |measurement| client_event(PublishedChange::MeasurementCreated(measurement)).weight();
    assert!((5000..6000).contains(&(weight(heavy) - weight(light))));

    let mut nested = row(&[("a", text(&"x".repeat(1000)))]);
    assert!(nested.weight() > 1000);
    for _ in 0..60 {
        nested = row(&[("a", Value::Event(nested))]);
        assert!(nested.within_limits().is_ok());
    }
    for _ in 0..10 {
        nested = row(&[("a", Value::Event(nested))]);
    }
    assert!(nested.within_limits().expect_err("deep").0.contains("nested"));

    // A value that doubles each time soon exceeds the limit, although its parts share memory.
    let mut doubled = row(&[("a", text("x"))]);
    for _ in 0..40 {
        doubled = row(&[("a", Value::Event(doubled.clone())), ("b", Value::Event(doubled))]);
    }
    assert!(doubled.within_limits().expect_err("large").0.contains("larger"));
    let found = StreamEvent::Match(Arc::new(Match([Some(doubled.clone()), None].into())));
    assert!(found.weight() > doubled.weight());
}

/// Generates any value with little nesting.
fn any_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        (-3_i64..3).prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Double),
        (-6_i32..6).prop_map(|half| Value::Double(f64::from(half) / 2.0)),
        (any::<i64>()).prop_map(|number| Value::Double(number as f64)),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
        number,
        "[ab1]{0,2}".prop_map(|word| text(&word)),
        "[ab1]{0,2}".prop_map(|word| id(&word)),
        (0..3_i128).prop_map(|ms| {
            let instant = time::OffsetDateTime::from_unix_timestamp_nanos(ms).expect("a time");
            Value::Time(Timestamp::stored(instant, 60 * ms as i16))
        }),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|values| list(&values)),
            prop::collection::vec(inner, 0..3).prop_map(|values| {
                let names = ["a", "b", "c"];
                map(&names.into_iter().zip(values).collect::<Vec<_>>())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn equality_of_keys_is_one_and_agrees_with_their_hash(a in any_value(), b in any_value(), c in any_value()) {
        let hash = RandomState::new();
        let (a, b, c) = (key(a), key(b), key(c));
        prop_assert_eq!(&a, &a);
        prop_assert_eq!(a == b, b == a);
        if a == b {
            prop_assert_eq!(hash.hash_one(&a), hash.hash_one(&b));
            prop_assert_eq!(a == c, b == c);
        }
    }

    #[test]
    fn order_is_total_and_agrees_with_comparisons(a in any_value(), b in any_value(), c in any_value()) {
        prop_assert_eq!(a.order(&b), b.order(&a).reverse());
        if a.order(&b).is_le() && b.order(&c).is_le() {
            prop_assert!(a.order(&c).is_le());
        }
        if let Some(order) = a.plain().compare(b.plain()) {
            prop_assert_eq!(order, a.order(&b));
            prop_assert_eq!(order.is_eq(), Seen::Kept(&a).equals(&Seen::Kept(&b)) == Some(true));
        }
        if let Some(equal) = Seen::Kept(&a).equals(&Seen::Kept(&b)) {
            prop_assert_eq!(equal, key(a) == key(b));
        }
    }

    #[test]
    fn arithmetic_never_panics(a in any::<i64>(), b in any::<i64>(), c in any::<f64>()) {
        use Operator::{Add, Divide, Modulo, Multiply, Subtract};
        for operator in [Add, Subtract, Multiply, Divide, Modulo] {
            for (left, right) in [
                (Number::Integer(a), Number::Integer(b)),
                (Number::Integer(a), Number::Double(c)),
                (Number::Double(c), Number::Integer(b)),
                (Number::Integer(i64::MIN), Number::Integer(b % 3)),
            ] {
                let result = reckon(operator, left, right);
                if let Some(Number::Integer(exact)) = result {
                    let exact_of_128 = match (operator, left, right) {
                        (Add, Number::Integer(l), Number::Integer(r)) => i128::from(l) + i128::from(r),
                        (Subtract, Number::Integer(l), Number::Integer(r)) => i128::from(l) - i128::from(r),
                        (Multiply, Number::Integer(l), Number::Integer(r)) => i128::from(l) * i128::from(r),
                        (Modulo, Number::Integer(l), Number::Integer(r)) => i128::from(l) % i128::from(r),
                        _ => panic!("{operator:?} of {left:?} and {right:?} is not whole"),
                    };
                    prop_assert_eq!(i128::from(exact), exact_of_128);
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_read_back(value in any_value()) {
        let json = value.to_json();
        let read = Value::of_json(&json).expect("is JSON");
        prop_assert_eq!(read.to_json(), json);
    }

    #[test]
    fn members_and_elements_are_those_of_the_whole(value in any_value(), name in "[abc]", at in 0_usize..3) {
        let json = value.to_json();
        let whole = Value::of_json(&json).expect("is JSON");
        let member = match &whole {
            Value::Map(map) => map.get(&name).cloned().unwrap_or(Value::Null),
            _ => Value::Null,
        };
        let element = match &whole {
            Value::List(list) => list.get(at).cloned().unwrap_or(Value::Null),
            _ => Value::Null,
        };
        prop_assert_eq!(shown(&parse::member(&json, &name).value().expect("is JSON")), shown(&member));
        prop_assert_eq!(shown(&parse::element(&json, at).value().expect("is JSON")), shown(&element));
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}", name in ".{0,5}") {
        let _ = Value::of_json(&text);
        let _ = parse::member(&text, &name);
        let _ = parse::element(&text, 0);
        let _ = parse::seen(&text).value();
    }

    #[test]
    fn digits_compare_like_their_text(number in any::<i64>(), other in "[0-9]{0,3}|-?[0-9]{1,19}") {
        prop_assert_eq!(text::cmp_digits(number, &other), number.to_string().as_str().cmp(&other));
    }
}
