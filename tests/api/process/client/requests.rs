//! `platform api` sends what other programs send: headers, texts, files and forms, and it reads all pages.

use super::*;

#[tokio::test]
async fn any_request_has_its_headers_and_its_body() {
    let (server, directory) = logged_in().await;
    let here = directory.path();
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let event = admin.create_event(&device, "door").await;
    std::fs::write(here.join("door.log"), "opened\n").unwrap();

    let path = format!("/event/events/{}/binaries", event["id"].as_str().unwrap());
    printed(here, &["api", "POST", &path, "--file", "door.log"], "");
    assert_eq!(printed(here, &["api", "GET", &path], ""), "opened\n");
    let put = ["api", "PUT", &path, "--data", "closed", "-H", "Content-Type: text/plain"];
    printed(here, &put, "");
    assert_eq!(printed(here, &["api", "GET", &path, "-H", "Range: bytes=0-1"], ""), "cl");
    let form = [
        "api",
        "POST",
        "/inventory/binaries",
        "--form",
        "door.log",
        "--data",
        r#"{"name": "log", "type": "text/plain"}"#,
    ];
    let stored: Value = serde_json::from_str(&printed(here, &form, "")).unwrap();
    assert_eq!(stored["name"], "log");

    let (code, message) = refused(here, &["api", "GET", "/alarm/alarms", "-H", "nothing"], "");
    assert!(code == 2 && message.contains("NAME: VALUE"), "{code} {message}");
    let (code, message) = refused(here, &["api", "POST", "/alarm/alarms", "--data", "x"], "");
    assert!(code == 2 && message.contains("Content-Type"), "{code} {message}");
}

#[tokio::test]
async fn all_pages_of_any_list_are_printed() {
    let (server, directory) = logged_in().await;
    let admin = server.admin();
    for name in ["a", "b", "c"] {
        admin.create_device(name).await;
    }
    let list = "/inventory/managedObjects?fragmentType=plat_IsDevice&pageSize=1";

    let pages = printed(directory.path(), &["api", "GET", list, "--all"], "");

    let names = pages.lines().flat_map(|page| {
        let page: Value = serde_json::from_str(page).unwrap();
        page["managedObjects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|object| object["name"].to_string())
            .collect::<Vec<_>>()
    });
    assert_eq!(names.collect::<Vec<_>>(), ["\"a\"", "\"b\"", "\"c\""]);
}
