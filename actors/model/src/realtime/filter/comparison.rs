//! The comparison of a condition with a notification. It agrees with the SQL of the inventory (I-08).

use std::cmp::Ordering;

use super::content::{Content, Value as Found};
use super::decimal;
use crate::devices::inventory_query::{Condition, Operator, Path, Value};
use crate::timestamp::Timestamp;

/// The levels of arrays at the end of a path whose elements are compared.
const LEVELS: usize = 2;
/// The bytes of a text that a pattern passes as fast as any other value is looked at.
const BYTES_AT_ONCE: usize = 64;

pub(super) fn holds(condition: &Condition, content: &Content<'_>) -> bool {
    match condition {
        Condition::All(parts) => parts.iter().all(|part| holds(part, content)),
        Condition::Any(parts) => parts.iter().any(|part| holds(part, content)),
        Condition::Not(inner) => !holds(inner, content),
        Condition::Compare(path, Operator::NotEqual, value) => {
            !compares(path, Operator::Equal, value, content)
        }
        Condition::Compare(path, operator, value) => compares(path, *operator, value, content),
        Condition::Has(path) => content.any_at(path.segments(), &|_| true),
        // The parser of filters rejects it, and so does a membership.
        Condition::InGroup(_) => false,
    }
}

fn compares(path: &Path, operator: Operator, value: &Value, content: &Content<'_>) -> bool {
    match path {
        Path::Id => {
            compares_at(&["id"], operator, value, content, &|found| is_id(found, operator, value, content))
        }
        Path::Fragment(path) => {
            let is_found = |found: &Found<'_>| is(found, operator, value, content);
            compares_at(path.segments(), operator, value, content, &is_found)
        }
        Path::Instant(path) => is_at(path.segments(), operator, value, content),
        // The parser of filters takes these for members like any other.
        Path::Text(member) => compares_at(&[member.name()], operator, value, content, &|found| {
            is(found, operator, value, content)
        }),
        Path::Time(member) => is_at(&[member.name()], operator, value, content),
    }
}

/// Compares the timestamps at a path.
fn is_at<S: AsRef<str>>(path: &[S], operator: Operator, value: &Value, content: &Content<'_>) -> bool {
    match value {
        Value::Instant(value) => any(path, content, &|found| {
            let order = |found: Timestamp| found.instant().cmp(&value.instant());
            instant(found).is_some_and(|found| is_in_order(order(found), operator))
        }),
        Value::Null if operator == Operator::Equal => !any(path, content, &|found| instant(found).is_some()),
        _ => false,
    }
}

/// Compares the values at a path; `eq null` holds without one, too.
fn compares_at<S: AsRef<str>>(
    path: &[S],
    operator: Operator,
    value: &Value,
    content: &Content<'_>,
    is_found: &dyn Fn(&Found<'_>) -> bool,
) -> bool {
    let is_null = operator == Operator::Equal && *value == Value::Null;
    is_null && !content.any_at(path, &|_| true) || any(path, content, is_found)
}

fn any<S: AsRef<str>>(path: &[S], content: &Content<'_>, is_found: &dyn Fn(&Found<'_>) -> bool) -> bool {
    content.any_at(path, &|node| content.any_element(node, LEVELS, is_found))
}

fn is(found: &Found<'_>, operator: Operator, value: &Value, content: &Content<'_>) -> bool {
    match (found, value) {
        (Found::Text(found), Value::Text(value)) => is_in_order(found.as_str().cmp(value), operator),
        (Found::Text(found), Value::Pattern(pieces)) => {
            operator == Operator::Equal
                && (!content.look_at(found.len() / BYTES_AT_ONCE) || is_like(found, pieces))
        }
        (Found::Number(found), Value::Number(value)) => is_in_order(decimal::compare(found, value), operator),
        (Found::Boolean(found), Value::Boolean(value)) => operator == Operator::Equal && found == value,
        (Found::Null, Value::Null) => operator == Operator::Equal,
        _ => false,
    }
}

/// Compares an id: that of an object as a number.
fn is_id(found: &Found<'_>, operator: Operator, value: &Value, content: &Content<'_>) -> bool {
    let id: Option<i64> = match found {
        Found::Text(digits) => digits.parse().ok(),
        Found::Number(digits) => digits.parse().ok(),
        _ => None,
    };
    match (id, value) {
        (Some(id), Value::Text(digits) | Value::Number(digits)) => {
            digits.parse::<i64>().is_ok_and(|value| is_in_order(id.cmp(&value), operator))
        }
        _ => is(found, operator, value, content),
    }
}

fn instant(found: &Found<'_>) -> Option<Timestamp> {
    match found {
        Found::Text(text) => Timestamp::parse("time", text).ok(),
        _ => None,
    }
}

fn is_in_order(order: Ordering, operator: Operator) -> bool {
    match operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterOrEqual => order.is_ge(),
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
    }
}

/// Returns whether a text consists of these pieces with anything between them. The first place of a piece is the best
/// one, so the text is read once.
fn is_like(text: &str, pieces: &[String]) -> bool {
    let Some((first, [middle @ .., last])) = pieces.split_first() else { return false };
    let rest = text.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()));
    let after = |rest: &'_ str, piece: &String| rest.find(piece.as_str()).map(|at| at + piece.len());
    let Some(mut rest) = rest else { return false };
    for piece in middle {
        match after(rest, piece) {
            Some(end) => rest = &rest[end..],
            None => return false,
        }
    }
    true
}
