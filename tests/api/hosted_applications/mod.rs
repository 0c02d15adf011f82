//! Web applications at `/apps/<contextPath>/` (issue text: hosted web applications).

mod caching;
mod confinement;
mod cross_site;
mod encodings;
mod files;
mod ranges;
mod tenants;
mod versions;

use serde_json::json;

use crate::harness::{Answer, Caller, upload, web_archive};

/// A new web application of these files, and an `index.html` if they hold none; gives its id. It is served at its name.
async fn host(caller: &Caller, name: &str, files: &[(&str, &str)]) -> String {
    let id = create(caller, name, "PRIVATE").await;
    let answer = upload(caller, &id, &web_archive(files)).await;
    assert_eq!(answer.status, 204, "{}", answer.text);
    id
}

/// A web application without a version; gives its id.
async fn create(caller: &Caller, name: &str, availability: &str) -> String {
    let body = json!({"name": name, "key": format!("{name}-key"), "type": "HOSTED", "contextPath": name,
        "resourcesUrl": "/", "availability": availability});
    let application = caller.create("/application/applications", &body).await;
    application["id"].as_str().unwrap().to_owned()
}

/// GET with these headers.
async fn get_with(caller: &Caller, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = caller.request("GET", path);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.send().await
}
