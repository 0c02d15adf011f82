//! The members of a notification, as far as filters look at them.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::MOST_VALUES;

/// The member of a change beside the changed object.
const ACTION: &str = "realtimeAction";
/// The only member of an object that was deleted.
const ID: &str = "id";

/// The content of one notification. It is read as far as filters need it, and each part once for all of them.
pub struct Content<'a> {
    /// `realtimeAction`, if this is a change.
    action: Option<Node<'a>>,
    /// The object, the operation or the row; for a deletion the id of the object.
    data: Node<'a>,
    /// The values that the current filter has looked at.
    seen: Cell<usize>,
}

/// The member `data` of a message on a channel of a resource. It has no further members, so that it is not taken for an
/// operation or a row.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change<'a> {
    #[serde(borrow, rename = "realtimeAction")]
    action: &'a RawValue,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// A Bayeux message.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}

impl<'a> Content<'a> {
    /// Reads the member `data` of a message: a change, or an operation for an agent, or a row of a module.
    pub fn of(data: &'a str) -> Self {
        let (action, data) = match serde_json::from_str(data) {
            Ok(Change { action, data }) => (Some(action), data.get()),
            Err(_) => (None, data),
        };
        Self { action: action.map(|raw| Node::new(raw.get())), data: Node::new(data), seen: Cell::new(0) }
    }

    /// Reads a Bayeux message.
    pub fn of_message(json: &'a [u8]) -> Self {
        Self::of(serde_json::from_slice(json).map_or("null", |Message { data }| data.get()))
    }

    /// Notes that another filter begins to look at it.
    pub(super) fn begin(&self) {
        self.seen.set(0);
    }

    /// Returns whether the current filter has looked at too many values.
    pub(super) fn is_exhausted(&self) -> bool {
        self.seen.get() > MOST_VALUES
    }

    /// Counts values that the current filter looks at. Returns whether it may look at them.
    pub(super) fn look_at(&self, values: usize) -> bool {
        self.seen.set(self.seen.get() + values);
        !self.is_exhausted()
    }

    /// Returns whether any value at a path satisfies a condition. A name selects the members of an object, or of the
    /// objects in an array.
    pub(super) fn any_at<S: AsRef<str>>(&self, path: &[S], is_found: &dyn Fn(&Node<'a>) -> bool) -> bool {
        let Some((first, rest)) = path.split_first() else { return false };
        let first = first.as_ref();
        let start = match (&self.action, self.data.value()) {
            (Some(action), _) if first == ACTION => Some(action),
            (_, Value::Object(members)) => members.get(first),
            (Some(_), Value::Text(_)) if first == ID => Some(&self.data),
            _ => None,
        };
        start.is_some_and(|node| self.any_below(node, rest, is_found))
    }

    fn any_below<S: AsRef<str>>(
        &self,
        node: &Node<'a>,
        path: &[S],
        is_found: &dyn Fn(&Node<'a>) -> bool,
    ) -> bool {
        if !self.look_at(1) {
            return true;
        }
        let Some((name, rest)) = path.split_first() else { return is_found(node) };
        let any_in = |node: &Node<'a>| match node.value() {
            Value::Object(members) => {
                members.get(name.as_ref()).is_some_and(|member| self.any_below(member, rest, is_found))
            }
            _ => false,
        };
        match node.value() {
            Value::Array(elements) => elements.iter().any(|element| !self.look_at(1) || any_in(element)),
            _ => any_in(node),
        }
    }

    /// Returns whether a value, or an element of the arrays in it, satisfies a condition. It looks into as many levels
    /// of arrays as PostgreSQL does.
    pub(super) fn any_element(
        &self,
        node: &Node<'a>,
        levels: usize,
        is_found: &dyn Fn(&Value<'a>) -> bool,
    ) -> bool {
        if !self.look_at(1) {
            return true;
        }
        match node.value() {
            Value::Array(elements) if levels > 0 => {
                elements.iter().any(|element| self.any_element(element, levels - 1, is_found))
            }
            value => is_found(value),
        }
    }
}

/// A JSON value whose inside is read when it is needed.
pub(super) struct Node<'a> {
    json: &'a str,
    value: OnceCell<Value<'a>>,
}

/// The inside of a JSON value.
pub(super) enum Value<'a> {
    Object(HashMap<String, Node<'a>>),
    Array(Vec<Node<'a>>),
    Text(String),
    /// A number as it is written.
    Number(&'a str),
    Boolean(bool),
    Null,
}

impl<'a> Node<'a> {
    fn new(json: &'a str) -> Self {
        Self { json, value: OnceCell::new() }
    }

    pub(super) fn value(&self) -> &Value<'a> {
        self.value.get_or_init(|| Value::of(self.json))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Node<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(from).map(|raw| Self::new(raw.get()))
    }
}

impl<'a> Value<'a> {
    /// Reads one level of a text that is valid JSON, because the server has written or checked it.
    fn of(json: &'a str) -> Self {
        let json = json.trim_ascii();
        match json.as_bytes().first() {
            Some(b'{') => read(json).map_or(Self::Null, Self::Object),
            Some(b'[') => read(json).map_or(Self::Null, Self::Array),
            Some(b'"') => read(json).map_or(Self::Null, Self::Text),
            Some(b't') => Self::Boolean(true),
            Some(b'f') => Self::Boolean(false),
            Some(b'n') | None => Self::Null,
            Some(_) => Self::Number(json),
        }
    }
}

fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    serde_json::from_str(json).ok()
}
