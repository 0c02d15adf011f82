//! Operators, and values that are composed of others.

mod limits;
mod reading;

use std::sync::Arc;

use super::*;
use crate::plan::expression::Finder;
use crate::samples::{FIRST, alarm, evaluate, evaluate_within, literal, map, row, shown, text, time};
use crate::value::Id;

fn binary_of(operator: Operator, left: Value, right: Value) -> Expression {
    Expression::Binary(operator, Box::new(literal(left)), Box::new(literal(right)))
}

fn boxed(value: Value) -> Box<Expression> {
    Box::new(literal(value))
}

fn result(expression: &Expression) -> String {
    shown(&evaluate(expression, &row(&[])))
}

/// Returns one value of each type.
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
        Value::Object(crate::value::Object::Alarm(alarm(""))),
        Value::Event(row(&[])),
    ]
}

#[test]
fn every_operator_accepts_every_pair_of_types_and_returns_null_for_incompatible_ones() {
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
fn operators_return_the_expected_values() {
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
fn and_or_and_not_have_three_valued_logic() {
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
fn operand_that_decides_prevents_evaluation_of_the_other() {
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
