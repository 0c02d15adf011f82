//! Keys of tokens speak for any user: who may write them (T-09).

use super::*;
use crate::harness::issuer::{OTHER, RSA_512, RSA_1024, RSA_2048};

const CATEGORY: &str = "/tenant/options/token.publicKey";

/// Tries every way to write a key.
async fn write(caller: &Caller) -> [Response; 4] {
    [
        caller.post(OPTIONS, &option_of("token.publicKey", "tm", RSA_512.public)).await,
        caller.put(&format!("{CATEGORY}/tm"), &json!({"value": RSA_1024.public})).await,
        caller.put(CATEGORY, &json!({"tm": RSA_2048.public, "other": OTHER.public})).await,
        caller.delete(&format!("{CATEGORY}/tm")).await,
    ]
}

#[tokio::test]
async fn keys_of_tokens_need_the_right_to_administer_users() {
    let server = TestServer::shared().await;
    let manager = server.user_with("manager", &["ROLE_OPTION_MANAGEMENT_ADMIN"]).await;
    let users = server.user_with("users", &["ROLE_USER_MANAGEMENT_ADMIN"]).await;
    let both = ["ROLE_OPTION_MANAGEMENT_ADMIN", "ROLE_USER_MANAGEMENT_ADMIN"];
    let both = server.user_with("both", &both).await;

    for caller in [&manager, &users] {
        for answer in write(caller).await {
            assert_eq!((answer.status, &*answer.error()), (403, "security/Forbidden"), "{}", answer.text);
        }
    }
    assert_eq!(server.count("options").await, 0);
    assert_eq!(
        manager.post(OPTIONS, &option_of("mail", "host", "a")).await.status,
        201,
        "others are as before"
    );
    assert_eq!(write(&both).await.map(|answer| answer.status), [201, 200, 200, 204]);
}

#[tokio::test]
async fn category_of_keys_is_refused_before_the_body() {
    let server = TestServer::shared().await;
    let manager = server.user_with("manager", &["ROLE_OPTION_MANAGEMENT_ADMIN"]).await;

    for path in [CATEGORY.to_owned(), format!("{CATEGORY}/tm")] {
        manager.request("PUT", &path).body("{").send().await.expect(403);
    }
}

#[tokio::test]
async fn changes_are_audited_with_the_values_of_keys_and_without_those_of_other_options() {
    let (server, admin) = TestServer::shared().await.with_admin();
    admin.create(OPTIONS, &option_of("mail", "host", "a")).await;

    write(&admin).await;
    admin.put(&format!("{CATEGORY}/other"), &json!({"value": OTHER.public})).await;

    let change = |key: &str, previous: Value, new: Value, how: &str| {
        json!({"attribute": key, "type": "String",
        "previousValue": previous, "newValue": new, "changeType": how})
    };
    let record = |changes: Vec<Value>| {
        json!({"type": "Option", "activity": "Option update", "user": "admin", "severity": "warning",
            "changes": changes})
    };
    let none = Value::Null;
    let expected = [
        record(vec![change("tm", none.clone(), json!(RSA_512.public), "ADDED")]),
        record(vec![change("tm", json!(RSA_512.public), json!(RSA_1024.public), "REPLACED")]),
        record(vec![
            change("tm", json!(RSA_1024.public), json!(RSA_2048.public), "REPLACED"),
            change("other", none.clone(), json!(OTHER.public), "ADDED"),
        ]),
        record(vec![change("tm", json!(RSA_2048.public), none.clone(), "REMOVED")]),
    ];
    assert_eq!(server.audit_records("token.publicKey").await, expected);
    let of_mail = server.audit_records("mail").await;
    assert_eq!(of_mail, [record(vec![change("host", Value::Null, Value::Null, "ADDED")])]);
    assert_eq!(server.count("audit_records").await, 5);
    let page = admin.read("/audit/auditRecords?type=Option&pageSize=1").await;
    let link = page["auditRecords"][0]["source"]["self"].as_str().unwrap();
    assert_eq!(admin.get(link).await.status, 200, "{link}");
}

#[tokio::test]
async fn value_that_is_no_public_key_is_422_and_says_what_it_is_instead() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let key = RSA_2048.public;
    let labelled = |label: &str| key.replace("PUBLIC KEY", label);

    for (value, what) in [
        (labelled("CERTIFICATE"), "a certificate"),
        (labelled("PRIVATE KEY"), "a private key"),
        (labelled("RSA PRIVATE KEY"), "a private key"),
        (key.trim().replace('\n', "\\n"), "line ends are a backslash and a letter"),
        (key.replacen("MII", "MIJ", 1), "damaged"),
        ("tm".into(), "not a key"),
        (String::new(), "an empty text"),
    ] {
        for answer in [
            admin.post(OPTIONS, &option_of("token.publicKey", "tm", &value)).await,
            admin.put(&format!("{CATEGORY}/tm"), &json!({"value": value})).await,
            admin.put(CATEGORY, &json!({"other": key, "tm": value})).await,
        ] {
            assert_eq!(answer.status, 422, "{what}: {}", answer.text);
            let message = answer.message();
            assert!(message.starts_with("Invalid value of 'tm': ") && message.contains(what), "{message}");
            assert!(!message.contains("MII"), "{message}");
        }
    }
    let secret = admin.put(&format!("{CATEGORY}/credentials.x"), &json!({"value": key})).await.expect(422);
    assert!(secret.message().contains("credentials."), "{}", secret.text);
    assert_eq!(server.count("options").await, 0);
    // Windows writes other line ends, and a form may lose all of them.
    for value in [key.replace('\n', "\r\n"), key.replace('\n', "")] {
        admin.put(&format!("{CATEGORY}/tm"), &json!({"value": value})).await.expect(200);
    }
}
