//! The valid values of the members of an application (docs/rules.md#applications-and-microservices; W-04, C-10).

use super::*;

#[tokio::test]
async fn members_of_the_server_are_not_read_from_a_body() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let mut body = hosted("a");
    body["id"] = json!("4711");
    body["self"] = json!("x");
    body["owner"] = json!({"tenant": {"id": "management"}});
    body["activeVersionId"] = json!("7");
    body["manifest"] = json!({"name": "x"});
    body["route"] = json!("http://localhost:1");
    body["plat_X"] = json!({});

    let application = admin.create(APPLICATIONS, &body).await;

    assert_ne!(application["id"], "4711");
    assert_eq!(application["owner"]["tenant"]["id"], "main");
    for member in ["activeVersionId", "manifest", "route", "plat_X"] {
        assert!(application[member].is_null(), "{application}");
    }
}

#[tokio::test]
async fn null_counts_as_absent() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let mut body = hosted("a");
    for member in
        ["availability", "resourcesUsername", "resourcesPassword", "externalUrl", "requiredRoles", "roles"]
    {
        body[member] = Value::Null;
    }

    let application = admin.create(APPLICATIONS, &body).await;

    assert_eq!(
        without(&application, &["id", "self", "owner"]),
        json!({"name": "a", "key": "a-key", "type": "HOSTED", "availability": "PRIVATE", "contextPath": "a",
            "resourcesUrl": "/", "requiredRoles": [], "roles": []})
    );
}

#[tokio::test]
async fn missing_members_are_listed_by_type() {
    let (_server, admin) = TestServer::start().await.with_admin();

    for (body, members) in [
        (json!({}), "name,key,type"),
        (json!({"type": "HOSTED", "name": "a"}), "key,contextPath,resourcesUrl"),
        (json!({"type": "EXTERNAL", "name": null}), "name,key,externalUrl"),
        (json!({"type": "MICROSERVICE", "key": "k"}), "name"),
        (json!({"type": "APAMA_CEP_RULE", "name": "a"}), "key"),
    ] {
        let answer = admin.post(APPLICATIONS, &body).await;
        let message = format!("Following mandatory fields should be included: {members}");
        assert_eq!((answer.status, answer.message()), (422, message), "{body}");
    }
}

#[tokio::test]
async fn wrong_values_are_422_and_named() {
    let (server, admin) = TestServer::start().await.with_admin();
    let applications = server.count("applications").await;
    let long = |count| json!("x".repeat(count));

    for (member, value) in [
        ("name", long(129)),
        ("name", json!("")),
        ("name", json!("a\nb")),
        ("name", json!(7)),
        ("key", long(129)),
        ("key", json!("")),
        ("key", json!("kä")),
        ("key", json!(" k")),
        ("key", json!(7)),
        ("type", json!("hosted")),
        ("type", json!("OTHER")),
        ("type", json!(["HOSTED"])),
        ("availability", json!("PUBLIC")),
        ("availability", json!("market")),
        ("availability", json!(true)),
        ("contextPath", long(256)),
        ("contextPath", json!("a/b")),
        ("contextPath", json!("..")),
        ("contextPath", json!("")),
        ("contextPath", json!("a%2fb")),
        ("contextPath", json!({})),
        ("resourcesUrl", json!("x")),
        ("resourcesUrl", json!("//example.com")),
        ("resourcesUrl", json!(format!("https://example.com/{}", "x".repeat(236)))),
        ("resourcesUsername", long(256)),
        ("resourcesUsername", json!("a\nb")),
        ("resourcesPassword", long(256)),
        ("resourcesPassword", json!("")),
        ("resourcesPassword", json!(7)),
        ("externalUrl", json!("javascript:alert(1)")),
        ("externalUrl", json!("https://joe:secret@example.com")),
        ("externalUrl", json!("")),
        ("requiredRoles", json!("ROLE_ALARM_READ")),
        ("requiredRoles", json!([7])),
        ("requiredRoles", json!(vec!["ROLE_ALARM_READ"; 201])),
    ] {
        let mut body = hosted("a");
        body[member] = value.clone();
        let answer = admin.post(APPLICATIONS, &body).await.expect_error(422, "undefined/validationError");
        assert!(answer.message().contains(&format!("'{member}'")), "{member}: {}", answer.message());
    }
    assert_eq!(server.count("applications").await, applications);
}

#[tokio::test]
async fn longest_allowed_values_are_kept() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let mut body = hosted("a");
    for (member, value) in [
        ("name", "ä".repeat(128)),
        ("key", "k".repeat(128)),
        ("contextPath", "x".repeat(255)),
        ("resourcesUrl", format!("https://example.com/{}", "ä".repeat(235))),
        ("externalUrl", format!("/{}", "x".repeat(254))),
        ("resourcesUsername", "ä".repeat(255)),
    ] {
        body[member] = json!(value);
    }

    let application = admin.create(APPLICATIONS, &body).await;

    for member in ["name", "key", "contextPath", "resourcesUrl", "externalUrl", "resourcesUsername"] {
        assert_eq!(application[member], body[member], "{member}");
    }
}

#[tokio::test]
async fn name_of_a_microservice_must_do_for_a_path() {
    let (_server, admin) = TestServer::start().await.with_admin();

    for name in ["a b", "a/b", "..", ".", "ä", "a%", "a:b", &"x".repeat(129)] {
        let mut body = microservice("x");
        body["name"] = json!(name);
        let answer = admin.post(APPLICATIONS, &body).await;
        assert_eq!(answer.status, 422, "{name}: {}", answer.text);
        assert!(answer.message().contains("'name'"), "{}", answer.message());
    }
}

#[tokio::test]
async fn broken_bodies_are_4xx() {
    let (_server, admin) = TestServer::start().await.with_admin();

    for (body, status) in [
        (r#"{"name":"a\u0000b"}"#.to_owned(), 422),
        ("{".into(), 400),
        ("[]".into(), 400),
        (String::new(), 422),
        (format!("{{\"roles\":{}1{}}}", "[".repeat(200), "]".repeat(200)), 422),
    ] {
        admin.request("POST", APPLICATIONS).accepting_json().body(body.clone()).send().await.expect(status);
    }
}
