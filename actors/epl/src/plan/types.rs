//! Names, compatibility and conversion of types.

use crate::language::syntax::TypeName;
use crate::value::{ObjectKind, StreamType, Type};

use super::enumerations::is_type as is_enumeration;
use super::expression::{Expression, Function, Scalar};
use super::resolve::Typed;

/// The type names. Case does not matter.
const WORDS: [(&str, Type); 21] = [
    ("string", Type::Text),
    ("charsequence", Type::Text),
    ("double", Type::Double),
    ("float", Type::Double),
    ("number", Type::Double),
    ("bigdecimal", Type::Double),
    ("long", Type::Integer),
    ("int", Type::Integer),
    ("integer", Type::Integer),
    ("short", Type::Integer),
    ("byte", Type::Integer),
    ("biginteger", Type::Integer),
    ("boolean", Type::Boolean),
    ("bool", Type::Boolean),
    ("date", Type::Time),
    ("datetime", Type::Time),
    ("id", Type::Id),
    ("list", Type::List),
    ("collection", Type::List),
    ("map", Type::Map),
    ("object", Type::Any),
];

/// Returns the last segment of a dotted name.
pub(super) fn last_segment(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Returns the type that a word in `create schema`, `create variable` or `cast` stands for: an EPL type (in any
/// case), a platform object by its noun, an enumeration, or a list with `[]`. An unspecific class name means any
/// type. Other words are not types.
pub(super) fn of_word(type_: &TypeName) -> Option<Type> {
    if type_.is_list {
        return Some(Type::List);
    }
    let written = &*type_.name.text;
    let last = last_segment(written);
    if let Some((_, kind)) = ObjectKind::NOUNS.iter().find(|(noun, _)| *noun == last) {
        return Some(Type::Object(*kind));
    }
    if is_enumeration(last) {
        return Some(Type::Text);
    }
    let known = WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(last));
    known.map(|(_, type_)| type_.clone()).or_else(|| written.contains('.').then_some(Type::Any))
}

/// Returns the target type of a `cast`.
pub(super) fn scalar(type_: &Type) -> Scalar {
    match type_ {
        Type::Boolean => Scalar::Boolean,
        Type::Integer => Scalar::Integer,
        Type::Double => Scalar::Double,
        Type::Text => Scalar::Text,
        Type::Time => Scalar::Time,
        _ => Scalar::Same,
    }
}

/// Returns the name of a type for messages.
pub(super) fn describe(type_: &Type) -> String {
    let word = match type_ {
        Type::Any => "anything",
        Type::Boolean => "true or false",
        Type::Integer => "a whole number",
        Type::Double => "a number",
        Type::Text => "text",
        Type::Time => "a date",
        Type::Id => "an id",
        Type::List => "a list",
        Type::Map => "a map",
        Type::Object(ObjectKind::ManagedObject) => "a managed object",
        Type::Object(ObjectKind::Event) => "an event",
        Type::Object(ObjectKind::Measurement) => "a measurement",
        Type::Object(ObjectKind::Operation) => "an operation",
        Type::Object(ObjectKind::Alarm) => "an alarm",
        Type::Event(event) => match event.as_ref() {
            StreamType::Input(stream) => return format!("an event of {}", stream.words().0),
            StreamType::Rows(_) => "a row",
        },
    };
    word.to_owned()
}

pub(super) fn is_number(type_: &Type) -> bool {
    matches!(type_, Type::Integer | Type::Double | Type::Any)
}

pub(super) fn is_text(type_: &Type) -> bool {
    matches!(type_, Type::Text | Type::Any)
}

pub(super) fn is_condition(type_: &Type) -> bool {
    matches!(type_, Type::Boolean | Type::Any)
}

/// Returns whether values of the type can be keys in `group by`, `partition by`, `std:unique` and `distinct`.
pub(super) fn is_key(type_: &Type) -> bool {
    !matches!(type_, Type::List | Type::Map | Type::Object(_) | Type::Event(_))
}

/// Returns whether values of the two types can be equal.
pub(super) fn may_equal(one: &Type, other: &Type) -> bool {
    matches!((one, other), (Type::Any, _) | (_, Type::Any) | (Type::Text, Type::Id) | (Type::Id, Type::Text))
        || is_number(one) && is_number(other)
        || one == other && is_key(one)
}

/// Returns whether values of the two types can be ordered.
pub(super) fn may_order(one: &Type, other: &Type) -> bool {
    let has_order = |type_: &Type| is_number(type_) || matches!(type_, Type::Text | Type::Time);
    has_order(one) && has_order(other) && may_equal(one, other)
}

/// Returns the type of a value that has one of the two types.
pub(super) fn either(one: Type, other: Type) -> Type {
    match (one, other) {
        (one, other) if one == other => one,
        (Type::Integer | Type::Double, Type::Integer | Type::Double) => Type::Double,
        _ => Type::Any,
    }
}

/// Converts an expression to the type of a column or variable; returns `None` if the types are incompatible. An
/// Integer is accepted as a Double. An id is accepted as text (its value), and text as an id.
pub(super) fn fit(value: Typed, wanted: &Type) -> Option<Expression> {
    let Typed { expression, type_ } = value;
    match (wanted, type_) {
        (Type::Any, _) | (_, Type::Any) | (Type::Double, Type::Integer) | (Type::Id, Type::Text) => {
            Some(expression)
        }
        (Type::Text, Type::Id) => Some(Expression::Call(Function::IdValue, vec![expression])),
        (wanted, type_) => (*wanted == type_).then_some(expression),
    }
}
