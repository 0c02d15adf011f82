//! Request templates: from the arguments of a row to a REST call.

mod definition;
mod substitution;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use actix_web::http::header::HeaderValue;
use actix_web::http::{Method, StatusCode};

pub(crate) use definition::RequestDefinition;
use substitution::{Filling, TemplateText};

use super::kind::Kind;
use super::refusal::Refusal;
use super::rest_caller::Call;

/// The paths whose POST creates a measurement or an event and nothing else.
const CREATING_PATHS: [&str; 2] = ["/measurement/measurements", "/event/events"];

/// A registered request template, compiled to parts, so that a row is assembled without searching for
/// placeholders.
#[derive(Debug)]
pub(crate) struct RequestTemplate {
    method: Method,
    content_type: Option<HeaderValue>,
    accept: Option<HeaderValue>,
    uri: TemplateText,
    body: TemplateText,
    /// The types of its arguments, in order.
    kinds: Vec<Kind>,
    only_creates: bool,
}

impl RequestTemplate {
    /// Returns the call that a row with these arguments makes (S-24).
    ///
    /// # Errors
    /// `NoArguments`, `WrongNumber` or `Kind` for arguments the template does not take; 403 for the path of a
    /// foreign host (S-28).
    pub(crate) fn call(&self, arguments: &[Cow<'_, str>]) -> Result<Call, Refusal> {
        let mut filling = Filling::new(self.taken(arguments)?);
        let uri = self.uri.fill_uri(&mut filling);
        let body = self.body.fill(&mut filling);
        if uri.starts_with("//") {
            return Err(Refusal::Rest(StatusCode::FORBIDDEN));
        }
        Ok(Call {
            method: self.method.clone(),
            uri: uri.into(),
            content_type: self.content_type.clone(),
            accept: self.accept.clone(),
            body: body.into(),
        })
    }

    /// Returns whether the template only creates a measurement or an event.
    pub(crate) fn only_creates(&self) -> bool {
        self.only_creates
    }

    /// Returns the arguments without an empty last one from a trailing comma (S-26), and checks their types
    /// (S-25).
    fn taken<'a, 'v>(&self, arguments: &'a [Cow<'v, str>]) -> Result<&'a [Cow<'v, str>], Refusal> {
        let arguments = match arguments {
            [taken @ .., last] if last.is_empty() && taken.len() == self.kinds.len() => taken,
            _ => arguments,
        };
        if arguments.len() != self.kinds.len() {
            return Err(if self.kinds.is_empty() { Refusal::NoArguments } else { Refusal::WrongNumber });
        }
        match arguments.iter().zip(&self.kinds).find(|(value, kind)| !kind.accepts(value)) {
            Some((value, kind)) => Err(Refusal::Kind(*kind, value.clone().into_owned())),
            None => Ok(arguments),
        }
    }
}

/// Returns whether a call with this method and path only creates a measurement or an event.
fn only_creates(method: &Method, uri: &TemplateText) -> bool {
    *method == Method::POST && uri.constant_path().is_some_and(|path| CREATING_PATHS.contains(&path))
}
