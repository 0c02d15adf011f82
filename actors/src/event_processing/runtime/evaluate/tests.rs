use std::sync::Arc;

use super::*;
use crate::event_processing::plan::expression::{Finder, Function, Property, Scalar};
use crate::event_processing::samples::{
    FIRST, alarm, evaluate, evaluate_within, event, literal, managed_object, map, measurement, operation,
    path, response, row, shown, text, time, told,
};
use crate::event_processing::stream::{Match, StreamEvent};
use crate::event_processing::value::Id;
use crate::hub;
use crate::model::id::{ManagedObjectId, MeasurementId};

fn binary_of(operator: Operator, left: Value, right: Value) -> Expression {
    Expression::Binary(operator, Box::new(literal(left)), Box::new(literal(right)))
}

fn boxed(value: Value) -> Box<Expression> {
    Box::new(literal(value))
}

fn result(expression: &Expression) -> String {
    shown(&evaluate(expression, &row(&[])))
}

/// One value of each type.
fn kinds() -> Vec<Value> {
    vec![
        Value::Null,
        Value::Boolean(true),
        Value::Integer(1),
        Value::Double(2.5),
        text("a"),
        Value::Time(time()),
        Value::Id(Arc::new(Id::of("a"))),
        Value::List([Value::Integer(1)].into()),
        map(&[("a", Value::Integer(1))]),
        Value::Object(crate::event_processing::value::Object::Alarm(alarm(""))),
        Value::Event(row(&[])),
    ]
}

#[test]
fn every_operator_takes_every_pair_of_types_and_gives_null_where_they_do_not_go_together() {
    use Operator::*;
    let number = |value: &Value| matches!(value, Value::Integer(_) | Value::Double(_));
    let written = |value: &Value| matches!(value, Value::Text(_) | Value::Id(_));
    let time = |value: &Value| matches!(value, Value::Time(_));
    let alike = |left: &Value, right: &Value| std::mem::discriminant(left) == std::mem::discriminant(right);
    for left in &kinds() {
        for right in &kinds() {
            let pair = |of: &dyn Fn(&Value) -> bool| of(left) && of(right);
            let ordered = pair(&number) || pair(&written) || pair(&time);
            let nothing = matches!(left, Value::Null) || matches!(right, Value::Null);
            for (operators, is_known) in [
                (&[Add, Subtract, Multiply, Divide, Modulo][..], pair(&number)),
                (&[Less, LessOrEqual, Greater, GreaterOrEqual], ordered),
                (&[Equal, NotEqual], !nothing && (ordered || alike(left, right))),
                (&[Concatenate], !nothing),
            ] {
                for operator in operators {
                    let result = result(&binary_of(*operator, left.clone(), right.clone()));
                    assert_eq!(result != "null", is_known, "{left:?} {operator:?} {right:?}: {result}");
                }
            }
        }
    }
}

#[test]
fn operators_give_what_they_are_known_for() {
    use Operator::*;
    let int = Value::Integer;
    for (left, operator, right, expected) in [
        (int(1), Equal, Value::Double(1.0), "true"),
        (Value::Id(Arc::new(Id::of("7"))), Equal, text("7"), "true"),
        (int(1), NotEqual, int(2), "true"),
        (int(1), Less, Value::Double(1.5), "true"),
        (text("10"), Less, text("9"), "true"),
        (int(2), GreaterOrEqual, int(2), "true"),
        (int(2), Greater, int(2), "false"),
        (text("a"), Concatenate, Value::Double(20.0), r#"s:"a20""#),
        (Value::Boolean(true), Concatenate, int(1), r#"s:"true1""#),
        (int(7), Divide, int(2), "d:3.5"),
        (int(7), Modulo, int(4), "i:3"),
        (int(7), Modulo, int(0), "null"),
        (int(i64::MAX), Add, int(1), "d:9.223372036854776e+18"),
    ] {
        assert_eq!(result(&binary_of(operator, left, right)), expected);
    }
    assert_eq!(result(&Expression::Negate(boxed(int(5)))), "i:-5");
    assert_eq!(result(&Expression::Negate(boxed(text("5")))), "null");
}

#[test]
fn and_or_and_not_know_the_unknown() {
    let words = [("true", Value::Boolean(true)), ("false", Value::Boolean(false)), ("null", Value::Null)];
    let and = ["true", "false", "null", "false", "false", "false", "null", "false", "null"];
    let or = ["true", "true", "true", "true", "false", "null", "true", "null", "null"];
    let pairs = words.iter().flat_map(|left| words.iter().map(move |right| (left, right)));
    for ((left, right), (and, or)) in pairs.zip(and.into_iter().zip(or)) {
        let binary = |operator| result(&binary_of(operator, left.1.clone(), right.1.clone()));
        assert_eq!(
            (binary(Operator::And), binary(Operator::Or)),
            (and.into(), or.into()),
            "{left:?} {right:?}"
        );
    }
    for (value, not) in words.iter().zip(["false", "true", "null"]) {
        assert_eq!(result(&Expression::Not(boxed(value.1.clone()))), not);
    }
}

#[test]
fn what_decides_already_leaves_the_rest_unread() {
    let fails = || Box::new(Expression::LookUp(Finder::InMaintenanceMode, Vec::new()));
    for (operator, decides) in [(Operator::And, false), (Operator::Or, true)] {
        let short = Expression::Binary(operator, boxed(Value::Boolean(decides)), fails());
        assert_eq!(result(&short), decides.to_string());
        let long = Expression::Binary(operator, boxed(Value::Boolean(!decides)), fails());
        let (failed, _) = evaluate_within(100, &long, &[]);
        assert_eq!(failed.expect_err("the look-up fails").to_string(), "nothing to look for");
    }
}

#[test]
fn membership_ranges_and_likeness() {
    let int = Value::Integer;
    let list = || Value::List([int(3), text("x")].into());
    let among = |value: Value, among: Vec<Value>, negated| Expression::In {
        value: boxed(value),
        among: among.into_iter().map(literal).collect(),
        negated,
    };
    let between = |value: Value, low: Value, high: Value, negated| Expression::Between {
        value: boxed(value),
        low: boxed(low),
        high: boxed(high),
        negated,
    };
    let like = |value: Value, pattern: Value, negated| Expression::Like {
        value: boxed(value),
        pattern: boxed(pattern),
        escape: None,
        negated,
    };
    for (expression, expected) in [
        (among(int(1), vec![int(2), int(1)], false), "true"),
        (among(int(1), vec![int(2)], false), "false"),
        (among(int(1), vec![int(2)], true), "true"),
        (among(int(1), vec![Value::Null, int(1)], true), "false"),
        (among(int(1), vec![Value::Null], false), "null"),
        (among(Value::Null, vec![int(1)], false), "null"),
        (among(int(3), vec![int(1), list()], false), "true"),
        (among(int(4), vec![Value::List([int(3)].into())], true), "true"),
        (between(int(2), int(1), int(2), false), "true"),
        (between(int(2), int(3), int(1), false), "true"),
        (between(int(4), int(1), int(3), true), "true"),
        (between(text("b"), text("a"), text("c"), false), "true"),
        (between(Value::Null, int(1), int(3), true), "null"),
        (between(int(1), Value::Null, int(3), false), "null"),
        (like(text("pump 1"), text("pump%"), false), "true"),
        (like(int(120), text("1_0"), false), "true"),
        (like(text("a"), text("b"), true), "true"),
        (like(Value::Null, text("%"), false), "null"),
        (like(text("a"), Value::Null, true), "null"),
        (like(list(), text("%"), false), "null"),
        (Expression::IsNull { value: boxed(Value::Null), negated: false }, "true"),
        (Expression::IsNull { value: boxed(Value::Null), negated: true }, "false"),
        (Expression::IsNull { value: boxed(int(0)), negated: true }, "true"),
    ] {
        assert_eq!(result(&expression), expected, "{expression:?}");
    }
}

#[test]
fn case_takes_the_first_branch_that_is_true() {
    let branch = |condition, value: &str| (literal(condition), literal(text(value)));
    let case = |first, otherwise: Option<&str>| Expression::Case {
        branches: vec![branch(first, "a"), branch(Value::Boolean(true), "b"), branch(Value::Null, "c")],
        otherwise: otherwise.map(|value| boxed(text(value))),
    };
    assert_eq!(result(&case(Value::Boolean(true), None)), r#"s:"a""#);
    assert_eq!(result(&case(Value::Null, None)), r#"s:"b""#);
    let none = |otherwise| Expression::Case { branches: vec![branch(Value::Null, "a")], otherwise };
    assert_eq!(result(&none(Some(boxed(text("z"))))), r#"s:"z""#);
    assert_eq!(result(&none(None)), "null");
}

#[test]
fn every_property_of_q_06_is_found() {
    let fragment = r#","plat_X":{"a":[1,{"b":true}]}"#;
    let series = r#","plat_T":{"T":{"value":20.5,"unit":"C"},"U":{"value":1}}"#;
    let telling = [
        told(hub::Event::AlarmCreated(alarm(fragment))),
        told(hub::Event::EventUpdated(event(fragment))),
        told(hub::Event::MeasurementCreated(measurement(series))),
        told(hub::Event::MeasurementCreated(measurement(r#","plat_T":{"T":{"value":20.50,"unit":"C"}}"#))),
        told(hub::Event::OperationCreated(operation(fragment))),
        told(hub::Event::ManagedObjectCreated(managed_object(fragment))),
        told(hub::Event::ManagedObjectDeleted(ManagedObjectId(7))),
        told(hub::Event::MeasurementDeleted(MeasurementId(5))),
        response(),
    ];
    let instant = r#""2024-01-01T01:00:00.500+01:00""#;
    let instant = &*format!("t:{instant}");
    use Property::*;
    for (source, property, members, expected) in [
        (0, Type, &[][..], r#"s:"ALARM_CREATE""#),
        (0, Mode, &[], r#"s:"PERSISTENT""#),
        (0, Origin, &[], "null"),
        (8, Origin, &[], r#"s:"cep""#),
        (0, Object, &["id"], r#"id:{"value":"101","type":null,"name":null}"#),
        (0, Object, &["id", "value"], r#"s:"101""#),
        (0, Object, &["creationTime"], instant),
        (0, Object, &["type"], r#"s:"t""#),
        (0, Object, &["count"], "i:1"),
        (0, Object, &["severity"], r#"s:"MAJOR""#),
        (0, Object, &["status"], r#"s:"ACTIVE""#),
        (0, Object, &["text"], r#"s:"hot""#),
        (0, Object, &["time"], instant),
        (0, Object, &["source"], r#"id:{"value":"7","type":null,"name":"pump"}"#),
        (0, Object, &["source", "name"], r#"s:"pump""#),
        (0, Object, &["plat_X"], r#"m:{"a":[1,{"b":true}]}"#),
        (0, Object, &["plat_X", "a"], r#"l:[1,{"b":true}]"#),
        (0, Object, &["firstOccurrenceTime"], "null"),
        (0, Payload, &["firstOccurrenceTime"], r#"s:"2024-01-01T01:00:00.500+01:00""#),
        (0, Payload, &["source", "id"], r#"s:"7""#),
        (0, Payload, &["source"], r#"m:{"id":"7","self":"/inventory/managedObjects/7","name":"pump"}"#),
        (0, Payload, &["id"], r#"s:"101""#),
        (0, Payload, &["count"], "i:1"),
        (0, Payload, &["nothing"], "null"),
        (1, Type, &[], r#"s:"EVENT_UPDATED""#),
        (1, Object, &["id", "value"], r#"s:"102""#),
        (1, Object, &["creationTime"], instant),
        (1, Object, &["type"], r#"s:"t""#),
        (1, Object, &["text"], r#"s:"x""#),
        (1, Object, &["time"], instant),
        (1, Object, &["source"], r#"id:{"value":"7","type":"P1","name":"pump"}"#),
        (1, Object, &["plat_X", "nothing"], "null"),
        (2, Type, &[], r#"s:"MEASUREMENT_CREATE""#),
        (2, Object, &["id", "value"], r#"s:"100""#),
        (2, Object, &["type"], r#"s:"t""#),
        (2, Object, &["time"], instant),
        (2, Object, &["source", "value"], r#"s:"7""#),
        (2, Object, &["plat_T", "T", "value"], "d:20.5"),
        (2, Object, &["plat_T", "T", "unit"], r#"s:"C""#),
        (2, Object, &["plat_T", "U", "unit"], "null"),
        (2, Object, &["plat_T", "U"], r#"m:{"value":1}"#),
        (2, Object, &["plat_T"], r#"m:{"T":{"value":20.5,"unit":"C"},"U":{"value":1}}"#),
        (2, Object, &["plat_T", "V", "value"], "null"),
        (2, Payload, &["plat_T", "T", "value"], "d:20.5"),
        (3, Object, &["plat_T", "T", "value"], "d:20.5"),
        (3, Object, &["plat_T"], r#"m:{"T":{"value":20.5,"unit":"C"}}"#),
        (4, Object, &["id", "value"], r#"s:"103""#),
        (4, Object, &["creationTime"], instant),
        (4, Object, &["status"], r#"s:"PENDING""#),
        (4, Object, &["deviceId", "value"], r#"s:"7""#),
        (4, Payload, &["deviceId"], r#"s:"7""#),
        (5, Object, &["id"], r#"id:{"value":"7","type":"P1","name":"pump"}"#),
        (5, Object, &["type"], r#"s:"P1""#),
        (5, Object, &["name"], r#"s:"pump""#),
        (5, Object, &["lastUpdated"], instant),
        (5, Object, &["owner"], r#"s:"ada""#),
        (5, Object, &["childAssets"], "l:[]"),
        (5, Object, &["childDevices"], "l:[]"),
        (5, Object, &["assetParents"], "l:[]"),
        (5, Object, &["deviceParents"], "l:[]"),
        (5, Payload, &["childAssets", "references"], "l:[]"),
        (6, Object, &["id", "value"], r#"s:"7""#),
        (6, Object, &["source", "value"], r#"s:"7""#),
        (6, Payload, &[], r#"m:{"id":"7"}"#),
        (7, Object, &["id", "value"], r#"s:"5""#),
        (7, Object, &["type"], "null"),
        (8, Type, &[], r#"s:"REQUEST_RESULT""#),
        (8, Status, &[], "i:200"),
        (8, Body, &[], r#"s:"{\"ok\":true}""#),
        (8, CreationTime, &[], instant),
        (8, Source, &["value"], r#"s:"7""#),
        (8, Object, &[], "null"),
        (0, Status, &[], "null"),
    ] {
        let shown = shown(&evaluate(&path(property, members), &telling[source]));
        assert_eq!(shown, expected, "{source} {property:?} {members:?}");
    }
}

#[test]
fn payload_as_a_whole_is_what_clients_are_shown() {
    let alarm = alarm(r#","plat_X":1"#);
    let shown = crate::model::links::encode(&*alarm, &crate::model::links::Links::new(""));
    let payload = evaluate(&path(Property::Payload, &[]), &told(hub::Event::AlarmCreated(alarm)));
    assert_eq!(payload.to_json(), String::from_utf8(shown).expect("UTF-8"));
}

#[test]
fn places_columns_variables_keys_and_aggregates_are_found_and_missing_ones_are_null() {
    let one = row(&[("a", Value::Integer(1)), ("e", Value::Event(row(&[("b", text("x"))])))]);
    let found = StreamEvent::Match(Arc::new(Match([Some(one.clone()), None].into())));
    let tagged = |tag| Place { source: 1, tag: Some(tag) };
    let member = |of: Expression, name: &str| Expression::Member(Box::new(of), name.into());
    for (expression, expected) in [
        (Expression::Column(FIRST, 0), "i:1"),
        (Expression::Column(FIRST, 9), "null"),
        (Expression::Column(tagged(0), 0), "i:1"),
        (Expression::Column(tagged(1), 0), "null"),
        (Expression::Column(tagged(7), 0), "null"),
        (Expression::Column(Place { source: 9, tag: None }, 0), "null"),
        (Expression::Column(Place { source: 0, tag: Some(0) }, 0), "null"),
        (Expression::Event(FIRST), r#"e:{"a":1,"e":{"b":"x"}}"#),
        (Expression::Event(tagged(1)), "null"),
        (member(Expression::Column(FIRST, 1), "b"), r#"s:"x""#),
        (member(Expression::Event(FIRST), "a"), "i:1"),
        (Expression::Property(FIRST, Property::Type), "null"),
        (Expression::Variable(0), "i:5"),
        (Expression::Variable(1), "null"),
        (Expression::ContextKey(0), r#"s:"key""#),
        (Expression::Aggregate(0), "d:2.5"),
        (Expression::Aggregate(3), "null"),
        (Expression::LookUp(Finder::InMaintenanceMode, vec![literal(text("7"))]), r#"l:["7"]"#),
        (Expression::Cast(Box::new(Expression::Variable(0)), Scalar::Text), r#"s:"5""#),
        (Expression::Call(Function::CurrentTimestamp, Vec::new()), "i:1704067200500"),
    ] {
        let (value, _) = evaluate_within(100, &expression, &[&one, &found]);
        assert_eq!(shown(&value.expect("no fault")), expected, "{expression:?}");
    }
}

#[test]
fn elements_count_from_zero_and_missing_ones_are_null() {
    let told = told(hub::Event::EventCreated(event(r#","plat_L":[10,{"b":[20]}]"#)));
    let list = || path(Property::Object, &["plat_L"]);
    let at = |of: Expression, at: Value| Expression::Index(Box::new(of), boxed(at));
    for (expression, expected) in [
        (at(list(), Value::Integer(0)), "i:10"),
        (at(list(), Value::Double(1.0)), r#"m:{"b":[20]}"#),
        (at(at(list(), Value::Integer(1)), text("b")), "l:[20]"),
        (at(list(), Value::Integer(2)), "null"),
        (at(list(), Value::Integer(-1)), "null"),
        (at(list(), Value::Null), "null"),
        (at(literal(Value::List([text("x")].into())), Value::Integer(0)), r#"s:"x""#),
        (at(Expression::List(vec![literal(text("x"))]), Value::Integer(0)), r#"s:"x""#),
    ] {
        assert_eq!(shown(&evaluate(&expression, &told)), expected, "{expression:?}");
    }
}

#[test]
fn pairs_become_an_object_in_which_dots_nest() {
    let pairs = |pairs: &[(&str, Value)]| {
        Expression::Fragments(
            pairs.iter().map(|(path, value)| (literal(text(path)), literal(value.clone()))).collect(),
        )
    };
    let int = Value::Integer;
    for (given, expected) in [
        (&[][..], "m:{}"),
        (&[("a.b.c", int(1)), ("a.b.d", int(2)), ("a.e", int(3))], r#"m:{"a":{"b":{"c":1,"d":2},"e":3}}"#),
        (&[("a", int(1)), ("a.b", int(2))], r#"m:{"a":{"b":2}}"#),
        (&[("a.b", int(2)), ("a", int(1))], r#"m:{"a":1}"#),
        (&[("a", map(&[("x", int(1))])), ("a.b", int(2))], r#"m:{"a":{"x":1,"b":2}}"#),
        (&[("a", Value::Null)], r#"m:{"a":null}"#),
    ] {
        assert_eq!(result(&pairs(given)), expected);
    }
    for path in [Value::Null, text(&"a.".repeat(100))] {
        let broken = Expression::Fragments(vec![(literal(path), literal(int(1)))]);
        assert!(evaluate_within(100, &broken, &[]).0.is_err());
    }
}

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
fn what_takes_long_counts_as_many_evaluations() {
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
    let told = told(hub::Event::EventCreated(event(&fragment)));
    assert!(spent(&path(Property::Object, &["plat_X", "a"]), &told) > 900);
    let (value, _) = evaluate_within(100, &path(Property::Object, &["plat_X", "a"]), &[&told]);
    assert!(value.expect_err("nothing left to spend").0.contains("may do at a time"));
}
