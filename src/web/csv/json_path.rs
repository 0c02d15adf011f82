//! JSON paths of response templates (S-30): members and elements, and nothing that could refer to several
//! values.

use std::borrow::Cow;

use serde_json::Value;

/// A parsed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPath {
    steps: Vec<PathStep>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    /// `.name` or `['name']`.
    Member(String),
    /// `[n]`.
    Element(usize),
}

/// The reason why a text is not a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathFlaw {
    /// The text cannot be parsed.
    Invalid,
    /// The path refers to a list: `*`, `..`, slices and unions.
    List,
    /// The path has a filter.
    Filter,
}

/// Returns the path with the optional prefix `$.`, as it is stored (S-30).
pub(crate) fn rooted(text: &str) -> Cow<'_, str> {
    match text.chars().next() {
        Some('$') => text.into(),
        Some('.' | '[') => format!("${text}").into(),
        _ => format!("$.{text}").into(),
    }
}

impl JsonPath {
    /// Parses a path.
    ///
    /// # Errors
    /// The first flaw.
    pub(crate) fn parse(text: &str) -> Result<Self, PathFlaw> {
        if text.is_empty() {
            return Err(PathFlaw::Invalid);
        }
        let text = rooted(text);
        let mut rest = text.strip_prefix('$').ok_or(PathFlaw::Invalid)?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, behind) = match (rest.strip_prefix('.'), rest.strip_prefix('[')) {
                (Some(name), _) => member(name)?,
                (_, Some(bracket)) => in_brackets(bracket)?,
                _ if rest.contains('?') => return Err(PathFlaw::Filter),
                _ => return Err(PathFlaw::Invalid),
            };
            steps.push(step);
            rest = behind;
        }
        Ok(Self { steps })
    }

    /// Returns the value at the path, unless it is `null` (S-31, S-32).
    pub(crate) fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        let found = self.steps.iter().try_fold(value, |value, step| match step {
            PathStep::Member(name) => value.as_object()?.get(name),
            PathStep::Element(at) => value.as_array()?.get(*at),
        });
        found.filter(|value| !value.is_null())
    }

    /// Returns the maximum number of steps an evaluation takes.
    pub(crate) fn length(&self) -> usize {
        self.steps.len() + 1
    }
}

/// Parses a name after a dot, up to the next dot or bracket.
fn member(text: &str) -> Result<(PathStep, &str), PathFlaw> {
    let (name, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    match name {
        "*" => Err(PathFlaw::List),
        _ if name.contains('?') => Err(PathFlaw::Filter),
        "" if rest.starts_with('.') => Err(PathFlaw::List),
        "" => Err(PathFlaw::Invalid),
        _ if name.contains(']') => Err(PathFlaw::Invalid),
        _ => Ok((PathStep::Member(name.to_owned()), rest)),
    }
}

/// Parses the content of brackets. A quoted name may contain anything but a quote.
fn in_brackets(text: &str) -> Result<(PathStep, &str), PathFlaw> {
    if let Some(quoted) = text.strip_prefix('\'') {
        let (name, rest) = quoted.split_once('\'').ok_or(PathFlaw::Invalid)?;
        return match rest.trim_start().chars().next() {
            Some(']') if rest.starts_with(']') => Ok((PathStep::Member(name.to_owned()), &rest[1..])),
            Some(',') => Err(PathFlaw::List),
            _ => Err(PathFlaw::Invalid),
        };
    }
    let (content, rest) = text.split_once(']').unwrap_or((text, "]"));
    let digits = !content.is_empty() && content.bytes().all(|byte| byte.is_ascii_digit());
    match content {
        _ if content.contains('?') => Err(PathFlaw::Filter),
        _ if content.trim() == "*" || content.contains([':', ',']) => Err(PathFlaw::List),
        _ if !digits || !text.contains(']') => Err(PathFlaw::Invalid),
        _ => Ok((PathStep::Element(content.parse().map_err(|_| PathFlaw::Invalid)?), rest)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_members_and_elements() {
        let object = json!({
            "id": "7", "plat_Is-Device": {"a b": 1}, "1x": true, "list": [10, {"x": "y"}], "o": {"": 2, "a.b": 3,
            "?": 4},
            "none": null, "$": 5, "a*b": 6,
        });
        for (path, found) in [
            ("$", Some(object.clone())),
            ("$.id", Some(json!("7"))),
            ("id", Some(json!("7"))),
            (".id", Some(json!("7"))),
            ("['id']", Some(json!("7"))),
            ("$.plat_Is-Device.a b", Some(json!(1))),
            ("$.plat_Is-Device['a b']", Some(json!(1))),
            ("$.1x", Some(json!(true))),
            ("1x", Some(json!(true))),
            ("$.list[0]", Some(json!(10))),
            ("list[1].x", Some(json!("y"))),
            ("$['list'][1]['x']", Some(json!("y"))),
            ("$.o['']", Some(json!(2))),
            ("$.o['a.b']", Some(json!(3))),
            ("$.o['?']", Some(json!(4))),
            ("$.$", Some(json!(5))),
            ("$.a*b", Some(json!(6))),
            ("$.none", None),
            ("$.absent", None),
            ("$.list[2]", None),
            ("$.list.0", None),
            ("$.o[0]", None),
            ("$.id.x", None),
            ("$[0]", None),
        ] {
            let parsed = JsonPath::parse(path).unwrap_or_else(|flaw| panic!("{path}: {flaw:?}"));
            assert_eq!(parsed.find(&object), found.as_ref(), "{path}");
        }
        assert_eq!(JsonPath::parse("[1]").map(|path| path.find(&json!([1, 2])).cloned()), Ok(Some(json!(2))));
    }

    #[test]
    fn each_flaw_of_a_path_is_detected() {
        for (path, flaw) in [
            ("", PathFlaw::Invalid),
            ("$.", PathFlaw::Invalid),
            ("$x", PathFlaw::Invalid),
            ("$.a.", PathFlaw::Invalid),
            ("$.a[", PathFlaw::Invalid),
            ("$.a[]", PathFlaw::Invalid),
            ("$.a[1", PathFlaw::Invalid),
            ("$.a]", PathFlaw::Invalid),
            ("$.a[x]", PathFlaw::Invalid),
            ("$.a[-1]", PathFlaw::Invalid),
            ("$.a[99999999999999999999999]", PathFlaw::Invalid),
            ("$.a['b]", PathFlaw::Invalid),
            ("$.a['b'", PathFlaw::Invalid),
            ("$.a['b'c]", PathFlaw::Invalid),
            ("$.a[0]b", PathFlaw::Invalid),
            ("$..a", PathFlaw::List),
            ("..a", PathFlaw::List),
            ("$.a..b", PathFlaw::List),
            ("$.*", PathFlaw::List),
            ("*", PathFlaw::List),
            ("$.a[*]", PathFlaw::List),
            ("$.a[0:2]", PathFlaw::List),
            ("$.a[:2]", PathFlaw::List),
            ("$.a[0,1]", PathFlaw::List),
            ("$.a['b','c']", PathFlaw::List),
            ("$.a[?(@.b)]", PathFlaw::Filter),
            ("$.a[?(@.b[0] == 'c')]", PathFlaw::Filter),
            ("$.a?(@.b)", PathFlaw::Filter),
            ("$.a[?", PathFlaw::Filter),
            ("?", PathFlaw::Filter),
        ] {
            assert_eq!(JsonPath::parse(path), Err(flaw), "{path:?}");
        }
    }

    #[test]
    fn path_is_stored_with_its_root() {
        for (text, stored) in
            [("id", "$.id"), ("$", "$"), ("$.a", "$.a"), (".a", "$.a"), ("[0]", "$[0]"), ("$['a']", "$['a']")]
        {
            assert_eq!(rooted(text), stored);
        }
    }
}
