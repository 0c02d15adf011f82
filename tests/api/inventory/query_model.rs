//! A simple second implementation of the query language, with which the differential test compares the server.

use std::cmp::Ordering;

use platform_model::timestamp::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Map;

use super::*;

/// Names of fragments and of their members, as hostile as the language permits.
const NAMES: [&str; 12] =
    ["a", "b", "plat_X", "\"q\"", "back\\slash", "größe", "it's", "date", "日本", "x*y", "%_", "-1"];
const TEXTS: [&str; 20] = [
    "",
    "a",
    "A",
    "ab",
    "pump 1",
    "it's",
    "100%",
    "a_b",
    "back\\slash",
    "ümlaut",
    "quote\"",
    "$.a",
    "line\nbreak",
    "[a].*",
    "^x$",
    "𝒳",
    "2015-10-24T09:00:53+01:00",
    "2015-10-24T08:00:53Z",
    "2015-10-24T08:00:53.001-0030",
    "2024-02-30T00:00:00Z",
];
const PATTERNS: [&str; 10] = ["*", "a*", "*a", "*a*", "p*1", "**", "*[a]*", "*\\*", "*%*", "*\n*"];
const NUMBERS: [&str; 11] =
    ["0", "-0", "1", "-1", "1.5", "1e308", "-1e308", "1e-300", "12345678901234567890", "42", "42.0"];
const INSTANTS: [&str; 4] =
    ["2015-10-24T08:00:53Z", "2015-10-24T09:00:53+01:00", "2015-10-24", "2015-10-24T07:00:53.001-01:00"];

/// A condition, which can be printed and evaluated for an object.
#[derive(Debug, Clone)]
pub(super) enum Expr {
    All(Vec<Expr>),
    Any(Vec<Expr>),
    Not(Box<Expr>),
    Compare(Vec<String>, &'static str, Literal),
    Has(Vec<String>),
    InGroup,
}

#[derive(Debug, Clone)]
pub(super) enum Literal {
    Text(&'static str),
    Number(&'static str),
    Boolean(bool),
    Null,
}

/// Random conditions.
pub(super) fn expressions() -> impl Strategy<Value = Expr> {
    let operator = select(vec!["eq", "ne", "gt", "ge", "lt", "le"]);
    let plain =
        (paths(), operator.clone(), literals()).prop_map(|(path, op, value)| Expr::Compare(path, op, value));
    let standard = (select(vec!["id", "type", "name", "owner"]), operator.clone(), literals())
        .prop_map(|(member, op, value)| Expr::Compare(vec![member.into()], op, value));
    let instant = (paths(), operator.clone(), select(INSTANTS.to_vec())).prop_map(|(mut path, op, time)| {
        path.push("date".into());
        Expr::Compare(path, op, Literal::Text(time))
    });
    let time = (select(vec!["creationTime", "lastUpdated.date"]), operator, select(INSTANTS.to_vec()))
        .prop_map(|(member, op, time)| {
            Expr::Compare(member.split('.').map(Into::into).collect(), op, Literal::Text(time))
        });
    let leaf = prop_oneof![
        6 => plain.prop_map(readable),
        3 => standard,
        2 => instant,
        1 => time,
        2 => paths().prop_map(Expr::Has),
        1 => select(vec!["id", "type", "name", "creationTime"]).prop_map(|name| Expr::Has(vec![name.into()])),
        1 => Just(Expr::InGroup),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Expr::All),
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Expr::Any),
            inner.prop_map(|inner| Expr::Not(Box::new(inner))),
        ]
    })
}

/// A value that is compared with a `.date` must be a timestamp.
fn readable(expr: Expr) -> Expr {
    match expr {
        Expr::Compare(path, op, Literal::Text(_)) if path.len() > 1 && path.last().unwrap() == "date" => {
            Expr::Compare(path, op, Literal::Text(INSTANTS[0]))
        }
        other => other,
    }
}

fn literals() -> impl Strategy<Value = Literal> {
    prop_oneof![
        4 => texts().prop_map(Literal::Text),
        2 => select(PATTERNS.to_vec()).prop_map(Literal::Text),
        3 => select(NUMBERS.to_vec()).prop_map(Literal::Number),
        1 => any::<bool>().prop_map(Literal::Boolean),
        1 => Just(Literal::Null),
    ]
}

/// Returns a few names, so that queries often match objects.
fn first_names() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => select(NAMES[..2].to_vec()), 1 => select(NAMES.to_vec())]
}

fn inner_names() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => select(NAMES[..2].to_vec()), 2 => select(NAMES.to_vec()), 1 => Just("$d")]
}

fn texts() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => select(TEXTS[1..4].to_vec()), 2 => select(TEXTS.to_vec())]
}

/// Random paths into fragments; inside a fragment names may start with a dollar sign.
pub(super) fn paths() -> impl Strategy<Value = Vec<String>> {
    (first_names(), proptest::collection::vec(inner_names(), 0..3))
        .prop_map(|(first, rest)| std::iter::once(first).chain(rest).map(Into::into).collect())
}

/// Random bodies of managed objects.
pub(super) fn bodies() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => texts().prop_map(|text| json!(text)),
        3 => select(NUMBERS.to_vec()).prop_map(|number| serde_json::from_str(number).unwrap()),
        1 => any::<bool>().prop_map(|boolean| json!(boolean)),
        1 => Just(Value::Null),
    ];
    let value = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            object(proptest::collection::vec((inner_names(), inner), 0..3)),
        ]
    });
    let standard = proptest::option::of(texts().boxed());
    let fragments = proptest::collection::vec((first_names(), value), 1..5);
    (standard.clone(), standard, object(fragments)).prop_map(|(name, type_, mut body)| {
        for (member, text) in [("name", name), ("type", type_)] {
            if let Some(text) = text {
                body[member] = json!(text);
            }
        }
        body
    })
}

fn object(members: impl Strategy<Value = Vec<(&'static str, Value)>>) -> impl Strategy<Value = Value> {
    members.prop_map(|members| {
        Value::Object(
            members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>(),
        )
    })
}

impl Expr {
    /// The text of the condition.
    pub(super) fn text(&self, group: &str) -> String {
        let parts = |parts: &[Expr], word: &str| {
            let parts: Vec<String> = parts.iter().map(|part| part.text(group)).collect();
            format!("({})", parts.join(word))
        };
        match self {
            Self::All(all) => parts(all, " and "),
            Self::Any(any) => parts(any, " or "),
            Self::Not(inner) => format!("not {}", inner.text(group)),
            Self::Has(path) => format!("has({})", path.join(".")),
            Self::InGroup => format!("bygroupid({group})"),
            Self::Compare(path, operator, literal) => {
                let value = match literal {
                    Literal::Text(text) => format!("'{}'", text.replace('\'', "''")),
                    Literal::Number(number) => (*number).to_owned(),
                    Literal::Boolean(boolean) => boolean.to_string(),
                    Literal::Null => "null".into(),
                };
                format!("{} {operator} {value}", path.join("."))
            }
        }
    }

    /// Whether an object fulfils the condition. `members` are the objects of the group.
    pub(super) fn holds(&self, object: &Value, members: &[String]) -> bool {
        match self {
            Self::All(all) => all.iter().all(|part| part.holds(object, members)),
            Self::Any(any) => any.iter().any(|part| part.holds(object, members)),
            Self::Not(inner) => !inner.holds(object, members),
            Self::Has(path) => !at(object, path).is_empty(),
            Self::InGroup => members.iter().any(|member| object["id"] == **member),
            Self::Compare(path, "ne", literal) => !compares(object, path, "eq", literal),
            Self::Compare(path, operator, literal) => compares(object, path, operator, literal),
        }
    }
}

fn compares(object: &Value, path: &[String], operator: &str, literal: &Literal) -> bool {
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    match (names.as_slice(), literal) {
        (["id"], Literal::Text(text)) if text.contains('*') && operator == "eq" => {
            matches(text, object["id"].as_str().unwrap())
        }
        (["id"], Literal::Text(digits) | Literal::Number(digits)) => {
            let id: i64 = object["id"].as_str().unwrap().parse().unwrap();
            digits.parse::<i64>().is_ok_and(|than| fits(operator, id.cmp(&than)))
        }
        (["creationTime", ..] | ["lastUpdated", ..], Literal::Text(time)) => {
            later(&object[names[0]], operator, time)
        }
        (["type" | "name" | "owner"], _) => match object.get(names[0]) {
            Some(value) => value_compares(value, operator, literal),
            None => operator == "eq" && matches!(literal, Literal::Null),
        },
        ([_, .., "date"], _) => {
            let values = values(object, &path[..path.len() - 1]);
            let is_instant =
                |value: &&Value| value.as_str().is_some_and(|text| Timestamp::parse("", text).is_ok());
            match literal {
                Literal::Null => operator == "eq" && !values.iter().any(is_instant),
                Literal::Text(time) => values.iter().any(|value| later(value, operator, time)),
                _ => false,
            }
        }
        (_, Literal::Null) if operator == "eq" => {
            at(object, path).is_empty() || values(object, path).iter().any(|value| value.is_null())
        }
        _ => values(object, path).iter().any(|value| value_compares(value, operator, literal)),
    }
}

fn value_compares(value: &Value, operator: &str, literal: &Literal) -> bool {
    match (value, literal) {
        (Value::String(value), Literal::Text(text)) if operator == "eq" => matches(text, value),
        (Value::String(value), Literal::Text(text)) => fits(operator, value.as_str().cmp(text)),
        (Value::Number(value), Literal::Number(number)) => {
            let (value, number) = (value.as_f64().unwrap(), number.parse::<f64>().unwrap());
            fits(operator, value.partial_cmp(&number).unwrap())
        }
        (Value::Bool(value), Literal::Boolean(boolean)) => operator == "eq" && value == boolean,
        _ => false,
    }
}

fn later(value: &Value, operator: &str, time: &str) -> bool {
    let than = Timestamp::parse_bound("", time).unwrap().instant();
    let value = value.as_str().and_then(|text| Timestamp::parse("", text).ok());
    value.is_some_and(|value| fits(operator, value.instant().cmp(&than)))
}

fn fits(operator: &str, ordering: Ordering) -> bool {
    match operator {
        "eq" => ordering.is_eq(),
        "gt" => ordering.is_gt(),
        "ge" => ordering.is_ge(),
        "lt" => ordering.is_lt(),
        _ => ordering.is_le(),
    }
}

/// Returns whether a text matches a pattern. It tries every position for each wildcard.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| matches(rest, &text[at..]))
        }),
    }
}

/// Returns the values at a path, including those inside arrays on the way.
pub(super) fn at<'a>(object: &'a Value, path: &[String]) -> Vec<&'a Value> {
    let mut found = vec![object];
    for name in path {
        let inside = found.into_iter().flat_map(|value| match value {
            Value::Array(items) => items.iter().collect(),
            other => vec![other],
        });
        found = inside.filter_map(|value| value.as_object()?.get(name)).collect();
    }
    found
}

/// Returns the values to compare: those at a path, and the elements of arrays, two levels deep.
fn values<'a>(object: &'a Value, path: &[String]) -> Vec<&'a Value> {
    let elements = |value: &'a Value| match value {
        Value::Array(items) => items.iter().collect(),
        other => vec![other],
    };
    at(object, path).into_iter().flat_map(elements).flat_map(elements).collect()
}
