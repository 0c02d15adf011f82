//! Commands at a server with other vendor words than the default ones.

use super::*;

#[tokio::test]
async fn commands_use_the_vendor_words_of_the_server() {
    let directory = scratch_with_data();
    let here = directory.path();
    let mut command = Program::command(here, &[]);
    command.env("PLATFORM_ADMIN_PASSWORD", ADMIN_PASSWORD);
    command.env("PLATFORM_NAMING_FRAGMENT_PREFIX", "acme_").env("PLATFORM_NAMING_MODEL_PREFIX", "com_acme_");
    let server = Program::serve_with(command);
    let admin = Caller::new(server.base(), Some((USER, ADMIN_PASSWORD)));

    printed(here, &["login", server.base(), "--user", USER], ADMIN_PASSWORD);
    let id = printed(here, &["device", "create", "--name", "pump", "--agent", "-o", "id"], "");
    let device = admin
        .request("GET", &format!("/inventory/managedObjects/{}", id.trim()))
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!((&device["acme_IsDevice"], &device["com_acme_model_Agent"]), (&json!({}), &json!({})));
    assert_eq!(printed(here, &["device", "list", "-o", "id"], ""), id);
    printed(here, &["operation", "create", "--device", id.trim(), "--restart"], "");
    let operations = printed(here, &["operation", "list", "-o", "jsonl"], "");
    let operation: Value = serde_json::from_str(&operations).unwrap();
    assert_eq!(operation["acme_Restart"], json!({}));

    // A script has no stored profile; it sets the same variables as the server.
    let mut command = Program::command(here, &["device", "list", "-o", "id"]);
    command
        .env("PLATFORM_URL", server.base())
        .env("PLATFORM_USER", USER)
        .env("PLATFORM_PASSWORD", ADMIN_PASSWORD);
    command.env("PLATFORM_NAMING_FRAGMENT_PREFIX", "acme_");
    assert_eq!(String::from_utf8(run(command, "").stdout).unwrap(), id);
}
