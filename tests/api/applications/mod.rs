//! Applications (document 2, Application; W-04 to W-09, W-16).

mod create;
mod secrets;

use serde_json::{Value, json};

const APPLICATIONS: &str = "/application/applications";

/// A complete body of a web application.
fn hosted(name: &str) -> Value {
    json!({
        "name": name,
        "key": format!("{name}-key"),
        "type": "HOSTED",
        "contextPath": name,
        "resourcesUrl": "/",
    })
}

/// A complete body of a microservice.
fn microservice(name: &str) -> Value {
    json!({"name": name, "key": format!("{name}-key"), "type": "MICROSERVICE"})
}

/// A complete body of a link to a place elsewhere.
fn external(name: &str) -> Value {
    json!({
        "name": name,
        "key": format!("{name}-key"),
        "type": "EXTERNAL",
        "externalUrl": "https://example.com/",
    })
}
