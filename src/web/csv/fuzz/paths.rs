//! Tests of JSON paths against JSON pointers, and of their grammar against a parser that reads a character at
//! a time (S-30).

use proptest::prelude::*;
use serde_json::Value;

use super::{SEARCH, pieces};
use crate::csv::json_path::{JsonPath, PathFlaw};

/// Generates a step, as a path and as a JSON pointer.
fn step() -> impl Strategy<Value = (String, String)> {
    // The name is never only digits: a pointer would read them as an index.
    let name = "[a-c~/_-]{1,2}|1x|plat_A-b| ";
    let pointed = |name: &str| format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    prop_oneof![
        name.prop_map(move |name| (format!(".{name}"), pointed(&name))),
        name.prop_map(move |name| (format!("['{name}']"), pointed(&name))),
        (0..3_usize).prop_map(|at| (format!("[{at}]"), format!("/{at}"))),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), Just(Value::from("x"))];
    leaf.prop_recursive(4, 60, 6, |inner| {
        let names = "[a-c~/_-]{1,2}|1x|plat_A-b| ";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((names, inner), 0..8).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

#[test]
fn paths_lead_where_pointers_lead() {
    let cases = (json(), proptest::collection::vec(step(), 0..4), 0..3_usize);
    SEARCH.check(&cases, |(value, steps, form)| {
        let (texts, pointers): (String, String) = steps.into_iter().unzip();
        let text = match form {
            0 => texts.strip_prefix('.').unwrap_or(&texts).to_owned(),
            1 => texts,
            _ => format!("${texts}"),
        };
        let text = if text.is_empty() { "$".to_owned() } else { text };
        let path = JsonPath::parse(&text).map_err(|flaw| TestCaseError::fail(format!("{text}: {flaw:?}")))?;
        let found = value.pointer(&pointers).filter(|value| !value.is_null());
        prop_assert_eq!(path.find(&value), found, "{}", text);
        Ok(())
    });
}

/// Returns the JSON pointer of a path, or its flaw; reads a character at a time.
fn model(text: &str) -> Result<String, PathFlaw> {
    let prefixed = match text.chars().next() {
        None => return Err(PathFlaw::Invalid),
        Some('$') => text.to_owned(),
        Some('.' | '[') => format!("${text}"),
        Some(_) => format!("$.{text}"),
    };
    let characters: Vec<char> = prefixed.chars().skip(1).collect();
    let (mut at, mut pointer) = (0, String::new());
    while at < characters.len() {
        let stop = |from: usize, ends: &[char]| {
            (from..characters.len()).find(|i| ends.contains(&characters[*i])).unwrap_or(characters.len())
        };
        let end;
        let name: String;
        match (characters[at], characters.get(at + 1)) {
            ('.', _) => {
                end = stop(at + 1, &['.', '[']);
                name = characters[at + 1..end].iter().collect();
                let next = characters.get(end);
                match name.as_str() {
                    "*" => return Err(PathFlaw::List),
                    "" if next == Some(&'.') => return Err(PathFlaw::List),
                    "" => return Err(PathFlaw::Invalid),
                    text if text.contains('?') => return Err(PathFlaw::Filter),
                    text if text.contains(']') => return Err(PathFlaw::Invalid),
                    _ => {}
                }
            }
            ('[', Some('\'')) => {
                let quote = stop(at + 2, &['\'']);
                let behind: Vec<char> = characters.iter().skip(quote + 1).copied().collect();
                let list = behind.iter().find(|c| !c.is_whitespace()) == Some(&',');
                if quote < characters.len() && list {
                    return Err(PathFlaw::List);
                }
                if behind.first() != Some(&']') {
                    return Err(PathFlaw::Invalid);
                }
                name = characters[at + 2..quote].iter().collect();
                end = quote + 2;
            }
            ('[', _) => {
                let close = stop(at + 1, &[']']);
                name = characters[at + 1..close].iter().collect();
                match name.trim() {
                    text if text.contains('?') => return Err(PathFlaw::Filter),
                    text if text == "*" || text.contains(',') || text.contains(':') => {
                        return Err(PathFlaw::List);
                    }
                    _ => {}
                }
                let digits = name.chars().all(|c| c.is_ascii_digit()) && !name.is_empty();
                if !digits || close == characters.len() {
                    return Err(PathFlaw::Invalid);
                }
                end = close + 1;
            }
            _ if characters[at..].contains(&'?') => return Err(PathFlaw::Filter),
            _ => return Err(PathFlaw::Invalid),
        }
        pointer += &format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        at = end;
    }
    Ok(pointer)
}

#[test]
fn texts_are_paths_or_have_the_flaws_of_the_grammar() {
    const PIECES: &[&str] = &[
        "$", ".", "..", "[", "]", "'", "['a']", "[0]", "*", "?", "?(", ":", ",", "a", "b", "1", "0", " ",
        "é", "-",
    ];
    SEARCH.check(&pieces(PIECES, 9), |text| {
        prop_assert_eq!(JsonPath::parse(&text).err(), model(&text).err(), "{}", text);
        Ok(())
    });
}
