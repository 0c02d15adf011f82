//! One option: POST, GET, PUT, DELETE.

use super::*;

const HOST: &str = "/tenant/options/mail/host";

#[tokio::test]
async fn post_creates_with_201_and_overwrites_with_200() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let created = admin.post(OPTIONS, &option_of("mail", "host", "a")).await;
    let overwritten = admin.post(OPTIONS, &option_of("mail", "host", "b")).await;

    let shown = |value: &str| {
        json!({"self": "<base>/tenant/options/mail/host", "category": "mail", "key": "host",
        "value": value})
    };
    let redact = |value: &Value| redacted(value, &[(server.base(), "<base>")]);
    assert_eq!((created.status, redact(&created.json())), (201, shown("a")));
    assert_eq!(created.header("Location"), Some(&*format!("{}{HOST}", server.base())));
    assert_eq!((overwritten.status, redact(&overwritten.json())), (200, shown("b")));
    assert_eq!(redact(&admin.read(HOST).await), shown("b"));
}

#[tokio::test]
async fn put_sets_a_value_whether_or_not_it_was_there() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for value in ["a", "b", ""] {
        let answer = admin.put(HOST, &json!({"value": value})).await;
        assert_eq!((answer.status, &answer.json()["value"]), (200, &json!(value)), "{}", answer.text);
        assert_eq!(admin.read(HOST).await["value"], value);
    }
}

#[tokio::test]
async fn deleted_option_is_gone() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    admin.create(OPTIONS, &option_of("mail", "host", "a")).await;

    let (first, second) = (admin.delete(HOST).await, admin.delete(HOST).await);

    assert_eq!((first.status, &*first.text), (204, ""));
    assert_eq!((second.status, second.error().as_str()), (404, "tenants/Not Found"));
    let read = admin.get(HOST).await;
    let message = "Finding option from database failed : No option for gid 'mail/host'!";
    assert_eq!((read.status, read.message().as_str()), (404, message));
}

#[tokio::test]
async fn responses_have_the_media_type_of_options_and_no_body_without_accept() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let silent = RawConnection::without_accept(&admin, "PUT", HOST, &json!({"value": "a"})).await;
    let read = admin.get(HOST).await;

    assert_eq!((silent.status, &*silent.text), (200, ""));
    read.expect_media("option");
}

#[tokio::test]
async fn names_are_kept_and_linked_whatever_their_characters() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (category, key) in [
        ("a b", "c/d"),
        ("ä€", "日本"),
        ("a%2Fb", "c?d#e"),
        ("configuration", "x.y-z_~"),
        ("<script>", "\"quoted\" & 'so'"),
        ("a+b", "1=2;3"),
    ] {
        let created = admin.create(OPTIONS, &option_of(category, key, "v")).await;
        let link = created["self"].as_str().unwrap();
        assert_eq!(admin.read(link).await, created, "{link}");
        assert_eq!(admin.delete(link).await.status, 204, "{link}");
    }
}

#[tokio::test]
async fn names_have_at_most_256_characters() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (longest, longer) = ("ä".repeat(256), "x".repeat(257));

    let created = admin.create(OPTIONS, &option_of(&longest, &longest, "v")).await;

    assert_eq!(admin.read(created["self"].as_str().unwrap()).await["key"], longest);
    for (category, key) in [(&*longer, "k"), ("c", &*longer), ("", "k"), ("c", "")] {
        admin.post(OPTIONS, &option_of(category, key, "v")).await.expect(422);
    }
    assert_eq!(admin.put(&format!("{OPTIONS}/c/{longer}"), &json!({"value": "v"})).await.status, 422);
    assert_eq!(admin.get(&format!("{OPTIONS}/c/{longer}")).await.status, 404);
}

#[tokio::test]
async fn missing_members_are_listed_and_wrong_ones_named() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let missing = admin.post(OPTIONS, &json!({"key": null})).await;
    let message = "Following mandatory fields should be included: category,key,value";
    assert_eq!((missing.status, missing.message().as_str()), (422, message));
    assert_eq!(admin.put(HOST, &json!({})).await.status, 422);
    for value in [json!(1), json!(true), json!({}), json!(["a"]), json!("x".repeat(70_000))] {
        for (method, path) in [("POST", OPTIONS), ("PUT", HOST)] {
            let mut body = option_of("mail", "host", "a");
            body["value"] = value.clone();
            admin.request(method, path).json(&body).send().await.expect_message(422, "'value'");
        }
    }
    assert_eq!(server.count("options").await, 0);
}

#[tokio::test]
async fn hostile_paths_and_bodies_are_4xx() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for path in ["%00/k", "c/%00", "%0A/k", "c/%FF"] {
        for method in ["GET", "PUT", "DELETE"] {
            let path = format!("{OPTIONS}/{path}");
            let answer = admin.request(method, &path).json(&json!({"value": "v"})).send().await;
            assert!((400..500).contains(&answer.status) || path.contains("%FF"), "{method} {path}");
            assert!(answer.status < 500, "{method} {path}: {}", answer.text);
        }
    }
    for (body, status) in
        [("{", 400), ("[]", 400), ("", 422), (r#"{"value":"\u0000"}"#, 422), (r#"{"value":"\ud800"}"#, 422)]
    {
        admin.request("PUT", HOST).body(body).send().await.expect(status);
    }
    admin.request("PUT", HOST).header("Content-Type", "text/plain").body("a").send().await.expect(415);
}

#[tokio::test]
async fn read_role_reads_and_admin_role_writes() {
    let (server, admin) = TestServer::shared().await.with_admin();
    admin.create(OPTIONS, &option_of("mail", "host", "a")).await;
    let reader = server.user_with("reader", &["ROLE_OPTION_MANAGEMENT_READ"]).await;
    let writer = server.user_with("writer", &["ROLE_OPTION_MANAGEMENT_ADMIN"]).await;
    let paths = [OPTIONS, HOST, "/tenant/options/mail"];

    for path in paths {
        assert_eq!((reader.get(path).await.status, writer.get(path).await.status), (200, 403), "{path}");
    }
    for (method, path, body, allowed) in [
        ("POST", OPTIONS, option_of("mail", "host", "b"), 200),
        ("PUT", HOST, json!({"value": "c"}), 200),
        ("PUT", "/tenant/options/mail", json!({"host": "d"}), 200),
        ("DELETE", HOST, json!({}), 204),
    ] {
        let by = async |caller: &crate::harness::Caller| {
            caller.request(method, path).json(&body).send().await.status
        };
        assert_eq!((by(&reader).await, by(&writer).await), (403, allowed), "{method} {path}");
    }
}

#[tokio::test]
async fn predefined_option_has_its_value_until_it_is_set_and_again_when_it_is_deleted() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = "/tenant/options/access.control/allow.origin";

    let value = async || admin.read(path).await["value"].clone();
    assert_eq!(value().await, "*");
    admin.put(path, &json!({"value": "https://a.example.com"})).await;
    assert_eq!(value().await, "https://a.example.com");
    assert_eq!(admin.delete(path).await.status, 204);
    assert_eq!(value().await, "*");
    assert_eq!(without(&admin.read(path).await, &["self"]), option_of("access.control", "allow.origin", "*"));
}
