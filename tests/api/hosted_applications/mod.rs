//! Web applications at `/apps/<contextPath>/` (W-17).

mod caching;
mod confinement;
mod console;
mod cross_site;
mod encodings;
mod files;
mod ranges;
mod tenants;
mod versions;

use crate::harness::prelude::*;

/// Creates a web application of these files, with an `index.html` if they hold none, and returns its id. It is served
/// at its name.
async fn host(caller: &Caller, name: &str, files: &[(&str, &str)]) -> String {
    let id = create(caller, name, "PRIVATE").await;
    upload(caller, &id, &web_archive(files)).await.expect(204);
    id
}

/// Creates a web application without a version and returns its id.
async fn create(caller: &Caller, name: &str, availability: &str) -> String {
    let body = json!({"name": name, "key": format!("{name}-key"), "type": "HOSTED", "contextPath": name,
        "resourcesUrl": "/", "availability": availability});
    let application = caller.create("/application/applications", &body).await;
    application["id"].as_str().unwrap().to_owned()
}

/// A server that knows a tenant `plant7` with the domain `plant7.example.com`, and its administrator.
async fn with_plant() -> (TestServer, Caller) {
    let server = TestServer::start_with_tenant("plant7", "plant7.example.com").await;
    let plant = server.caller("plant7/admin", ADMIN_PASSWORD);
    (server, plant)
}

/// GET with these headers.
async fn get_with(caller: &Caller, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = caller.request("GET", path);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.send().await
}
