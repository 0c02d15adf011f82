//! Columns of custom properties (N-14).

use super::*;

#[tokio::test]
async fn other_headers_are_custom_properties_and_dots_make_objects() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let file = format!(
        "ID;CREDENTIALS;TYPE;NAME;note;plat_Hardware.model;plat_Hardware.revision.major;list;object\n\
         a1;{SECRET};t;n;7;RX1;2;[1,2];{{\"x\":1}}\n"
    );
    register(&admin, file.replace("{\"x\":1}", "\"{\"\"x\"\":1}\"")).await;

    let object = object_of(&admin, "plat_Serial", "a1").await;
    assert_eq!(object["note"], "7");
    assert_eq!(object["plat_Hardware"], json!({"model": "RX1", "revision": {"major": "2"}}));
    assert_eq!((&object["list"], &object["object"]), (&json!("[1,2]"), &json!("{\"x\":1}")));
}

#[tokio::test]
async fn empty_value_skips_the_column_of_its_row() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let file = format!("ID;CREDENTIALS;TYPE;NAME;a;b.c\na1;{SECRET};t;n;;\na2;{SECRET};t;n;x;\n");
    register(&admin, file).await;

    let (one, other) =
        (object_of(&admin, "plat_Serial", "a1").await, object_of(&admin, "plat_Serial", "a2").await);
    assert_eq!((one.get("a"), one.get("b")), (None, None));
    assert_eq!((&other["a"], other.get("b")), (&json!("x"), None));
}

#[tokio::test]
async fn header_external_adds_an_external_id() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let file = format!("ID;CREDENTIALS;TYPE;NAME;external-imei;External-Mac\na1;{SECRET};t;n;4711;00:1b\n");
    register(&admin, file).await;

    for (type_, value) in [("plat_Serial", "a1"), ("imei", "4711"), ("Mac", "00:1b")] {
        assert_eq!(object_of(&admin, type_, value).await["owner"], "device_a1", "{type_}");
    }
}

#[tokio::test]
async fn names_that_no_fragment_may_have_are_422_for_the_file() {
    let (server, admin) = TestServer::start().await.with_admin();

    for column in ["$a", "a.$b", "a..b", ".a", "a.", &"x".repeat(2000)] {
        let answer = upload(&admin, format!("ID;CREDENTIALS;{column}\na1;{SECRET};x\n")).await;
        assert_eq!(answer.status, 422, "{column}: {}", answer.text);
    }
    for columns in ["a;a", "a;a.b", "a.b.c;x;a.b", "external-x;EXTERNAL-x", "name;NAME"] {
        let cells = "x;".repeat(columns.split(';').count());
        upload(&admin, format!("ID;CREDENTIALS;{columns}\na1;{SECRET};{cells}\n")).await.expect(422);
    }
    // A spreadsheet adds an empty last column, whose cells are empty, too (N-12a).
    let answer = upload(&admin, format!("ID;CREDENTIALS;\na1;{SECRET};x\n")).await;
    assert_eq!(answer.json()["numberOfFailed"], 1, "{}", answer.text);
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn what_the_server_alone_sets_is_ignored() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let file = format!(
        "ID;CREDENTIALS;TYPE;NAME;owner;self;creationTime;childDevices.references;plat_Availability.status\n\
         a1;{SECRET};t;n;admin;x;x;x;x\n"
    );
    register(&admin, file).await;

    let object = object_of(&admin, "plat_Serial", "a1").await;
    assert_eq!(object["owner"], "device_a1");
    assert!(
        object["self"].as_str().unwrap().starts_with("http")
            && object["childDevices"]["references"].is_array()
    );
    assert!(object.get("plat_Availability").is_none());
}

#[tokio::test]
async fn formulas_and_markup_are_plain_text() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let texts =
        ["=cmd()", "=1+1|'x'!A1", "+49", "-1", "@SUM(A1)", "<script>alert(1)</script>", "${jndi:x}", "%s%n"];

    let rows = texts.iter().enumerate().map(|(n, text)| format!("a{n},{SECRET},{text},{text},{text}\n"));
    let result =
        register(&admin, "ID,CREDENTIALS,TYPE,NAME,note\n".to_owned() + &rows.collect::<String>()).await;

    assert_eq!((counts(&result), failures(&result)), ([8, 8, 0, 8], vec![]));
    for (n, text) in texts.iter().enumerate() {
        let object = object_of(&admin, "plat_Serial", &format!("a{n}")).await;
        assert_eq!([&object["type"], &object["name"], &object["note"]], [text; 3]);
    }
}
