//! `getObject`, `getString`, `getNumber`, `getBoolean`, `getDate`, `getList`: the value at a path of an event's
//! content, if it has the requested type.

use super::cast;
use super::path::{Step, steps};
use crate::plan::expression::Expression;
use crate::runtime::{Fault, Scope, World};
use crate::value::{ObjectSeen, Plain, Seen, Value};

/// The requested type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Any value.
    Object,
    /// Texts, and numbers and booleans as text.
    Text,
    Number,
    Boolean,
    /// Times, and texts that denote one.
    Date,
    List,
}

/// Implements `get…(of, path[, default])`: returns the default, or null, when there is no value of the type at the
/// path.
///
/// # Errors
/// See [`Expression::evaluate`].
pub(super) fn get<'a>(
    wanted: Wanted,
    arguments: &'a [Expression],
    scope: &Scope<'a>,
) -> Result<Seen<'a>, Fault> {
    let [of, path, default @ ..] = arguments else { return Ok(Seen::Null) };
    let found = {
        let path = path.see(scope)?;
        match path.plain() {
            Plain::Text(path) => at(of.see(scope)?, path, scope.world)?.and_then(|found| wanted.of(found)),
            _ => None,
        }
    };
    match (found, default.first()) {
        (Some(found), _) => Ok(found),
        (None, Some(default)) => default.see(scope),
        (None, None) => Ok(Seen::Null),
    }
}

/// Returns the value at the path; `None` for an invalid path.
fn at<'a>(of: Seen<'a>, path: &str, world: &World<'_>) -> Result<Option<Seen<'a>>, Fault> {
    let mut seen = match of {
        Seen::Event(event) | Seen::Kept(Value::Event(event)) => event.content(),
        Seen::Object(object) => Seen::Payload(object),
        Seen::Kept(Value::Object(object)) => Seen::Payload(ObjectSeen::of(object)),
        // A value that was made in this expression lives only as long as this borrow of it.
        Seen::Made(value) => {
            let inner = match &value {
                Value::Event(event) => event.content(),
                Value::Object(object) => Seen::Payload(ObjectSeen::of(object)),
                other => Seen::Kept(other),
            };
            return Ok(follow(inner, path, world)?.map(Seen::into_value).transpose()?.map(Seen::Made));
        }
        seen => seen,
    };
    seen = match follow(seen, path, world)? {
        Some(seen) => seen,
        None => return Ok(None),
    };
    Ok(Some(seen))
}

fn follow<'a>(mut seen: Seen<'a>, path: &str, world: &World<'_>) -> Result<Option<Seen<'a>>, Fault> {
    for step in steps(path) {
        seen = match step {
            None => return Ok(None),
            Some(Step::Member(name)) => seen.member(name, world.evaluations)?,
            Some(Step::Element(at)) => seen.element(at, world.evaluations)?,
        };
        if seen.is_null() {
            return Ok(None);
        }
    }
    Ok(Some(seen))
}

impl Wanted {
    /// Returns the value if it has the requested type.
    fn of(self, found: Seen<'_>) -> Option<Seen<'_>> {
        let is_it = match (self, found.plain()) {
            (_, Plain::Null) => false,
            (Self::Object, _) => true,
            (Self::Text, Plain::Text(_) | Plain::Digits(_)) => {
                // An id is represented by its text here.
                return Some(match found {
                    Seen::Id(id) => Seen::Digits(id.number),
                    Seen::Kept(Value::Id(id)) => Seen::Made(Value::Text(id.value.clone())),
                    Seen::Made(Value::Id(id)) => Seen::Made(Value::Text(id.value.clone())),
                    found => found,
                });
            }
            (Self::Text, plain) => {
                return plain.text().map(|text| Seen::Made(Value::Text(text.into())));
            }
            (Self::Number, Plain::Number(_)) | (Self::Boolean, Plain::Boolean(_)) => true,
            (Self::Date, _) => return cast::time(&found).map(Seen::Time),
            (Self::List, Plain::Composite) => match &found {
                Seen::Json(text) => text.starts_with('['),
                found => matches!(found, Seen::Kept(Value::List(_)) | Seen::Made(Value::List(_))),
            },
            _ => false,
        };
        is_it.then_some(found)
    }
}
