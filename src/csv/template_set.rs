//! A template set as it is stored (S-15) and as it is used.

use serde_json::Value;

use super::line::Lines;
use super::request_template::RequestTemplate;

/// The templates of one X-Id, compiled.
#[derive(Debug, Default)]
pub(crate) struct TemplateSet {}

impl TemplateSet {
    /// Compiles the fragment of a managed object. It may have been changed through the inventory: what is no template is left out,
    /// and its message id is unknown.
    pub(crate) fn compile(_fragment: &Value) -> Self {
        Self::default()
    }

    /// The request template of a message id.
    pub(crate) fn request(&self, _id: u32) -> Option<&RequestTemplate> {
        None
    }

    /// Whether there is anything to evaluate.
    pub(crate) fn has_responses(&self) -> bool {
        false
    }

    /// Adds the lines that the response templates make of an object, in the order of their registration (S-03).
    pub(crate) fn evaluate(&self, _object: &Value, _line: usize, _lines: &mut Lines) {}
}
