//! Comparison with the AsyncAPI document: what a test client receives must be as the document says.

use std::sync::LazyLock;

use jsonschema::{Registry, Validator};
use serde_json::{Value, json};

/// The name under which schemas refer to the document.
const DOCUMENT: &str = "urn:streams";

/// The document that the server serves.
pub static STREAMS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&platform_content::streams()).unwrap());

static REGISTRY: LazyLock<Registry<'static>> =
    LazyLock::new(|| Registry::new().add(DOCUMENT, STREAMS.clone()).unwrap().prepare().unwrap());

/// Compares a value with what the document says of a message. The test fails with each difference and its place.
pub fn check_message(message: &str, value: &Value) {
    let schema = json!({"$ref": format!("{DOCUMENT}#/components/messages/{message}/payload")});
    let options = jsonschema::options().with_registry(&REGISTRY).should_validate_formats(true);
    let validator = options.build(&schema).unwrap_or_else(|error| panic!("{message}: {error}"));
    let faults = faults(&validator, value);
    assert!(faults.is_empty(), "{message}: {}; in {value}", faults.join("; "));
}

/// Returns what a value lacks to be valid for a schema of draft 7.
pub fn faults_by_draft_7(schema: &Value, value: &Value) -> Vec<String> {
    faults(&jsonschema::draft7::new(schema).expect("it is a schema"), value)
}

fn faults(validator: &Validator, value: &Value) -> Vec<String> {
    let faults = validator.iter_errors(value);
    faults.map(|fault| format!("{fault:.300} at '{}'", fault.instance_path())).collect()
}

/// Returns the channel of the document that a channel belongs to, with its name. Of several, it is the one with the
/// fewest variables.
pub fn channel_of(channel: &str) -> Option<(&'static str, &'static Value)> {
    let own: Vec<&str> = channel.split('/').collect();
    let fits = |address: &str| {
        let segments: Vec<&str> = address.split('/').collect();
        segments.len() == own.len()
            && segments.iter().zip(&own).all(|(known, given)| known.starts_with('{') || known == given)
    };
    let channels = STREAMS["channels"].as_object()?.iter();
    let fitting = channels
        .filter_map(|(name, known)| Some((&**name, known, known["address"].as_str()?)))
        .filter(|(_, _, address)| fits(address));
    let (name, known, _) = fitting.min_by_key(|(_, _, address)| address.matches('{').count())?;
    Some((name, known))
}
