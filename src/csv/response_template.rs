//! Response templates: from JSON to lines (22.4).

use std::borrow::Cow;

use serde_json::{Value, json};

use super::json_path::{JsonPath, rooted};
use super::line::Lines;
use super::template_flaw::Flaw;

/// Steps that paths may take for one object: about a tenth of a second.
const STEPS: usize = 4_000_000;
/// Bytes of the lines of one object.
const BYTES: usize = 16 << 20;

/// A registered response template, compiled.
#[derive(Debug)]
pub(crate) struct ResponseTemplate {
    id: String,
    base: JsonPath,
    condition: Option<JsonPath>,
    values: Vec<JsonPath>,
}

/// The fields behind the id, unchecked.
#[derive(Debug, Clone)]
pub(crate) struct ResponseDefinition<'d> {
    base: &'d str,
    condition: &'d str,
    pattern: Vec<&'d str>,
}

/// What the templates of a set may still cost for one object: whoever writes templates must not stop a server with them.
#[derive(Debug)]
pub(crate) struct Allowance {
    steps: usize,
    bytes: usize,
}

/// There would be more lines than can be sent.
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
    /// Out of the values of a line that stand behind the id.
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

    /// Out of a stored template; `None` where a field is no text or there is no VALUE.
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

    /// As it is stored (S-15).
    pub(crate) fn to_json(&self, id: u32) -> Value {
        let condition = if self.condition.is_empty() { "".into() } else { rooted(self.condition) };
        let pattern: Vec<_> = self.pattern.iter().map(|path| rooted(path)).collect();
        json!({"msgId": id.to_string(), "base": self.base(), "condition": condition, "pattern": pattern})
    }

    fn base(&self) -> Cow<'_, str> {
        if self.base.is_empty() { "$".into() } else { rooted(self.base) }
    }

    /// Makes a template of it.
    ///
    /// # Errors
    /// Everything that is wrong with it, once each.
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
    /// Adds `<id>,<request line>,<values>` for the base object, or for each element where the base is a list (S-30). A line
    /// stands only where condition and values are there (S-31, S-32).
    ///
    /// # Errors
    /// `TooMuch` when the allowance is used up.
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
                    let text = rendered(value);
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

/// A value as it stands in a line (S-33).
fn rendered(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.into(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => shortest(float).into(),
            _ => number.to_string().into(),
        },
        other => other.to_string().into(),
    }
}

/// A whole number without fraction and, while its digits are exact, without exponent.
fn shortest(float: f64) -> String {
    const EXACT: f64 = 1e21;
    match float.fract() == 0.0 && float.abs() < EXACT {
        // Minus zero is zero.
        true => format!("{:.0}", float + 0.0),
        false => serde_json::Number::from_f64(float).map(|number| number.to_string()).unwrap_or_default(),
    }
}
