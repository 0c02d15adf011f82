//! Archives of applications (W-01 to W-03).

mod bounds;
mod hostile;
mod manifests;
mod upload;
mod versions;

use crate::harness::prelude::*;

const APPLICATIONS: &str = "/application/applications";

/// Creates a new application of this type and returns its id. The context path of a web application is its name and the
/// tenant.
async fn create(caller: &Caller, kind: &str, name: &str) -> String {
    let key = format!("{name}-{}-key", caller.tenant());
    let mut body = json!({"name": name, "key": key, "type": kind});
    match kind {
        "HOSTED" => {
            body["contextPath"] = json!(format!("{name}-{}", caller.tenant()));
            body["resourcesUrl"] = json!("/");
        }
        "EXTERNAL" => body["externalUrl"] = json!("https://example.com/"),
        _ => {}
    }
    caller.create(APPLICATIONS, &body).await["id"].as_str().unwrap().to_owned()
}

/// Returns a server, its administrator, and the id of a new application of this type.
async fn with_application(server: TestServer, kind: &str, name: &str) -> (TestServer, Caller, String) {
    let (server, admin) = server.with_admin();
    let id = create(&admin, kind, name).await;
    (server, admin, id)
}

async fn show(caller: &Caller, id: &str) -> Value {
    caller.read(&format!("{APPLICATIONS}/{id}")).await
}

/// Returns the numbers of binaries and of their rows; a failed upload leaves none.
async fn stored(server: &TestServer) -> (i64, i64, i64) {
    let count = async |table| server.count(table).await;
    (count("binaries").await, count("binary_chunks").await, count("application_files").await)
}
