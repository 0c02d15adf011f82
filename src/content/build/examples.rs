//! An example of each operation as a `curl` line, from the examples of its parameters and its body.

use serde_json::Value;

use super::html::escaped;
use super::values::{members, text};

/// The address of a server on this machine.
const SERVER: &str = "http://127.0.0.1:8080";

/// The number of bytes below which an example is one line.
const SHORT: usize = 90;

/// Returns the HTML of the line. curl asks for the password.
pub(crate) fn curl(document: &Value, method: &str, path: &str, operation: &Value) -> String {
    let mut parts = vec!["curl".to_owned()];
    match method {
        "GET" => {}
        "HEAD" => parts[0] += " --head",
        _ => parts[0] += &format!(" -X {method}"),
    }
    let streams = operation["responses"]["200"]["content"].get("text/event-stream").is_some();
    if streams {
        parts[0] += " -N";
    }
    parts[0] += &credentials(operation);
    let query = query(document, method, operation);
    parts.push(quoted(&format!("{SERVER}{}{query}", filled(document, path, operation))));
    if operation["responses"].get("101").is_some() {
        parts.push("-H 'Connection: Upgrade' -H 'Upgrade: websocket'".into());
        parts.push("-H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: c2l4dGVlbi1ieXRlcy0uLg=='".into());
    }
    if let Some(content) = operation["requestBody"]["content"].as_object() {
        let (media_type, body) = content.iter().next().expect("a body has a media type");
        let returns_json = ["200", "201"].iter().any(|status| {
            let content = &operation["responses"][status]["content"];
            content.get("application/json").is_some()
        });
        parts.extend(returns_json.then(|| "-H 'Accept: application/json'".to_owned()));
        parts.extend(of_body(media_type, &body["example"]));
    }
    let is_short = parts.iter().map(String::len).sum::<usize>() < SHORT;
    let line = parts.join(if is_short { " " } else { " \\\n    " });
    format!("<pre class=\"curl\">{}</pre>", escaped(&line))
}

/// Returns the user of the example: one that has the roles of the operation after the first start of a server.
fn credentials(operation: &Value) -> String {
    match &operation["security"] {
        Value::Array(schemes) if schemes.is_empty() => return String::new(),
        Value::Array(_) => return " -H 'X-Auth-Token: TOKEN'".to_owned(),
        _ => {}
    }
    let description = text(&operation["description"]);
    if description.starts_with("For ") && description.contains("users of microservices") {
        return " -u main/servicebootstrap_weather".to_owned();
    }
    let roles = operation["x-required-roles"].as_array().map(Vec::as_slice).unwrap_or_default();
    let first = roles.first().and_then(Value::as_str).unwrap_or_default();
    let user = match first.strip_prefix("ROLE_").unwrap_or_default() {
        "DEVICE_BOOTSTRAP" => "management/devicebootstrap",
        role if role.starts_with("TENANT_MANAGEMENT")
            || description.contains("In tenant management only") =>
        {
            "management/admin"
        }
        _ => "main/admin",
    };
    format!(" -u {user}")
}

/// Returns the body and its media type.
fn of_body(media_type: &str, example: &Value) -> Vec<String> {
    if media_type == "multipart/form-data" {
        let parts = members(example).filter(|(name, _)| *name != "file");
        let field =
            |(name, value): (&str, &Value)| format!("-F {}", quoted(&format!("{name}={}", plain(value))));
        return parts.map(field).chain(["-F file=@FILE".to_owned()]).collect();
    }
    let (media_type, body) = match example {
        Value::Null => ("application/octet-stream".to_owned(), "@FILE".to_owned()),
        // A text of several lines is easier to send from a file.
        Value::String(text) if text.trim_end().contains('\n') => (media_type.to_owned(), "@FILE".to_owned()),
        value => (media_type.to_owned(), plain(value).trim_end().to_owned()),
    };
    let media_type = media_type.replace("*/*", "application/octet-stream");
    let flag = if media_type == "application/json" { "-d" } else { "--data-binary" };
    vec![format!("-H 'Content-Type: {media_type}'"), format!("{flag} {}", quoted(&body))]
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| spaced(value), ToOwned::to_owned)
}

/// Returns JSON in one line, with blanks where people write them.
fn spaced(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("\"{name}\": {}", spaced(value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// Returns the path with the examples of its variables.
fn filled(document: &Value, path: &str, operation: &Value) -> String {
    let mut path = path.to_owned();
    for parameter in parameters(document, operation).filter(|parameter| parameter["in"] == "path") {
        let name = format!("{{{}}}", text(&parameter["name"]));
        path = path.replace(&name, &plain(&parameter["example"]));
    }
    path
}

/// Returns the required parameters, and one filter for an operation that changes or deletes whatever matches.
fn query(document: &Value, method: &str, operation: &Value) -> String {
    let has_filter = |parameter: &&Value| parameter["in"] == "query" && parameter.get("example").is_some();
    let mut chosen: Vec<&Value> =
        parameters(document, operation).filter(has_filter).filter(|one| one["required"] == true).collect();
    if chosen.is_empty() && ["PUT", "DELETE"].contains(&method) {
        chosen.extend(parameters(document, operation).find(has_filter));
    }
    let pair = |parameter: &&Value| format!("{}={}", text(&parameter["name"]), plain(&parameter["example"]));
    let pairs: Vec<String> = chosen.iter().map(pair).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// Returns the parameters of an operation, those of other places included.
pub(crate) fn parameters<'d>(document: &'d Value, operation: &'d Value) -> impl Iterator<Item = &'d Value> {
    let followed = |parameter: &'d Value| {
        let place = parameter["$ref"].as_str().and_then(|place| document.pointer(place.strip_prefix('#')?));
        place.unwrap_or(parameter)
    };
    operation["parameters"].as_array().into_iter().flatten().map(followed)
}

/// Returns a word for a shell, in quotes if it needs them.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
