//! Tests of registrations and stored sets: no input panics, and both parsers accept the same templates (S-14,
//! S-15).

use std::borrow::Cow;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::{SEARCH, pieces};
use crate::csv::line::{Lines, Records};
use crate::csv::registration::draft::{Section, sections};
use crate::csv::request_template::RequestDefinition;
use crate::csv::template_set::TemplateSet;

const PIECES: &[&str] = &[
    "10,",
    "11,",
    "15,",
    "15,a\n",
    "100,",
    "101,",
    "20,",
    "GET,",
    "POST,",
    "PUT,",
    "/x",
    "/a/%%,",
    ",",
    ",,,",
    "\n",
    "%%,",
    "STRING",
    "NOW ",
    "text/plain,",
    "application/json,",
    "$.id",
    "$..a,",
    "\"",
    "\"\"",
    "é",
    "\0",
    "body %%",
    "10,102,GET,/x\n",
    "11,103,,,id\n",
];

/// Checks that a set without flaws is stored, and read back completely.
fn read_back(body: &[u8], header: Option<&str>) -> TestCaseResult {
    let mut templates = 0;
    for section in sections(header, &Records::parse(body)) {
        if let Section::Alone(draft) | Section::Grouped(draft) = section
            && draft.flaws.is_empty()
        {
            let fragment = draft.into_fragment();
            let stored = |list: &str| fragment[list].as_array().cloned().unwrap_or_default();
            let set = TemplateSet::compile(&fragment);
            for template in stored("requestTemplates") {
                let id = template["msgId"].as_str().and_then(|id| id.parse().ok());
                prop_assert!(id.and_then(|id| set.request(id)).is_some(), "{}", template);
                templates += 1;
            }
            prop_assert_eq!(set.has_responses(), !stored("responseTemplates").is_empty());
        }
    }
    prop_assert!(templates <= body.len());
    Ok(())
}

#[test]
fn registrations_of_text_are_refused_or_read_back() {
    let header = proptest::sample::select(vec![None, Some("a"), Some("")]);
    SEARCH.check(&(pieces(PIECES, 24), header), |(body, header)| read_back(body.as_bytes(), header));
}

#[test]
fn registrations_of_bytes_are_refused_or_read_back() {
    let bytes = proptest::collection::vec(any::<u8>(), 0..80);
    let cases =
        bytes.prop_map(|bytes| [b"10,100,GET,/x,", bytes.as_slice(), b"\n15,b\n11,200,", &bytes].concat());
    SEARCH.check(&(cases, any::<bool>()), |(body, header)| read_back(&body, header.then_some("a")));
}

#[test]
fn template_out_of_a_line_is_the_one_out_of_the_store() {
    let field = || {
        pieces(&["%%", "/x", "/", "?", "text/plain", "é", "\"", "\n", "a"], 3)
            .prop_map(Cow::<'static, str>::from)
    };
    let method = proptest::sample::select(vec!["GET", "POST", "PUT", "DELETE", "get"]).prop_map(Cow::from);
    let uri = prop_oneof![field(), pieces(&["%%", "/x", "a"], 4).prop_map(|uri| format!("/{uri}").into())];
    let kinds = pieces(&["STRING ", "NOW ", "DATE ", "x ", " "], 4).prop_map(Cow::from);
    let placeholder = proptest::sample::select(vec!["", "%%", "%%", "a"]).prop_map(Cow::from);
    let fields = (method, uri, field(), field(), placeholder, kinds, field(), 0..8_usize);
    SEARCH.check(&fields, |(method, uri, content, accept, placeholder, kinds, body, count)| {
        let mut fields = vec![method, uri, content, accept, placeholder, kinds, body];
        fields.truncate(count.max(2));
        let registered =
            RequestDefinition::of_values(&fields).map_err(|_| TestCaseError::fail("seven at most"))?;
        let stored = registered.to_json(100);
        let read = RequestDefinition::of_json(&stored).ok_or_else(|| TestCaseError::fail("no template"))?;
        prop_assert_eq!(format!("{:?}", registered.compile()), format!("{:?}", read.compile()));
        prop_assert_eq!(read.to_json(100), stored);
        Ok(())
    });
}

fn leaf() -> impl Strategy<Value = Value> {
    let words = [
        "",
        "100",
        "11",
        "x",
        "GET",
        "POST",
        "/x",
        "/x/%%?%%",
        "%%",
        "STRING",
        "NOW",
        "text/plain",
        "a\nb",
        "$",
        "$.a",
        "$.a[0]",
        "$..a",
        "[1].b",
        "?",
        "{\"a\":%%}",
    ];
    prop_oneof![
        4 => proptest::sample::select(words.to_vec()).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => Just(Value::Null),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec(("[ab]|values|pattern|base|msgId", inner), 0..5)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Members with their most frequent values.
type Members = &'static [(&'static str, &'static [&'static str])];

const REQUEST: Members = &[
    ("method", &["GET", "GET", "PUT"]),
    ("resourceUri", &["/x", "/x/%%?%%", "/%%"]),
    ("contentType", &["", "", "text/plain"]),
    ("accept", &["", "text/plain"]),
    ("placeholder", &["%%", ""]),
    ("templateString", &["", "", "{\"a\":%%}"]),
];
const RESPONSE: Members = &[("base", &["", "$", "$.a", "b[0]"]), ("condition", &["", "", "a", "$.b[1].a"])];

/// Generates a template as a client may store it through the inventory.
fn template(members: Members) -> impl Strategy<Value = Value> {
    let id = prop_oneof![
        4 => (0..120_u32).prop_map(|id| id.to_string().into()),
        4 => (0..120_u32).prop_map(Value::from),
        1 => json()
    ];
    let member = |words: &'static [&'static str]| {
        let word = proptest::sample::select(words).prop_map(Value::from);
        prop_oneof![12 => word, 1 => leaf(), 1 => json()]
    };
    let values: Vec<_> = members.iter().map(|(_, words)| member(words)).collect();
    let path = proptest::sample::select(vec!["a", "$", "$.b[0]", "b"]).prop_map(Value::from);
    let path = prop_oneof![6 => path, 1 => leaf()];
    let list = proptest::collection::vec(path, 0..3);
    (id, values, list).prop_map(move |(id, values, list)| {
        let mut template: Value = members.iter().map(|(name, _)| *name).zip(values).collect();
        template["msgId"] = id;
        template["pattern"] = list.into();
        template
    })
}

fn fragment() -> impl Strategy<Value = Value> {
    let (requests, responses) = (template(REQUEST), template(RESPONSE));
    let lists = (proptest::collection::vec(requests, 0..4), proptest::collection::vec(responses, 0..4))
        .prop_map(
            |(requests, responses)| json!({"requestTemplates": requests, "responseTemplates": responses}),
        );
    let twice = json().prop_map(|list| json!({"requestTemplates": list, "responseTemplates": list}));
    prop_oneof![4 => lists, 1 => json(), 1 => twice]
}

#[test]
fn any_stored_set_evaluates_any_response() {
    let arguments = proptest::collection::vec(pieces(&["%%", "a", "1", "..", "/", "\"", "\n"], 3), 0..3);
    SEARCH.check(&(fragment(), json(), arguments), |(fragment, answer, arguments)| {
        let set = TemplateSet::compile(&fragment);
        let arguments: Vec<_> = arguments.iter().map(|text| text.as_str().into()).collect();
        for id in 0..130 {
            if let Some(template) = set.request(id) {
                prop_assert!(
                    !matches!(id, 10 | 11 | 15 | 20 | 40..=43 | 45 | 50 | 61 | 70 | 80..=84 | 86..=88)
                );
                let _ = (template.only_creates(), template.call(&arguments));
            }
        }
        let mut lines = Lines::default();
        set.evaluate(&answer, 1, &mut lines);
        prop_assert!(set.has_responses() || lines.is_empty());
        Ok(())
    });
}

/// Returns the lines of S-60, computed naively by JSON pointers.
fn model(templates: &[(u32, &str, &str, Vec<&str>)], answer: &Value) -> String {
    let at = |value: &Value, pointer: &str| value.pointer(pointer).filter(|value| !value.is_null()).cloned();
    let mut text = String::new();
    for (id, base, condition, values) in templates {
        let bases = match at(answer, base) {
            Some(Value::Array(elements)) => elements,
            base => base.into_iter().collect(),
        };
        for base in bases {
            let values: Vec<_> = values.iter().map(|value| at(&base, value)).collect();
            if (condition.is_empty() || at(&base, condition).is_some()) && values.iter().all(Option::is_some)
            {
                text += &format!("{id},7");
                for value in values.into_iter().flatten() {
                    text += &match value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned) {
                        value if value.contains(['"', ',']) => format!(",\"{}\"", value.replace('"', "\"\"")),
                        value => format!(",{value}"),
                    };
                }
                text.push('\n');
            }
        }
    }
    text
}

#[test]
fn lines_of_responses_are_those_of_pointers() {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<u64>().prop_map(Value::from),
        Just("s".into()),
        Just(true.into())
    ];
    let answers = leaf.prop_recursive(3, 40, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4).prop_map(Value::from),
            proptest::collection::vec(("[abc]", inner), 2..5).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name, json!({ "q": 1, "v": value })))
                .collect()),
        ]
    });
    let pointer = proptest::sample::select(vec!["", "/a", "/a/v", "/b/v", "/c/v", "/a/v/b", "/0", "/b/v/1"]);
    let templates = proptest::collection::vec(
        (pointer.clone(), pointer.clone(), proptest::collection::vec(pointer, 1..3)),
        1..4,
    );
    SEARCH.check(&(answers, templates), |(answer, templates)| {
        let path = |pointer: &str| {
            let steps = pointer.split('/').skip(1);
            steps.fold("$".to_owned(), |path, step| match step.parse::<usize>() {
                Ok(at) => format!("{path}[{at}]"),
                Err(_) => format!("{path}.{step}"),
            })
        };
        let stored: Vec<Value> = templates
            .iter()
            .enumerate()
            .map(|(at, (base, condition, values))| {
                let condition = if condition.is_empty() { String::new() } else { path(condition) };
                let values: Vec<_> = values.iter().map(|value| path(value)).collect();
                json!({"msgId": 200 + at, "base": path(base), "condition": condition, "pattern": values})
            })
            .collect();
        let mut lines = Lines::default();
        TemplateSet::compile(&json!({"responseTemplates": stored})).evaluate(&answer, 7, &mut lines);
        let expected: Vec<_> =
            templates.into_iter().zip(200..).map(|((b, c, v), id)| (id, b, c, v)).collect();
        prop_assert_eq!(lines.into_text(), model(&expected, &answer));
        Ok(())
    });
}
