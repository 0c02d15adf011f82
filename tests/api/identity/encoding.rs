//! Percent-encoding of types and values in paths (D-03).

use super::*;

/// Types and values with the path segments that name them.
const NAMES: [(&str, &str); 12] = [
    ("a/b", "a%2Fb"),
    ("a%2Fb", "a%252Fb"),
    ("100%", "100%25"),
    ("a+b", "a+b"),
    ("a b", "a%20b"),
    ("a?b#c", "a%3Fb%23c"),
    ("ünïcödé 温度 🌡", "%C3%BCn%C3%AFc%C3%B6d%C3%A9%20%E6%B8%A9%E5%BA%A6%20%F0%9F%8C%A1"),
    ("{type}", "%7Btype%7D"),
    ("a;b=c,d&e", "a;b=c,d&e"),
    ("\"quoted\\\"", "%22quoted%5C%22"),
    ("//", "%2F%2F"),
    ("a\nb\tc", "a%0Ab%09c"),
];

#[tokio::test]
async fn every_text_is_found_by_its_encoded_path_as_type_and_as_value() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for (text, segment) in NAMES {
        let id = name(&admin, &device, text, text).await;
        let path = format!("/identity/externalIds/{segment}/{segment}");
        let found = admin.read(&path).await;
        assert_eq!((&found["type"], &found["externalId"]), (&json!(text), &json!(text)), "{segment}");
        assert_eq!(admin.read(id["self"].as_str().unwrap()).await, found, "its own link leads to it");
    }
    for (_, segment) in NAMES {
        admin.delete(&format!("/identity/externalIds/{segment}/{segment}")).await.expect(204);
    }
    assert_eq!(server.count("external_ids").await, 0);
}

#[tokio::test]
async fn comparison_is_exact() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    name(&admin, &device, "Serial", "Straße").await;
    // The first name has the precomposed letter, the second the same letter as two code points.
    name(&admin, &device, "Serial", "\u{e9}").await;

    for path in [
        "serial/Stra%C3%9Fe",
        "Serial/stra%C3%9Fe",
        "Serial/Strasse",
        "Serial/Stra%C3%9Fe%20",
        "%20Serial/Stra%C3%9Fe",
        "Serial/e%CC%81",
    ] {
        assert_eq!(admin.get(&format!("/identity/externalIds/{path}")).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn paths_that_name_nothing_possible_are_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let long = "x".repeat(1025);

    for path in ["a/%00", "%00/a", "a/%ff", "a/%C3", &format!("{long}/a"), &format!("a/{long}")] {
        for method in ["GET", "DELETE"] {
            admin.request(method, &format!("/identity/externalIds/{path}")).send().await.expect(422);
        }
    }
    for path in ["a", "a/b/c", "a/"] {
        assert_eq!(admin.get(&format!("/identity/externalIds/{path}")).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn longest_type_and_value_are_stored() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    // The text is random enough not to be compressed below the size limit of an index entry.
    let long: String =
        (0..1024_u32).map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 24) as u8 % 26)).collect();

    let answer = admin.post(&ids_of(&device), &pair(&long, &long)).await.expect(201);

    assert_eq!(admin.read(answer.header("Location").unwrap()).await["externalId"], json!(long));
}
