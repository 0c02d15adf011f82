//! Comparison with the API reference: every response that a test client receives must have a status, media type and
//! body that the reference describes.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::{Registry, Validator};
use serde_json::{Value, json};

/// The statuses that every path may return, which the reference describes only once: 405 for an unsupported method, 414
/// for a long address, 431 for a long head.
const OF_ANY_PATH: [u16; 3] = [405, 414, 431];

/// The name under which schemas refer to the document.
const DOCUMENT: &str = "urn:reference";

/// The document that the server serves.
pub static REFERENCE: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&platform_content::reference()).unwrap());

static REGISTRY: LazyLock<Registry<'static>> = LazyLock::new(|| {
    let registry = Registry::new().add(DOCUMENT, REFERENCE.clone()).unwrap();
    registry.prepare().unwrap()
});

/// The validators of schemas by their position in the document.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// The parts of a request and its response that the reference describes.
#[derive(Debug)]
pub struct Exchange<'e> {
    /// The method, or the one in `X-HTTP-METHOD` if that header is present.
    pub method: &'e str,
    /// The path without its query.
    pub path: &'e str,
    pub status: u16,
    /// The media type of the response with its parameters.
    pub content_type: Option<&'e str>,
    pub body: &'e str,
}

impl Exchange<'_> {
    /// Compares the response with the reference.
    ///
    /// # Errors
    /// A text with the difference, its position, and the value.
    pub fn check(&self) -> Result<(), String> {
        let found = operation(self.method, self.path);
        let Some((place, operation)) = found.filter(|_| !OF_ANY_PATH.contains(&self.status)) else {
            // The page of the console is not a part of the API.
            let is_console =
                self.path == "/" && self.content_type.is_some_and(|of| of.starts_with("text/html"));
            if is_console {
                return Ok(());
            }
            let refused = self.status >= 400 || self.method == "OPTIONS";
            return if refused { self.check_error() } else { Err("has no operation".into()) };
        };
        let status = self.status.to_string();
        let responses = &operation["responses"];
        let key = [&*status, "default"].into_iter().find(|key| responses.get(key).is_some());
        let key =
            key.ok_or_else(|| format!("{}: status {status} is not documented", operation["operationId"]))?;
        let response = match responses[key]["$ref"].as_str() {
            Some(reference) => reference.trim_start_matches('#').to_owned(),
            None => format!("{place}/responses/{key}"),
        };
        if self.body.is_empty() || self.method == "HEAD" {
            return Ok(());
        }
        let essence = self.content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let content = format!("{response}/content");
        let types = REFERENCE.pointer(&content).and_then(Value::as_object);
        let known = types.into_iter().flatten().find(|(name, _)| [essence, "*/*"].contains(&&***name));
        let (name, _) = known
            .ok_or_else(|| format!("{response}: media type '{essence}' is not documented: {}", self.body))?;
        if name == "*/*" || !essence.ends_with("json") {
            return Ok(());
        }
        self.validate(&format!("{content}/{}/schema", name.replace('/', "~1")))
    }

    /// Checks that the body of an error response is valid.
    fn check_error(&self) -> Result<(), String> {
        let is_error = self.content_type.is_some_and(|content_type| content_type.contains("error+json"));
        if is_error && !self.body.is_empty() { self.validate("/components/schemas/Error") } else { Ok(()) }
    }

    fn validate(&self, place: &str) -> Result<(), String> {
        let body: Value =
            serde_json::from_str(self.body).map_err(|error| format!("{error}: {}", self.body))?;
        let validator = validator(place);
        let faults: Vec<String> = validator
            .iter_errors(&body)
            .take(5)
            .map(|fault| format!("{fault} at '{}'", fault.instance_path()))
            .collect();
        if faults.is_empty() { Ok(()) } else { Err(format!("{place}: {}; in {body}", faults.join("; "))) }
    }
}

/// Returns the validator of a schema in the document.
fn validator(place: &str) -> Arc<Validator> {
    if let Some(known) = VALIDATORS.lock().unwrap().get(place) {
        return known.clone();
    }
    let schema = json!({"$ref": format!("{DOCUMENT}#{place}").replace('{', "%7B").replace('}', "%7D")});
    let options = jsonschema::options().with_registry(&REGISTRY).should_validate_formats(true);
    let validator = Arc::new(options.build(&schema).unwrap_or_else(|error| panic!("{place}: {error}")));
    VALIDATORS.lock().unwrap().insert(place.to_owned(), validator.clone());
    validator
}

/// Returns the position of an operation in the document, and the operation. If several paths match, the one with the
/// fewest variables is used.
fn operation(method: &str, path: &str) -> Option<(String, &'static Value)> {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let paths = REFERENCE["paths"].as_object()?.iter();
    let matching = paths.filter(|(template, _)| matches(template, &segments));
    let (template, item) = matching.min_by_key(|(template, _)| template.matches('{').count())?;
    let method = method.to_ascii_lowercase();
    // HEAD equals GET without a body.
    let method = if method == "head" && item.get("head").is_none() { "get" } else { &method };
    let place = format!("/paths/{}/{method}", template.replace('/', "~1"));
    item.get(method).map(|operation| (place, operation))
}

/// Returns whether a path matches a template. A last variable `{path}` stands for several segments.
fn matches(template: &str, path: &[&str]) -> bool {
    let template: Vec<&str> = template.split('/').filter(|segment| !segment.is_empty()).collect();
    let is_open = template.last() == Some(&"{path}");
    let same_length = template.len() == path.len() || is_open && path.len() >= template.len();
    same_length && template.iter().zip(path).all(|(known, given)| known.starts_with('{') || known == given)
}
