//! Keys of tokens speak for any user: who may write them (T-09).

use serde_json::{Value, json};

use super::{OPTIONS, option_of};
use crate::harness::{Caller, Response, TestServer};

const CATEGORY: &str = "/tenant/options/token.publicKey";

/// Tries every way to write a key.
async fn write(caller: &Caller) -> [Response; 4] {
    [
        caller.post(OPTIONS, &option_of("token.publicKey", "tm", "a")).await,
        caller.put(&format!("{CATEGORY}/tm"), &json!({"value": "b"})).await,
        caller.put(CATEGORY, &json!({"tm": "c", "other": "d"})).await,
        caller.delete(&format!("{CATEGORY}/tm")).await,
    ]
}

#[tokio::test]
async fn keys_of_tokens_need_the_right_to_administer_users() {
    let server = TestServer::start().await;
    let manager = server.user_with("manager", &["ROLE_OPTION_MANAGEMENT_ADMIN"]).await;
    let users = server.user_with("users", &["ROLE_USER_MANAGEMENT_ADMIN"]).await;
    let both = ["ROLE_OPTION_MANAGEMENT_ADMIN", "ROLE_USER_MANAGEMENT_ADMIN"];
    let both = server.user_with("both", &both).await;

    for caller in [&manager, &users] {
        for answer in write(caller).await {
            assert_eq!((answer.status, &*answer.error()), (403, "security/Forbidden"), "{}", answer.text);
        }
    }
    assert_eq!(server.database().count("options").await, 0);
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
async fn changes_of_keys_are_audited_and_those_of_other_options_are_not() {
    let (server, admin) = TestServer::start().await.with_admin();
    admin.create(OPTIONS, &option_of("mail", "host", "a")).await;

    write(&admin).await;
    admin.put(&format!("{CATEGORY}/other"), &json!({"value": "d"})).await;
    admin.put(&format!("{CATEGORY}/credentials.x"), &json!({"value": "hidden"})).await;

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
        record(vec![change("tm", none.clone(), json!("a"), "ADDED")]),
        record(vec![change("tm", json!("a"), json!("b"), "REPLACED")]),
        record(vec![
            change("tm", json!("b"), json!("c"), "REPLACED"),
            change("other", none.clone(), json!("d"), "ADDED"),
        ]),
        record(vec![change("tm", json!("c"), none.clone(), "REMOVED")]),
        record(vec![change("credentials.x", none, json!("<<Encrypted>>"), "ADDED")]),
    ];
    assert_eq!(server.database().audit_records("token.publicKey").await, expected);
    assert_eq!(server.database().count("audit_records").await, 5);
    let page = admin.read("/audit/auditRecords?type=Option&pageSize=1").await;
    let link = page["auditRecords"][0]["source"]["self"].as_str().unwrap();
    assert_eq!(admin.get(link).await.status, 200, "{link}");
}
