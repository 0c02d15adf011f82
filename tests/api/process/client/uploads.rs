//! Files of events and of the inventory, and archives of applications.

use std::fs;

use super::*;

#[tokio::test]
async fn file_of_an_event_is_uploaded_replaced_and_downloaded() {
    let (server, directory) = logged_in_alone().await;
    let here = directory.path();
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let event = admin.create_event(&device, "log").await;
    let id = event["id"].as_str().unwrap();
    let [first, second] = ["first.log", "second.json"].map(|name| here.join(name));
    // The file is sent in several pieces, and all of them differ.
    let long: Vec<u8> = (0..1_500_000_u32).flat_map(|n| n.to_le_bytes()).collect();
    fs::write(&first, &long).unwrap();
    fs::write(&second, "{}").unwrap();
    let [first, second] = [&first, &second].map(|path| path.to_str().unwrap());

    let stored: Value = serde_json::from_str(&printed(here, &["event", "upload", id, first], "")).unwrap();
    assert_eq!(stored["length"], long.len(), "{stored}");
    let copy = here.join("copy");
    let download = ["event", "download", id, copy.to_str().unwrap()];
    printed(here, &download, "");
    assert!(fs::read(&copy).unwrap() == long, "the copy is the same");
    let (code, message) = refused(here, &download, "");
    assert!(code == 5 && message.contains("exists"), "{code} {message}");

    assert_eq!(refused(here, &["event", "upload", id, second], "").0, 5);
    let stored: Value = serde_json::from_str(&printed(here, &["event", "replace", id, second], "")).unwrap();
    assert_eq!(stored["type"], "application/json", "{stored}");
    assert_eq!(printed(here, &["event", "download", id], ""), "{}");
    let (code, message) = refused(here, &["event", "upload", id, "nowhere"], "");
    assert!(code == 1 && message.contains("nowhere"), "{code} {message}");
}

#[tokio::test]
async fn file_of_the_inventory_has_its_own_object() {
    let (_server, directory) = logged_in().await;
    let here = directory.path();
    let file = here.join("a \"quoted\" name.txt");
    fs::write(&file, "Turn it off and on again.").unwrap();
    let file = file.to_str().unwrap();

    let upload = ["file", "upload", file, "--set", "acme_Version=2"];
    let told = printed(here, &[&upload[..], &["--dry-run"]].concat(), "");
    assert!(told.contains("25 bytes of"), "{told}");
    let object: Value = serde_json::from_str(&printed(here, &upload, "")).unwrap();
    assert_eq!((&object["name"], &object["type"]), (&"a \"quoted\" name.txt".into(), &"text/plain".into()));
    assert_eq!(object["acme_Version"], 2);
    let id = object["id"].as_str().unwrap();
    assert_eq!(printed(here, &["file", "list", "-o", "id"], "").trim(), id);
    assert_eq!(printed(here, &["file", "download", id], ""), "Turn it off and on again.");

    let other = here.join("other.txt");
    fs::write(&other, "Read the manual.").unwrap();
    printed(here, &["file", "replace", id, other.to_str().unwrap()], "");
    assert_eq!(printed(here, &["file", "download", id], ""), "Read the manual.");
    printed(here, &["file", "delete", id], "");
    assert_eq!(refused(here, &["file", "download", id], "").0, 3);
}

#[tokio::test]
async fn archive_of_an_application_is_served() {
    let (server, directory) = logged_in_alone().await;
    let here = directory.path();
    let archive = here.join("hello.zip");
    fs::write(&archive, web_archive(&[("index.html", "<h1>Hello</h1>")])).unwrap();
    let create = ["application", "create", "--name", "hello", "--key", "hello-key", "--type", "HOSTED"];
    let create = [&create[..], &["--context-path", "hello", "--resources-url", "/", "-o", "id"]].concat();
    let id = printed(here, &create, "");

    printed(here, &["application", "upload", id.trim(), archive.to_str().unwrap()], "");

    let page = server.stranger().get("/apps/hello/").await.expect(200);
    assert_eq!(page.text, "<h1>Hello</h1>");
}
