//! Reading JSON whose parts may be missing.

use serde_json::Value;

/// Returns the members of an object with their names; none for anything else.
pub(crate) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (&**name, value))
}

/// Returns a text, or an empty one for anything else.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
