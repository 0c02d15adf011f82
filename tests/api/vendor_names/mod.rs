//! The names of another vendor (C-20): what the five settings do not name literally is understood in the vendor's
//! spelling besides that of the rules (G-09a). The names are set once per process, so the server is one.

mod manifests;
mod modules;
mod tokens;

use crate::harness::issuer::{RSA_2048, upload};
use crate::harness::prelude::*;

const ADMIN: Option<(&str, &str)> = Some(("admin", "admin-secret"));

/// The names of a vendor `Acme`.
const NAMES: [(&str, &str); 5] = [
    ("PLATFORM_NAMING_FRAGMENT_PREFIX", "acme_"),
    ("PLATFORM_NAMING_MODEL_PREFIX", "com_acme_"),
    ("PLATFORM_NAMING_MEDIA_TYPE_PREFIX", "application/vnd.com.acme."),
    ("PLATFORM_NAMING_HEADER_PREFIX", "X-Acme-"),
    ("PLATFORM_NAMING_AUTHENTICATION_EXTENSION", "com.acme.authn"),
];

/// Responses of errors have a media type with the vendor's prefix, which the reference does not know, so those are not
/// compared with it.
async fn status_of(request: crate::harness::Request) -> (u16, String) {
    let response = crate::harness::Response::of(request.head().await).await;
    (response.status, response.text)
}

async fn read(caller: &Caller, path: &str) -> Value {
    caller.request("GET", path).accepting_json().send().await.expect(200).json()
}

async fn create_device(caller: &Caller, name: &str) -> String {
    let device = json!({"name": name, "acme_IsDevice": {}, "com_acme_model_Agent": {}});
    let device = caller.create("/inventory/managedObjects", &device).await;
    device["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn words_with_the_name_of_the_vendor_are_understood_in_both_spellings() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    upload(&database, "main", RSA_2048.name, RSA_2048.public).await;
    let mut command = Program::command_on(&database, directory.path());
    command.envs(NAMES);
    let server = Program::serve_with(command);
    let admin = Caller::new(server.base(), ADMIN);

    tokens::issuer_has_either_spelling(&admin).await;
    manifests::manifest_has_either_file_name(&admin).await;
    manifests::manifests_of_any_shape_are_taken(&admin).await;
    modules::modules_of_the_vendor_are_deployed(&admin).await;
    modules::modules_of_the_vendor_act(&admin).await;
}
