//! Response templates: from JSON to lines.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::json_path::{JsonPath, rooted};
use super::line::Lines;
use super::template_flaw::Flaw;
use super::value::text_of;

/// The number of path steps for one object: about a tenth of a second.
const STEPS: usize = 4_000_000;
/// The largest size of the lines of one object, in bytes.
const BYTES: usize = 16 << 20;

/// A registered response template, compiled.
#[derive(Debug)]
pub(crate) struct ResponseTemplate {
    id: String,
    base: JsonPath,
    condition: Option<JsonPath>,
    values: Vec<JsonPath>,
}

/// The fields after the id, not yet validated.
#[derive(Debug, Clone)]
pub(crate) struct ResponseDefinition<'d> {
    base: &'d str,
    condition: &'d str,
    pattern: Vec<&'d str>,
}

/// The remaining budget of a set's templates for one object, so that nobody can stop a server by templates.
#[derive(Debug)]
pub(crate) struct Allowance {
    steps: usize,
    bytes: usize,
}

/// The error of an object whose evaluation exceeds the budget.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMuch;

impl Default for Allowance {
    fn default() -> Self {
        Self { steps: STEPS, bytes: BYTES }
    }
}

impl Allowance {
    fn walk(&mut self, path: &JsonPath) -> Result<(), TooMuch> {
        self.steps = self.steps.checked_sub(path.length()).ok_or(TooMuch)?;
        Ok(())
    }

    fn write(&mut self, bytes: usize) -> Result<(), TooMuch> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(TooMuch)?;
        Ok(())
    }
}

impl<'d> ResponseDefinition<'d> {
    /// Returns the fields from the values after the id.
    ///
    /// # Errors
    /// `BadResponse` when there is no VALUE.
    pub(crate) fn of_values(values: &'d [Cow<'d, str>]) -> Result<Self, Flaw> {
        match values {
            [base, condition, pattern @ ..] if !pattern.is_empty() => {
                Ok(Self { base, condition, pattern: pattern.iter().map(|path| &**path).collect() })
            }
            _ => Err(Flaw::BadResponse),
        }
    }

    /// Returns the fields of a stored template; `None` if one is not a string or there is no VALUE.
    pub(crate) fn of_json(stored: &'d Value) -> Option<Self> {
        let field = |name: &str| match stored.get(name) {
            None | Some(Value::Null) => Some(""),
            Some(value) => value.as_str(),
        };
        let pattern = stored.get("pattern")?.as_array()?;
        let pattern: Vec<_> = pattern.iter().map(Value::as_str).collect::<Option<_>>()?;
        (!pattern.is_empty()).then_some(Self {
            base: field("base")?,
            condition: field("condition")?,
            pattern,
        })
    }

    /// Returns the JSON that is stored (S-15).
    pub(crate) fn to_json(&self, id: u32) -> Value {
        let condition = if self.condition.is_empty() { "".into() } else { rooted(self.condition) };
        let pattern: Vec<_> = self.pattern.iter().map(|path| rooted(path)).collect();
        json!({"msgId": id.to_string(), "base": self.base(), "condition": condition, "pattern": pattern})
    }

    fn base(&self) -> Cow<'_, str> {
        if self.base.is_empty() { "$".into() } else { rooted(self.base) }
    }

    /// Compiles the fields to a template.
    ///
    /// # Errors
    /// Every distinct flaw.
    pub(crate) fn compile(&self, id: u32) -> Result<ResponseTemplate, Vec<Flaw>> {
        let mut flaws = Vec::new();
        let mut path = |text: &str| {
            let parsed = match text {
                "" => Err(Flaw::BadPattern),
                _ => JsonPath::parse(text).map_err(Flaw::Path),
            };
            match parsed {
                Err(flaw) if !flaws.contains(&flaw) => flaws.push(flaw),
                Ok(path) => return Some(path),
                Err(_) => {}
            }
            None
        };
        let base = path(&self.base());
        let condition = (!self.condition.is_empty()).then(|| path(self.condition));
        let values: Vec<_> = self.pattern.iter().filter_map(|text| path(text)).collect();
        match base {
            Some(base) if flaws.is_empty() => {
                Ok(ResponseTemplate { id: id.to_string(), base, condition: condition.flatten(), values })
            }
            _ => Err(flaws),
        }
    }
}

impl ResponseTemplate {
    /// Adds `<id>,<request line>,<values>` for the base object, or for each element if the base is a list
    /// (S-30). Objects without the condition or one of the values have no line (S-31, S-32).
    ///
    /// # Errors
    /// `TooMuch` when the budget is exhausted.
    pub(crate) fn evaluate(
        &self,
        object: &Value,
        line: &str,
        allowance: &mut Allowance,
        lines: &mut Lines,
    ) -> Result<(), TooMuch> {
        allowance.walk(&self.base)?;
        let elements = match self.base.find(object) {
            Some(Value::Array(elements)) => elements,
            Some(base) => std::slice::from_ref(base),
            None => &[],
        };
        for element in elements {
            if let Some(values) = self.values_of(element, allowance)? {
                let mut shown: Vec<Cow<'_, str>> = vec![self.id.as_str().into(), line.into()];
                for value in values {
                    let text = text_of(value);
                    allowance.write(text.len())?;
                    shown.push(text);
                }
                allowance.write(shown.len() + self.id.len() + line.len())?;
                lines.push(shown);
            }
        }
        Ok(())
    }

    fn values_of<'v>(
        &self,
        element: &'v Value,
        allowance: &mut Allowance,
    ) -> Result<Option<Vec<&'v Value>>, TooMuch> {
        if let Some(condition) = &self.condition {
            allowance.walk(condition)?;
            if condition.find(element).is_none() {
                return Ok(None);
            }
        }
        let mut values = Vec::new();
        for path in &self.values {
            allowance.walk(path)?;
            match path.find(element) {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::json_path::PathFlaw;

    fn compiled(fields: &[&str]) -> Result<ResponseTemplate, Vec<Flaw>> {
        let fields: Vec<Cow<'_, str>> = fields.iter().map(|field| (*field).into()).collect();
        ResponseDefinition::of_values(&fields).map_err(|flaw| vec![flaw])?.compile(200)
    }

    fn lines(fields: &[&str], object: &Value) -> String {
        let mut lines = Lines::default();
        let template = compiled(fields).unwrap_or_else(|flaws| panic!("{fields:?}: {flaws:?}"));
        template.evaluate(object, "7", &mut Allowance::default(), &mut lines).expect("few lines");
        lines.into_text()
    }

    #[test]
    fn templates_say_everything_that_is_wrong_with_them_once() {
        let (invalid, list, filter) =
            (Flaw::Path(PathFlaw::Invalid), Flaw::Path(PathFlaw::List), Flaw::Path(PathFlaw::Filter));
        for (fields, flaws) in [
            (vec![], vec![Flaw::BadResponse]),
            (vec!["", ""], vec![Flaw::BadResponse]),
            (vec!["", "", ""], vec![Flaw::BadPattern]),
            (vec!["", "", "id"], vec![]),
            (vec!["", "", "id", ""], vec![Flaw::BadPattern]),
            (vec!["$.a[0]", "b", "id", "$['c']"], vec![]),
            (vec!["$.a[*]", "", "id"], vec![list.clone()]),
            (vec!["", "$..a", "id"], vec![list.clone()]),
            (vec!["", "", "a[?(@.b)]"], vec![filter.clone()]),
            (vec!["$.", "$.", "$.", ""], vec![invalid.clone(), Flaw::BadPattern]),
            (vec!["$.", "$..a", "?"], vec![invalid, list, filter]),
        ] {
            assert_eq!(compiled(&fields).err().unwrap_or_default(), flaws, "{fields:?}");
        }
    }

    #[test]
    fn lines_are_written_only_for_objects_with_all_values() {
        let object = json!({"id": "1", "none": null, "a": {"b": 2}, "list": [{"x": 1, "y": 0}, {"x": 2}, 3, null,
            {"x": null}], "no": []});
        for (fields, expected) in [
            (vec!["", "", "id", "$.a.b"], "200,7,1,2\n"),
            (vec!["$.a", "", "b"], "200,7,2\n"),
            (vec!["", "a", "id"], "200,7,1\n"),
            (vec!["", "none", "id"], ""),
            (vec!["", "absent", "id"], ""),
            (vec!["", "", "id", "none"], ""),
            (vec!["", "", "absent"], ""),
            (vec!["absent", "", "$"], ""),
            (vec!["list", "", "x"], "200,7,1\n200,7,2\n"),
            (vec!["list", "y", "x"], "200,7,1\n"),
            (vec!["list[2]", "", "$"], "200,7,3\n"),
            (vec!["list", "", "id"], ""),
            (vec!["no", "", "$"], ""),
            (vec!["", "", "list[1].x"], "200,7,2\n"),
            (vec!["", "", "a"], "200,7,\"{\"\"b\"\":2}\"\n"),
        ] {
            assert_eq!(lines(&fields, &object), expected, "{fields:?}");
        }
    }

    #[test]
    fn values_are_shown_in_their_shortest_form() {
        for (json, shown) in [
            ("25.0", "25"),
            ("1.50", "1.5"),
            ("0", "0"),
            ("-0.0", "0"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("1e3", "1000"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e21"),
            ("1.5e300", "1.5e300"),
            ("0.1", "0.1"),
            ("1e-7", "1e-7"),
            ("-2.5", "-2.5"),
            ("true", "true"),
            ("false", "false"),
            ("\"\"", ""),
            ("\"a b\"", "a b"),
            ("\" a\"", "\" a\""),
            ("\"a,b\"", "\"a,b\""),
            ("\"a\\\"b\"", "\"a\"\"b\""),
            ("\"a\\nb\"", "\"a\nb\""),
            ("{ \"a\" : [ true, 2.50 ] }", "\"{\"\"a\"\":[true,2.5]}\""),
        ] {
            let value: Value = serde_json::from_str(json).expect("JSON");
            assert_eq!(lines(&["", "", "$"], &value), format!("200,7,{shown}\n"), "{json}");
        }
    }

    #[test]
    fn neither_long_walks_nor_long_lines_stop_a_server() {
        let object = json!({"a": "x".repeat(300), "b": [0, 0, 0, 0]});
        let (mut allowance, mut lines) = (Allowance { steps: 48, bytes: 1000 }, Lines::default());
        let mut evaluate = |fields: &[&str]| {
            let template = compiled(fields).expect("a template");
            template.evaluate(&object, "7", &mut allowance, &mut lines)
        };
        // The base takes two steps; then a path of five steps is followed four times.
        assert_eq!(evaluate(&["b", "", "absent.b.c.d"]), Ok(()));
        assert_eq!(evaluate(&["b", "absent.b.c.d", "$"]), Ok(()));
        assert_eq!(evaluate(&["b", "", "absent"]), Err(TooMuch));
        assert!(lines.is_empty());

        let mut allowance = Allowance { steps: 48, bytes: 1000 };
        let template = compiled(&["", "", "a", "a"]).expect("a template");
        assert_eq!(template.evaluate(&object, "7", &mut allowance, &mut lines), Ok(()));
        assert_eq!(template.evaluate(&object, "7", &mut allowance, &mut lines), Err(TooMuch));
        assert_eq!(lines.count(), 1);
    }
}
