//! Request templates: from the arguments of a row to a REST call (22.3).

use std::borrow::Cow;

use super::refusal::Refusal;
use super::rest_caller::Call;

/// A registered request template, compiled.
#[derive(Debug)]
pub(crate) struct RequestTemplate {}

impl RequestTemplate {
    /// The call a row with these arguments stands for.
    ///
    /// # Errors
    /// `NoArguments`, `WrongNumber` or `Kind` for arguments the template does not take.
    pub(crate) fn call(&self, _arguments: &[Cow<'_, str>]) -> Result<Call, Refusal> {
        Err(Refusal::InvalidMessageId)
    }

    /// Whether it creates a measurement or an event and nothing else.
    pub(crate) fn only_creates(&self) -> bool {
        false
    }
}
