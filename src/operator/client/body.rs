//! The bodies of requests that create or change something. They are made from `--data`, the flags for members, and
//! `--set`.

use std::io::{IsTerminal, Read};

use clap::ArgMatches;
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::commands::{DATA, FIELD, SET};
use super::failure::{Code, Failure};
use super::noun::Noun;
use super::reference::{Field, Kind, Operation};
use super::secret;
use super::words::Words;

/// Returns the bodies of a command: one, or one for each object in `--data`. A new object that requires a time and has
/// none gets the current time.
///
/// # Errors
/// `--data` cannot be read or is not JSON, or `--set` names a member of a value that is not an object.
pub(super) fn bodies(
    noun: &Noun,
    operation: &Operation,
    matches: &ArgMatches,
    words: &Words,
) -> Result<Vec<Value>, Failure> {
    let given = match matches.get_one::<String>(DATA) {
        Some(data) => objects(&read(data)?)?,
        None => vec![Map::new()],
    };
    let creates = operation.method == "POST";
    given
        .into_iter()
        .map(|mut body| {
            if creates {
                complete(&mut body, noun, matches, words);
            }
            for field in &operation.members {
                if let Some(value) = value_of(field, matches) {
                    let value = secret::read(field, value)?;
                    let value = if field.name == "source" { serde_json::json!({"id": value}) } else { value };
                    body.insert(words.of(field.name), value);
                }
            }
            for assignment in matches.get_many::<String>(SET).into_iter().flatten() {
                if !creates && assignment.starts_with("id=") {
                    return Err(Failure::usage("the id of an object cannot be changed"));
                }
                assign(&mut body, assignment)?;
            }
            if creates && operation.required.contains(&"time") {
                body.entry("time").or_insert_with(now);
            }
            Ok(Value::Object(body))
        })
        .collect()
}

/// Adds the members that every new object of a noun has, and those of its shortcuts.
fn complete(body: &mut Map<String, Value>, noun: &Noun, matches: &ArgMatches, words: &Words) {
    let shortcuts = noun.shortcuts.iter().filter(|(flag, ..)| matches.get_flag(flag));
    let shortcuts = shortcuts.map(|(.., name, json)| (*name, *json));
    for (name, json) in noun.fixed.iter().copied().chain(shortcuts) {
        let json = || serde_json::from_str(&words.of(json)).unwrap_or_default();
        body.entry(words.of(name)).or_insert_with(json);
    }
}

/// Returns the required member that names the device, if no body has it.
pub(super) fn missing_device(operation: &Operation, bodies: &[Value]) -> Option<&'static str> {
    let member = operation.required.iter().find(|name| ["source", "deviceId"].contains(*name))?;
    bodies.iter().all(|body| body.get(member).is_none()).then_some(*member)
}

/// Returns the body with its device set.
pub(super) fn set_device(body: &Value, member: &str, device: &str) -> Value {
    let mut body = body.clone();
    body[member] = if member == "source" { serde_json::json!({"id": device}) } else { device.into() };
    body
}

/// Returns the value of a flag, converted to the type of its member or parameter.
pub(super) fn value_of(field: &Field, matches: &ArgMatches) -> Option<Value> {
    value_of_flag(field, &format!("{FIELD}{}", field.name), matches)
}

/// Returns the value of the flag with this id, converted to the type of its member or parameter.
pub(super) fn value_of_flag(field: &Field, id: &str, matches: &ArgMatches) -> Option<Value> {
    if !field.allowed.is_empty() {
        return matches.get_one::<String>(id).map(|text| text.as_str().into());
    }
    match field.kind {
        Kind::Text => matches.get_one::<String>(id).map(|text| text.as_str().into()),
        Kind::Number => matches.get_one::<serde_json::Number>(id).cloned().map(Value::Number),
        Kind::Boolean => matches.get_one::<bool>(id).map(|value| (*value).into()),
        Kind::NumberOrText => matches.get_one::<String>(id).map(|text| number_or_text(text)),
        Kind::Texts => matches.get_many::<String>(id).map(|texts| texts.map(|text| text.as_str()).collect()),
    }
}

/// Returns a whole number as a number, and anything else as a text.
pub(super) fn number_or_text(text: &str) -> Value {
    text.parse::<u64>().map_or_else(|_| text.into(), Value::from)
}

/// Returns the text of `--data`: the argument itself, the content of a file (`@FILE`), or standard input (`-`).
///
/// # Errors
/// The file or standard input cannot be read.
pub(super) fn read(data: &str) -> Result<String, Failure> {
    let failed = |name: &str, error: std::io::Error| Failure::new(Code::Failed, format!("{name}: {error}"));
    match data.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).map_err(|error| failed(file, error)),
        None if data == "-" => piped(),
        None => Ok(data.to_owned()),
    }
}

/// Reads standard input to its end.
///
/// # Errors
/// Standard input is a terminal, or cannot be read.
pub(super) fn piped() -> Result<String, Failure> {
    let mut input = std::io::stdin().lock();
    if input.is_terminal() {
        return Err(Failure::usage("nothing is piped to this command"));
    }
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the ids on standard input. Each line has an id, or an object with an id.
///
/// # Errors
/// Standard input is a terminal, or a line is JSON without an id.
pub(super) fn piped_ids(id: &[&str]) -> Result<Vec<String>, Failure> {
    let text = piped()?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let ids: Result<Vec<_>, _> = lines
        .map(|line| match serde_json::from_str::<Value>(line) {
            Ok(object @ Value::Object(_)) => {
                let found = super::output::id_of(&object, id);
                if found.is_empty() {
                    Err(Failure::usage(format!("{line} has no {}", id.join("/"))))
                } else {
                    Ok(found)
                }
            }
            _ => Ok(line.to_owned()),
        })
        .collect();
    match ids?.as_slice() {
        [] => Err(Failure::usage("no id is given, and the pipe is empty")),
        ids => Ok(ids.to_vec()),
    }
}

/// Returns the objects of a text: objects separated by white space, or one array of objects.
fn objects(text: &str) -> Result<Vec<Map<String, Value>>, Failure> {
    let refused = |why: &str| Failure::usage(format!("--data: {why}"));
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value.map_err(|error| refused(&error.to_string()))? {
            Value::Object(object) => found.push(object),
            Value::Array(values) => {
                for value in values {
                    let Value::Object(object) = value else {
                        return Err(refused("the array has something other than objects"));
                    };
                    found.push(object);
                }
            }
            other => return Err(refused(&format!("{other} is not an object"))),
        }
    }
    if found.is_empty() { Err(refused("there is no object")) } else { Ok(found) }
}

/// Sets a member to a value: `name.of.member=value`.
fn assign(body: &mut Map<String, Value>, assignment: &str) -> Result<(), Failure> {
    let refused = |why: String| Failure::usage(format!("--set {assignment}: {why}"));
    let (path, text) =
        assignment.split_once('=').ok_or_else(|| refused("it has the form NAME=VALUE".into()))?;
    let value = serde_json::from_str(text).unwrap_or_else(|_| text.into());
    let (outer, last) = match path.rsplit_once('.') {
        Some((outer, last)) => (outer.split('.').collect(), last),
        None => (Vec::new(), path),
    };
    let mut object = body;
    for name in outer {
        let inner = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
        object = inner.as_object_mut().ok_or_else(|| refused(format!("{name} is not an object")))?;
    }
    object.insert(last.into(), value);
    Ok(())
}

fn now() -> Value {
    written(OffsetDateTime::now_utc()).into()
}

fn written(time: OffsetDateTime) -> String {
    let time = time.replace_millisecond(time.millisecond()).unwrap_or(time);
    time.format(&Rfc3339).unwrap_or_default()
}

/// Returns the time that a text such as `-90min`, `-1h` or `-7d` means; any other text as it is.
pub(super) fn absolute(text: &str) -> String {
    let ago = || {
        let (number, unit) = text.strip_prefix('-')?.split_at(text.find(char::is_alphabetic)? - 1);
        let seconds = match unit {
            "s" => 1,
            "min" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return None,
        };
        let ago = time::Duration::seconds(number.parse::<u32>().ok()?.into()).checked_mul(seconds)?;
        OffsetDateTime::now_utc().checked_sub(ago)
    };
    ago().map_or_else(|| text.to_owned(), written)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn assignments_reach_into_objects_and_keep_the_type_of_json() {
        let mut body = Map::new();
        for assignment in ["a.b.c=21.5", "a.b.unit=C", "flag=true", "serial=007", "list=[1]", "empty="] {
            assign(&mut body, assignment).unwrap();
        }
        let expected = json!({"a": {"b": {"c": 21.5, "unit": "C"}}, "flag": true, "serial": "007", "list": [1],
            "empty": ""});
        assert_eq!(Value::Object(body.clone()), expected);
        assert!(assign(&mut body, "flag.x=1").unwrap_err().to_string().contains("flag is not an object"));
        assert!(assign(&mut body, "x").unwrap_err().to_string().contains("NAME=VALUE"));
    }

    #[test]
    fn relative_time_is_one_before_now() {
        let before = OffsetDateTime::now_utc();
        for (text, seconds) in [("-30s", 30), ("-90min", 5400), ("-1h", 3600), ("-7d", 604_800)] {
            let parsed = OffsetDateTime::parse(&absolute(text), &Rfc3339).unwrap();
            let ago = before - parsed;
            assert!((ago.whole_seconds() - seconds).abs() <= 60, "{text} is {ago} ago");
        }
        for text in ["2024-03-01", "-1w", "1h", "-h", "-", "", "--1h", "-1", "-99999999999d", "-é"] {
            assert_eq!(absolute(text), text);
        }
    }

    #[test]
    fn data_is_one_object_or_several() {
        assert_eq!(objects("{}").unwrap().len(), 1);
        assert_eq!(objects("{\"a\":1}\n{\"a\":2}\n").unwrap().len(), 2);
        assert_eq!(objects("[{},{},{}]").unwrap().len(), 3);
        for refused in ["", "7", "[7]", "{", "{} x"] {
            assert_eq!(objects(refused).unwrap_err().code(), Code::Usage, "{refused}");
        }
    }
}
