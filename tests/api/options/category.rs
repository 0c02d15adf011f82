//! The options of a category: GET and PUT of `/tenant/options/<category>`.

use super::*;

const MAIL: &str = "/tenant/options/mail";

#[tokio::test]
async fn category_is_a_flat_object_of_keys_and_values() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for (category, key) in [("mail", "host"), ("mail", "a.b"), ("other", "host")] {
        admin.create(OPTIONS, &option_of(category, key, "v")).await;
    }

    assert_eq!(admin.read(MAIL).await, json!({"a.b": "v", "host": "v"}));
    assert_eq!(admin.read("/tenant/options/unknown").await, json!({}));
    assert_eq!(admin.read("/tenant/options/access.control").await, json!({"allow.origin": "*"}));
}

#[tokio::test]
async fn put_of_a_category_merges_and_null_removes() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for key in ["a", "b", "c"] {
        admin.create(OPTIONS, &option_of("mail", key, "old")).await;
    }

    let answer = admin.put(MAIL, &json!({"b": "new", "c": null, "d.e": "new", "unknown": null})).await;

    let expected = json!({"a": "old", "b": "new", "d.e": "new"});
    assert_eq!((answer.status, answer.json()), (200, expected.clone()), "{}", answer.text);
    assert_eq!(admin.read(MAIL).await, expected);
}

#[tokio::test]
async fn empty_put_of_a_category_changes_nothing() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.put(MAIL, &json!({})).await;

    assert_eq!((answer.status, answer.json()), (200, json!({})));
}

#[tokio::test]
async fn wrong_value_refuses_the_whole_put() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for wrong in [json!({"a": "v", "b": 1}), json!({"a": "v", "b": {}}), json!({"a": "v", "": "v"})] {
        admin.put(MAIL, &wrong).await.expect(422);
    }
    let mut long = json!({"a": "v"});
    long[&*"k".repeat(257)] = json!("v");
    assert_eq!(admin.put(MAIL, &long).await.status, 422);
    assert_eq!(admin.read(MAIL).await, json!({}));
}

#[tokio::test]
async fn option_that_is_not_editable_refuses_the_whole_put() {
    let (server, admin) = TestServer::start().await.with_admin();
    admin.create(OPTIONS, &option_of("mail", "fixed", "old")).await;
    let path = "/tenant/options/mail/fixed/editable?tenantId=main";
    assert_eq!(management(&server).put(path, &json!({"editable": "false"})).await.status, 200);

    admin.put(MAIL, &json!({"free": "new", "fixed": "new"})).await.expect_error(403, "security/Forbidden");

    assert_eq!(admin.read(MAIL).await, json!({"fixed": "old"}));
}

#[tokio::test]
async fn writers_of_the_same_keys_do_not_stop_each_other() {
    let server = TestServer::shared().await;
    let keys: Vec<String> = (0..40).map(|n| format!("k{n}")).collect();
    let body = |keys: &mut dyn Iterator<Item = &String>| {
        keys.map(|key| (key.clone(), json!("v"))).collect::<serde_json::Map<_, _>>()
    };
    let (forwards, backwards) = (body(&mut keys.iter()), body(&mut keys.iter().rev()));

    let writers: Vec<_> = (0..8)
        .map(|n| {
            let (admin, body) =
                (server.admin(), if n % 2 == 0 { forwards.clone() } else { backwards.clone() });
            tokio::spawn(async move { admin.put(MAIL, &body.into()).await.status })
        })
        .collect();

    for writer in writers {
        assert_eq!(writer.await.unwrap(), 200);
    }
    assert_eq!(server.count("options").await, 40);
}
