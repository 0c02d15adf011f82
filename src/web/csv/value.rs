//! JSON values as values of a line (S-33).

use std::borrow::Cow;

use serde_json::Value;

/// Returns strings verbatim, numbers in their shortest form, objects and arrays as compact JSON, and `null`
/// as the empty string (S-33, H-11).
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => "".into(),
        Value::String(text) => text.into(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => shortest(float).into(),
            _ => number.to_string().into(),
        },
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => value.to_string().into(),
    }
}

/// Formats a number as JavaScript does: a whole number has no fraction and, up to 21 digits, no exponent.
fn shortest(float: f64) -> String {
    match float.fract() == 0.0 && float.abs() < 1e21 {
        // Adding zero turns minus zero into zero.
        true => (float + 0.0).to_string(),
        false => Value::from(float).to_string().replace("e+", "e"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_text() {
        for (value, text) in [
            (json!(null), ""),
            (json!("a \"b\", c"), "a \"b\", c"),
            (json!(true), "true"),
            (json!(1.0), "1"),
            (json!(-0.0), "0"),
            (json!(-0.5), "-0.5"),
            (json!(1e16), "10000000000000000"),
            (json!(18446744073709551615_u64), "18446744073709551615"),
            (json!(1e300), "1e300"),
            (json!({"b": [1, null], "a": "x"}), r#"{"b":[1,null],"a":"x"}"#),
            (json!([]), "[]"),
        ] {
            assert_eq!(text_of(&value), text, "{value}");
        }
    }
}
