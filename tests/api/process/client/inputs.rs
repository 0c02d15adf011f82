//! Values of the flags of commands: passwords, values with hyphens, times before now.

use super::*;

#[tokio::test]
async fn passwords_come_from_a_pipe_or_a_file() {
    let (server, directory) = logged_in_alone().await;
    let here = directory.path();
    let create = |name: &'static str, password: &'static str| {
        ["user", "create", "--user-name", name, "--email", "joe@example.com", "--password", password]
    };

    printed(here, &create("joe", "-"), "secret of joe 1\n");
    std::fs::write(here.join("secret"), "secret of mia 2\n").unwrap();
    printed(here, &create("mia", "@secret"), "");
    let tenant = [
        "tenant",
        "create",
        "--id",
        "plant7",
        "--domain",
        "plant7.example.com",
        "--company",
        "Acme",
        "--admin-name",
        "max",
        "--admin-email",
        "max@example.com",
        "--admin-pass",
        "-",
    ];
    let management = ["login", server.base(), "--user", "management/admin"];
    printed(here, &management, crate::harness::ADMIN_PASSWORD);
    printed(here, &tenant, "secret of max 3\n");

    for (user, password) in
        [("main/joe", "secret of joe 1"), ("main/mia", "secret of mia 2"), ("plant7/max", "secret of max 3")]
    {
        printed(here, &["login", server.base(), "--user", user, "--profile", "new"], password);
    }
    printed(here, &["login", server.base(), "--user", USER], crate::harness::ADMIN_PASSWORD);
    let (code, message) = refused(here, &create("tom", "-"), "");
    assert!(code == 2 && message.contains("the first line of the pipe"), "{code} {message}");
    let (code, message) = refused(here, &create("tom", "@absent"), "");
    assert!(code == 1 && message.contains("absent"), "{code} {message}");
    let help = printed(here, &["user", "create", "--help"], "");
    assert!(help.contains("@FILE reads a file"), "{help}");
}

#[tokio::test]
async fn values_may_begin_with_a_hyphen() {
    let (_server, directory) = logged_in().await;
    let here = directory.path();

    let create = ["option", "create", "--category", "notes", "--key", "line", "--value", "-----BEGIN LINE"];
    let option: Value = serde_json::from_str(&printed(here, &create, "")).unwrap();

    assert_eq!(option["value"], "-----BEGIN LINE");
    let (code, message) = refused(here, &["device", "list", "--limit", "-1"], "");
    assert!(code == 2 && message.contains("a whole number from 1 on"), "{code} {message}");
}

#[tokio::test]
async fn times_may_be_before_now() {
    let (server, directory) = logged_in().await;
    let here = directory.path();
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let mut old = event_of(&device, "old");
    old["time"] = json!("2020-01-01T00:00:00Z");
    admin.create("/event/events", &old).await;
    printed(here, &["event", "create", "--device", &device, "--type", "new", "--text", "x"], "");

    let types = |flag: &str, time: &str| {
        printed(here, &["event", "list", flag, time, "-o", "csv", "--columns", "type"], "")
    };
    assert_eq!(types("--date-from", "-1h"), "type\nnew\n");
    assert_eq!(types("--date-to", "-1h"), "type\nold\n");
}

#[tokio::test]
async fn columns_that_no_object_has_are_named() {
    let (server, directory) = logged_in().await;
    server.admin().create_device("pump").await;
    let said = |arguments: &[&str]| {
        let output = client(directory.path(), &[&["device", "list"], arguments].concat(), "");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said(&["--columns", "name,nosuch"]).contains("no object has nosuch"));
    assert!(said(&["--columns", "name", "-o", "json"]).contains("tables and CSV only"));
    assert_eq!(said(&["--columns", "name"]), "");
    assert_eq!(said(&[]), "");
    let (code, message) = refused(directory.path(), &["device", "update", "1", "--set", "id=5"], "");
    assert!(code == 2 && message.contains("cannot be changed"), "{code} {message}");
}
