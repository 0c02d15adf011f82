//! The fields of a request template as registered and as stored; both are validated alike (S-15, S-20 to
//! S-22).

use std::borrow::Cow;
use std::collections::HashSet;

use actix_web::http::Method;
use actix_web::http::header::HeaderValue;
use serde_json::{Value, json};

use super::substitution::{TemplateText, occurrences};
use super::{RequestTemplate, only_creates};
use crate::csv::kind::Kind;
use crate::csv::template_flaw::Flaw;

/// The fields after the id, not yet validated. An omitted field is empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestDefinition<'d> {
    method: &'d str,
    uri: &'d str,
    content_type: &'d str,
    accept: &'d str,
    placeholder: &'d str,
    kinds: Vec<&'d str>,
    template: &'d str,
}

impl<'d> RequestDefinition<'d> {
    /// Returns the fields from the values after the id; trailing empty ones may be omitted (S-20).
    ///
    /// # Errors
    /// `BadRequest` for too many.
    pub(crate) fn of_values(values: &'d [Cow<'d, str>]) -> Result<Self, Flaw> {
        if values.len() > 7 {
            return Err(Flaw::BadRequest);
        }
        let field = |at: usize| values.get(at).map_or("", |value| &**value);
        Ok(Self {
            method: field(0),
            uri: field(1),
            content_type: field(2),
            accept: field(3),
            placeholder: field(4),
            kinds: field(5).split_whitespace().collect(),
            template: field(6),
        })
    }

    /// Returns the fields of a stored template; `None` if one is not a string. `null` and missing members
    /// count as empty.
    pub(crate) fn of_json(stored: &'d Value) -> Option<Self> {
        let field = |name: &str| match stored.get(name) {
            None | Some(Value::Null) => Some(""),
            Some(value) => value.as_str(),
        };
        let kinds = match stored.get("values") {
            None | Some(Value::Null) => Vec::new(),
            Some(words) => words.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?,
        };
        Some(Self {
            method: field("method")?,
            uri: field("resourceUri")?,
            content_type: field("contentType")?,
            accept: field("accept")?,
            placeholder: field("placeholder")?,
            kinds,
            template: field("templateString")?,
        })
    }

    /// Returns the JSON that is stored (S-15).
    pub(crate) fn to_json(&self, id: u32) -> Value {
        json!({
            "msgId": id.to_string(),
            "method": self.method,
            "resourceUri": self.uri,
            "contentType": self.content_type,
            "accept": self.accept,
            "placeholder": self.placeholder,
            "values": self.kinds,
            "templateString": self.template,
        })
    }

    /// Compiles the fields to a template.
    ///
    /// # Errors
    /// Every distinct flaw.
    pub(crate) fn compile(&self) -> Result<RequestTemplate, Vec<Flaw>> {
        let mut flaws = Vec::new();
        let head = self.head();
        if head.is_none() {
            flaws.push(Flaw::BadRequest);
        }
        self.check_content(&mut flaws);
        let kinds = self.kinds(&mut flaws);
        match head {
            Some((method, content_type, accept)) if flaws.is_empty() => {
                let mut cut = kinds.iter().copied();
                let uri = TemplateText::cut_uri(self.uri, self.placeholder, &mut cut);
                let body = TemplateText::cut(self.template, self.placeholder, &mut cut);
                let only_creates = only_creates(&method, &uri);
                let kinds = kinds.into_iter().filter(|kind| *kind != Kind::Now).collect();
                Ok(RequestTemplate { method, content_type, accept, uri, body, kinds, only_creates })
            }
            _ => Err(flaws),
        }
    }

    /// Returns method, `Content-Type` and `Accept`; `None` if one is invalid or if the URI does not start
    /// with a constant slash.
    fn head(&self) -> Option<(Method, Option<HeaderValue>, Option<HeaderValue>)> {
        let method = self.method()?;
        let from_value = !self.placeholder.is_empty() && self.uri.starts_with(self.placeholder);
        if from_value || !self.uri.starts_with('/') {
            return None;
        }
        let accept = match (self.accept, &method) {
            ("", &Method::GET) => "application/json",
            (accept, _) => accept,
        };
        Some((method, header(self.content_type)?, header(accept)?))
    }

    fn method(&self) -> Option<Method> {
        match self.method {
            "GET" => Some(Method::GET),
            "POST" => Some(Method::POST),
            "PUT" => Some(Method::PUT),
            "DELETE" => Some(Method::DELETE),
            _ => None,
        }
    }

    /// Checks that a method with a body has a content type and that one without a body has none (S-21).
    fn check_content(&self, flaws: &mut Vec<Flaw>) {
        let Some(method) = self.method() else { return };
        let (no_content, no_template) = (self.content_type.is_empty(), self.template.is_empty());
        let with_body = method == Method::POST || method == Method::PUT;
        flaws.extend(match (with_body, no_content) {
            (true, true) => Some(Flaw::NoContent(method.clone())),
            (false, false) => Some(Flaw::ContentNotSupported(method.clone())),
            _ => None,
        });
        flaws.extend(match (with_body, no_template) {
            (true, true) => Some(Flaw::NoTemplate(method)),
            (false, false) => Some(Flaw::TemplateNotSupported(method)),
            _ => None,
        });
    }

    /// Returns the types of the placeholders, in order; without PARAMS all are strings (S-22).
    fn kinds(&self, flaws: &mut Vec<Flaw>) -> Vec<Kind> {
        let occurrences =
            occurrences(self.uri, self.placeholder) + occurrences(self.template, self.placeholder);
        if self.kinds.is_empty() {
            return vec![Kind::String; occurrences];
        }
        let flaw = match self.placeholder.is_empty() {
            true => Some(Flaw::ValuesWithoutPlaceholder),
            // The flaw may be reported already, by `head`.
            false if self.kinds.len() == occurrences || flaws.contains(&Flaw::BadRequest) => None,
            false => Some(Flaw::BadRequest),
        };
        flaws.extend(flaw);
        let (mut kinds, mut unknown) = (Vec::with_capacity(self.kinds.len()), HashSet::new());
        for word in &self.kinds {
            match Kind::parse(word) {
                Some(kind) => kinds.push(kind),
                None if unknown.insert(word) => flaws.push(Flaw::BadValueType((*word).to_owned())),
                None => {}
            }
        }
        kinds
    }
}

/// Parses a header value: an empty text means no header, `None` an invalid value.
fn header(text: &str) -> Option<Option<HeaderValue>> {
    match text {
        "" => Some(None),
        _ => HeaderValue::from_str(text).ok().map(Some),
    }
}
