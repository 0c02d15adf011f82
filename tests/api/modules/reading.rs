//! Reading modules: one, its text, pages; and who may read them (Q-03, Q-18).

use super::*;

#[tokio::test]
async fn module_is_shown_as_json_or_as_the_text_that_was_sent() {
    let (server, admin) = TestServer::shared().await.with_admin();
    // Editors add bytes before, between and after lines; all of them are kept.
    let text = format!("\u{feff}// Überwachung\r\n{}\t\r\n\r\n", marking("marks", "ä"));
    let module = deploy(&admin, &text).await;
    let path = path_of(&module);

    let names: Vec<&String> = module.as_object().unwrap().keys().collect();
    assert_eq!(names, ["id", "lastModified", "name", "self", "status"]);
    assert_eq!(
        (&module["name"], &module["status"], &module["self"]),
        (&json!("marks"), &json!("DEPLOYED"), &json!(format!("{}{path}", server.base())))
    );
    assert!(module["lastModified"].as_str().unwrap().ends_with('Z'), "{module}");
    let versioned = format!("{MEDIA}cepModule+json;ver=0.9;charset=UTF-8");
    for (accept, content_type) in [
        (None, &*versioned),
        (Some("*/*"), &*versioned),
        (Some("application/json"), "application/json;charset=UTF-8"),
        (Some("application/json, text/plain"), "application/json;charset=UTF-8"),
        (Some("application/vnd.example.platform.cepModule+json;ver=0.9"), &*versioned),
    ] {
        let request = admin.request("GET", &path);
        let request = accept.into_iter().fold(request, |request, accept| request.header("Accept", accept));
        let answer = request.send().await;
        assert_eq!((answer.status, answer.header("Content-Type")), (200, Some(content_type)), "{accept:?}");
        assert_eq!(answer.json(), module, "{accept:?}");
    }
    for accept in ["text/plain", "TEXT/Plain; charset=utf-8", "text/html, text/plain;q=0.9, */*"] {
        let answer = admin.request("GET", &path).header("Accept", accept).send().await;
        let content_type = answer.header("Content-Type").map(str::to_owned);
        assert_eq!(
            (answer.status, content_type.as_deref()),
            (200, Some("text/plain;charset=UTF-8")),
            "{accept}"
        );
        assert!(answer.text == text, "{accept}: {:?}", answer.text);
    }
    for accept in ["text/html", "application/vnd.example.platform.cepModule+json;ver=1.0"] {
        assert_eq!(admin.request("GET", &path).header("Accept", accept).send().await.status, 406, "{accept}");
    }
}

#[tokio::test]
async fn modules_are_listed_page_by_page() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mut made = Vec::new();
    for n in 0..7 {
        made.push(deploy(&admin, &marking(&format!("m{n}"), "seen")).await);
    }

    let answer = admin.get(&format!("{MODULES}?pageSize=3&withTotalPages=true")).await;

    let media_type = format!("{MEDIA}cepModuleCollection+json;ver=0.9;charset=UTF-8");
    assert_eq!((answer.status, answer.header("Content-Type")), (200, Some(&*media_type)));
    let mut page = answer.json();
    let base = [(server.base(), "<base>")];
    assert_eq!(
        redacted(&without(&page, &["modules", "next"]), &base),
        json!({
            "self": "<base>/cep/modules?withTotalPages=true&pageSize=3&currentPage=1",
            "statistics": {"currentPage": 1, "pageSize": 3, "totalPages": 3},
        })
    );
    let mut found = Vec::new();
    loop {
        found.extend(page["modules"].as_array().unwrap().iter().cloned());
        let Some(next) = page.get("next").and_then(Value::as_str) else { break };
        page = admin.read(next).await;
        assert!(page.get("prev").is_some(), "{page}");
    }
    assert_eq!(found, made);
    assert_eq!(admin.get(&format!("{MODULES}?pageSize=x")).await.status, 422);
}

#[tokio::test]
async fn modules_of_other_tenants_are_not_there() {
    let server = TestServer::start_with_tenant("t7", "plant7.example.com").await;
    let (admin, other) = (server.admin(), server.caller("t7/admin", ADMIN_PASSWORD));
    let module = deploy(&admin, &marking("marks", "seen")).await;
    // A module of the same name in another tenant: names are unique per tenant.
    deploy(&other, &marking("marks", "seen")).await;
    let path = path_of(&module);

    for (method, content_type, body) in [
        ("GET", None, ""),
        ("PUT", Some("application/json"), r#"{"status":"NOT_DEPLOYED"}"#),
        ("PUT", Some("text/plain"), "module mine; select * from MeasurementCreated;"),
        ("DELETE", None, ""),
    ] {
        let request = other.request(method, &path);
        let request =
            content_type.into_iter().fold(request, |request, it| request.header("Content-Type", it));
        request.body(body).send().await.expect_error(404, "cep-server/Not Found");
    }
    assert_eq!(other.request("GET", &path).header("Accept", "text/plain").send().await.status, 404);
    let listed = other.read(MODULES).await;
    assert_eq!(listed["modules"].as_array().unwrap().len(), 1);
    assert_ne!(listed["modules"][0]["id"], module["id"]);
    assert_eq!(admin.read(&path).await, module);
}

#[tokio::test]
async fn unknown_module_is_404() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for id in ["12345", "0", "-1", "x", "%00", "a%2Fb", "9223372036854775808"] {
        let path = format!("{MODULES}/{id}");
        for accept in ["application/json", "text/plain"] {
            let answer = admin.request("GET", &path).header("Accept", accept).send().await;
            assert_eq!((answer.status, answer.error().as_str()), (404, "cep-server/Not Found"), "{id}");
        }
        assert_eq!(admin.delete(&path).await.status, 404, "{id}");
        assert_eq!(admin.put(&path, &json!({"name": "a"})).await.status, 404, "{id}");
    }
    let answer = admin.get(&format!("{MODULES}/12345")).await;
    assert_eq!(answer.message(), "Not found module file for id 12345");
}

#[tokio::test]
async fn modules_survive_a_restart() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let (text, other) = (marking("marks", "seen"), marking("idle", "seen"));
    let module = deploy(&server.admin(), &text).await;
    let idle = deploy(&server.admin(), &other).await;
    super::set_status(&server.admin(), &idle, "NOT_DEPLOYED").await;
    let before = without(&server.admin().read(MODULES).await, &["self", "next", "prev"]);
    let base = server.base().to_owned();
    server.stop().await;

    let server = TestServer::start_on(&database, |_| {}).await;

    let after = without(&server.admin().read(MODULES).await, &["self", "next", "prev"]);
    assert_eq!(redacted(&after, &[(server.base(), "<base>")]), redacted(&before, &[(&base, "<base>")]));
    let request = server.admin().request("GET", &path_of(&module)).header("Accept", "text/plain");
    assert_eq!(request.send().await.text, text);
}
