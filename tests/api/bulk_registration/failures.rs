//! A row that fails does not affect its neighbours (N-15).

use super::*;

#[tokio::test]
async fn failed_row_is_listed_with_its_line_and_without_its_password() {
    let (_server, admin) = TestServer::start().await.with_admin();

    let file = "ID;CREDENTIALS\n\n\"a\n1\";secret-of-a-machine\n\na2;short\n";
    let result = register(&admin, file).await;

    let expected = json!([
        {
            "bulkNewDeviceStatus": "FAILED",
            "deviceId": "a\n1",
            "failureReason": result["failedCreationList"][0]["failureReason"],
            "line": "DeviceInfo{id='a\n1', credentials='***', tenant='main'}",
        },
        {
            "bulkNewDeviceStatus": "FAILED",
            "deviceId": "a2",
            "failureReason": "Line 6: Invalid value of 'password'; allowed: 6 to 32 Latin-1 characters",
            "line": "DeviceInfo{id='a2', credentials='***', tenant='main'}",
        },
    ]);
    assert_eq!(result["failedCreationList"], expected);
    assert!(failures(&result)[0].1.starts_with("Line 3: Invalid value of 'id'"), "{result}");
    assert!(!result.to_string().contains("short") && !result.to_string().contains(SECRET));
}

#[tokio::test]
async fn every_reason_leaves_its_row_out_and_no_other() {
    let (server, admin) = TestServer::start().await.with_admin();
    register(&admin, format!("ID;CREDENTIALS;TYPE;NAME;external-imei\nknown;{SECRET};t;n;4711\n")).await;

    let long = "x".repeat(1001);
    let file = [
        "ID;CREDENTIALS;TYPE;NAME;IDTYPE;external-imei;AUTH_TYPE;SHELL".to_owned(),
        format!("first;{SECRET};t;n;;;;"),
        format!("few;{SECRET}"),
        format!("many;{SECRET};t;n;;;;;;;"),
        format!(";{SECRET};t;n;;;;"),
        format!("co:lon;{SECRET};t;n;;;;"),
        format!("{long};{SECRET};t;n;;;;"),
        "short;five5;t;n;;;;".into(),
        format!("long;{};t;n;;;;", "x".repeat(33)),
        "cyrillic;сeкрeт-1;t;n;;;;".into(),
        "none;;t;n;;;;".into(),
        format!("first;{SECRET};t;n;;;;"),
        format!("taken;{SECRET};t;n;;4711;;"),
        format!("known;{SECRET};t;n;;;;"),
        format!("one;{SECRET};t;n;;4712;;"),
        format!("same;{SECRET};t;n;;4712;;"),
        format!("serial;{SECRET};t;n;plat_Serial;;;"),
        format!("half;{SECRET};t;;;;;"),
        format!("certificate;{SECRET};t;n;;;CERTIFICATES;"),
        format!("oauth;{SECRET};t;n;;;OAUTH;"),
        format!("basic;{SECRET};t;n;;;basic;"),
        format!("shell;{SECRET};t;n;;;;true"),
        format!("last;{SECRET};t;n;;;;0"),
    ];
    let result = register(&admin, file.join("\n")).await;

    let texts = [
        "2 columns; allowed: 8",
        "11 columns; allowed: 8",
        "'id'",
        "'id': co:lon",
        "'id'",
        "6 to 32",
        "6 to 32",
        "Latin-1",
        "6 to 32",
        "Duplicate ID",
        "Duplicate external id: ID [type=imei, value=4711]",
        "Duplicate external id: ID [type=imei, value=4712]",
        "TYPE and NAME",
        "CERTIFICATES",
        "OAUTH",
        "'SHELL': true",
    ];
    let failed = failures(&result);
    assert_eq!(failed.len(), texts.len(), "{failed:#?}");
    for ((id, reason), text) in failed.iter().zip(texts) {
        assert!(reason.contains(text), "{id}: {reason} instead of {text}");
    }
    assert_eq!(counts(&result), [22, 5, 16, 6]);
    for id in ["first", "one", "serial", "basic", "last", "known"] {
        assert_eq!(object_of(&admin, "plat_Serial", id).await["owner"], format!("device_{id}"));
    }
    assert_eq!(server.count("managed_objects").await, 6);
    let users = "SELECT name FROM users WHERE name LIKE 'device\\_%'";
    assert_eq!(server.database().query(users, &[]).await.len(), 6);
}

#[tokio::test]
async fn id_that_comes_again_fails_however_far_behind() {
    let (server, admin) = TestServer::shared().await.with_admin();
    register(&admin, fleet(1)).await;

    // There are more rows than are stored together. The first device exists already and gets a password, but no second
    // object.
    let file =
        fleet(1201) + &format!("a0;other-{SECRET};x;y\na1;other-{SECRET};x;y\na1200;other-{SECRET};x;y\n");
    let result = register(&admin, file).await;

    assert_eq!(counts(&result), [1204, 1200, 3, 1201]);
    for (id, reason) in failures(&result) {
        assert!(["a0", "a1", "a1200"].contains(&&*id) && reason.contains("Duplicate ID"), "{id}: {reason}");
        assert!(comes_in(&server.caller(&format!("device_{id}"), SECRET)).await, "{id}");
    }
}

#[tokio::test]
async fn all_rows_may_fail_and_the_response_is_201() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let result = register(&admin, "ID;CREDENTIALS\na;b\nc\n;;;\n").await;

    assert_eq!((counts(&result), failures(&result).len()), ([3, 0, 3, 0], 3));
    let misplaced = &result["failedCreationList"][1];
    assert!(misplaced.get("deviceId").is_none(), "{misplaced}");
}
