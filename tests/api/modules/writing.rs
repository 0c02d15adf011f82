//! Uploads, changes and deletions: status and response (Q-02, Q-04, X-09, X-10).

use super::*;

const FORM: &str = "multipart/form-data; boundary=b";

async fn post(caller: &Caller, content_type: &str, body: impl Into<Vec<u8>>) -> Response {
    let request = caller.request("POST", MODULES).accepting_json().header("Content-Type", content_type);
    request.body(body).send().await
}

async fn put(caller: &Caller, path: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Response {
    let request = caller.request("PUT", path).accepting_json().header("Content-Type", content_type);
    request.body(body).send().await
}

#[tokio::test]
async fn module_is_uploaded_as_the_only_part_of_a_form_or_as_text() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let text = |name: &str| marking(name, "seen");

    for (content_type, body) in [
        (FORM, form("file", text("m1").as_bytes())),
        (FORM, form("whatever", text("m2").as_bytes())),
        ("text/plain", text("m3").into()),
        ("Text/Plain; charset=utf-8", text("m4").into()),
        ("", text("m5").into()),
    ] {
        let answer = post(&admin, content_type, body).await.expect(201);
        let module = answer.json();
        assert_eq!(answer.header("Location"), module["self"].as_str());
        assert_eq!(answer.header("Content-Type"), Some("application/json;charset=UTF-8"));
        let sent = text(module["name"].as_str().unwrap());
        let request = admin.request("GET", &path_of(&module)).header("Accept", "text/plain");
        assert_eq!(request.send().await.text, sent);
    }
    let listed = admin.read(&format!("{MODULES}?pageSize=10")).await;
    assert_eq!(listed["modules"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn upload_returns_no_body_when_nothing_is_accepted() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let text = marking("marks", "seen");
    let answer = RawConnection::of_type_without_accept(&admin, "POST", MODULES, "text/plain", &text).await;

    assert_eq!((answer.status, &*answer.text), (201, ""));
    let module = admin.read(answer.header("Location").unwrap()).await;
    assert_eq!((&module["name"], &module["status"]), (&json!("marks"), &json!("DEPLOYED")));
    let media_type = format!("{MEDIA}cepModule+json");
    let request =
        admin.request("POST", MODULES).header("Content-Type", "text/plain").header("Accept", &media_type);
    let answer = request.body(marking("other", "seen")).send().await;
    assert_eq!(answer.header("Content-Type"), Some(&*format!("{media_type};ver=0.9;charset=UTF-8")));
    assert_eq!(answer.json()["name"], "other");
}

#[tokio::test]
async fn invalid_upload_is_rejected_and_nothing_is_stored() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let text = marking("marks", "seen");
    let part =
        |name: &str| format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n");
    let too_long = format!("module m;{}", " ".repeat((1 << 20) - 8));

    for (content_type, body, status, named) in [
        ("application/json", r#"{"name":"a"}"#.into(), 415, "text/plain"),
        ("application/x-www-form-urlencoded", text.clone(), 415, "multipart/form-data"),
        (FORM, "--b--\r\n".into(), 422, "one part"),
        (FORM, format!("{}{}--b--\r\n", part("a"), part("b")), 422, "several parts"),
        (FORM, "nonsense".into(), 400, "multipart/form-data"),
        ("text/plain", String::new(), 422, "module <name>"),
        ("text/plain", too_long.clone(), 413, "1048576"),
        (FORM, String::from_utf8(form("file", too_long.as_bytes())).unwrap(), 413, "1048576"),
    ] {
        let answer = post(&admin, content_type, body).await.expect(status);
        assert!(answer.message().contains(named), "{content_type}: {}", answer.text);
    }
    let answer = post(&admin, "text/plain", b"module m; // \xff".to_vec()).await;
    assert_eq!((answer.status, answer.message().contains("UTF-8")), (422, true), "{}", answer.text);
    let longest = format!("module longest;{}", " ".repeat((1 << 20) - 15));
    assert_eq!(post(&admin, "text/plain", longest).await.status, 201);
    assert_eq!(server.count("modules").await, 1);
}

#[tokio::test]
async fn mistake_is_reported_with_its_line_and_a_caret() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for (text, message) in [
        (
            "module m;\n\nselect m.measurement.type t\n  form MeasurementCreated m;\n",
            "found 'form', expected ',' or 'from'; did you mean 'from'?, line 4, column 3\n  form MeasurementCreated \
             m;\n  ^",
        ),
        (
            "select * from MeasurementCreated;",
            "found 'select', expected 'module <name>;' at the beginning, line 1, column 1\n\
             select * from MeasurementCreated;\n^",
        ),
        (
            "module m; create expression js:f(a) [ return a; ];",
            "found 'js:', script bodies are not supported, expected an expression of this language, line 1, column 29\n\
             module m; create expression js:f(a) [ return a; ];\n                            ^",
        ),
        ("module alarms;", "no module may be called 'alarms', line 1, column 8\nmodule alarms;\n       ^"),
    ] {
        for answer in
            [post(&admin, "text/plain", text).await, post(&admin, FORM, form("file", text.as_bytes())).await]
        {
            assert_eq!((answer.status, answer.error().as_str()), (422, "undefined/validationError"));
            assert_eq!(answer.message(), message);
        }
    }
    let unknown =
        post(&admin, "text/plain", "module m;\nselect * from Nowhere;").await.expect_message(422, "Nowhere");
    assert!(unknown.message().contains("line 2"), "{}", unknown.text);
    assert_eq!(server.count("modules").await, 0);
}

#[tokio::test]
async fn name_of_a_module_is_given_once() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (first, second) =
        (deploy(&admin, &marking("first", "x")).await, deploy(&admin, &marking("second", "x")).await);

    let uploaded = post(&admin, "text/plain", marking("first", "y")).await;
    let renamed = admin.put(&path_of(&second), &json!({"name": "first"})).await;
    let replaced = put(&admin, &path_of(&second), "text/plain", marking("first", "y")).await;

    for answer in [uploaded, renamed, replaced] {
        assert_eq!(
            (answer.status, answer.error().as_str()),
            (409, "cep-server/Duplicate"),
            "{}",
            answer.text
        );
        assert_eq!(answer.message(), "a module with key 'first' already exists");
    }
    assert_eq!((admin.read(&path_of(&first)).await, admin.read(&path_of(&second)).await), (first, second));
}

#[tokio::test]
async fn text_is_replaced_under_a_new_id() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut module = deploy(&admin, &marking("marks", "one")).await;
    for (content_type, body) in [
        ("text/plain", marking("marks", "two").into_bytes()),
        (FORM, form("file", marking("other", "three").as_bytes())),
    ] {
        let answer = put(&admin, &path_of(&module), content_type, body).await.expect(200);

        let new = answer.json();
        assert_ne!(new["id"], module["id"]);
        assert_eq!(new["status"], "DEPLOYED");
        assert_eq!(answer.header("Location"), new["self"].as_str());
        assert_eq!(admin.get(&path_of(&module)).await.status, 404);
        module = new;
    }
    assert_eq!(module["name"], "other");
    let (path, text) = (path_of(&module), marking("quiet", "four"));
    let answer = RawConnection::of_type_without_accept(&admin, "PUT", &path, "text/plain", &text).await;
    assert_eq!((answer.status, &*answer.text), (200, ""));
    assert_eq!(admin.read(answer.header("Location").unwrap()).await["name"], "quiet");
}

#[tokio::test]
async fn module_that_cannot_be_replaced_stays() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let module = deploy(&admin, &marking("marks", "one")).await;
    let path = path_of(&module);

    for (content_type, body, status) in [
        ("text/plain", "module marks; selct".to_owned(), 422),
        ("text/plain", format!("module m;{}", " ".repeat(1 << 20)), 413),
        (FORM, "--b--\r\n".into(), 422),
        ("text/html", "x".into(), 415),
    ] {
        put(&admin, &path, content_type, body).await.expect(status);
        assert_eq!(admin.read(&path).await, module);
    }
}

#[tokio::test]
async fn name_and_status_are_changed_by_json() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let module = deploy(&admin, &marking("marks", "one")).await;
    let path = path_of(&module);
    let vendor = format!("{MEDIA}cepModule+json;ver=0.9");

    for (content_type, body, name, status) in [
        ("application/json", r#"{"name":"tallies"}"#, "tallies", "DEPLOYED"),
        ("", r#"{"status":"NOT_DEPLOYED"}"#, "tallies", "NOT_DEPLOYED"),
        (&*vendor, r#"{"name":"marks","status":"DEPLOYED","id":"7"}"#, "marks", "DEPLOYED"),
        ("application/json", "{}", "marks", "DEPLOYED"),
    ] {
        let answer = put(&admin, &path, content_type, body).await;
        assert_eq!((answer.status, answer.header("Location")), (200, None), "{body}: {}", answer.text);
        let changed = answer.json();
        assert_eq!((&changed["name"], &changed["status"]), (&json!(name), &json!(status)), "{body}");
        assert_eq!(changed["id"], module["id"]);
        assert_eq!(admin.read(&path).await, changed);
    }
    let silent = RawConnection::without_accept(&admin, "PUT", &path, &json!({"name": "quiet"})).await;
    assert_eq!((silent.status, &*silent.text), (200, ""));
    let renamed = admin.read(&path).await;
    assert_eq!(without(&renamed, &["lastModified", "name"]), without(&module, &["lastModified", "name"]));
    let request = admin.request("GET", &path).header("Accept", "text/plain");
    assert_eq!(request.send().await.text, marking("marks", "one"), "the text stays as it was sent");
}

#[tokio::test]
async fn wrong_member_is_refused_by_its_name() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let module = deploy(&admin, &marking("marks", "one")).await;
    let path = path_of(&module);

    for (body, status, named) in [
        (r#"{"status":"deployed"}"#, 422, "NOT_DEPLOYED"),
        (r#"{"status":7}"#, 422, "status"),
        (r#"{"name":""}"#, 422, "name"),
        (r#"{"name":"a/b"}"#, 422, "name"),
        (r#"{"name":"*"}"#, 422, "name"),
        (r#"{"name":"measurements"}"#, 422, "name"),
        (r#"{"name":["a"]}"#, 422, "name"),
        ("{", 400, "JSON"),
    ] {
        let answer = put(&admin, &path, "application/json", body).await.expect(status);
        assert!(answer.message().contains(named), "{body}: {}", answer.text);
    }
    assert_eq!(admin.read(&path).await, module);
}

#[tokio::test]
async fn deleted_module_is_gone() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let module = deploy(&admin, &marking("marks", "one")).await;

    let answer = admin.delete(&path_of(&module)).await;

    assert_eq!((answer.status, &*answer.text), (204, ""));
    assert_eq!(admin.get(&path_of(&module)).await.status, 404);
    assert_eq!(admin.delete(&path_of(&module)).await.status, 404);
    // The name can be used again.
    deploy(&admin, &marking("marks", "one")).await;
}

#[tokio::test]
async fn reading_and_writing_need_their_roles() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let module = deploy(&admin, &marking("marks", "one")).await;
    let path = path_of(&module);
    let reader = server.user_with("reader", &["ROLE_CEP_MANAGEMENT_READ"]).await;
    let writer = server.user_with("writer", &["ROLE_CEP_MANAGEMENT_ADMIN"]).await;

    assert_eq!((reader.get(MODULES).await.status, reader.get(&path).await.status), (200, 200));
    assert_eq!((writer.get(MODULES).await.status, writer.get(&path).await.status), (403, 403));
    assert_eq!(post(&reader, "text/plain", marking("mine", "x")).await.status, 403);
    assert_eq!(put(&reader, &path, "text/plain", marking("mine", "x")).await.status, 403);
    assert_eq!(reader.put(&path, &json!({"name": "mine"})).await.status, 403);
    assert_eq!(reader.delete(&path).await.status, 403);
    assert_eq!(status(&reader, &module).await, "DEPLOYED");
    assert_eq!(post(&writer, "text/plain", marking("mine", "x")).await.status, 201);
    assert_eq!(writer.put(&path, &json!({"name": "theirs"})).await.status, 200);
    assert_eq!(writer.delete(&path).await.status, 204);
}

#[tokio::test]
async fn processing_modes_change_nothing_and_unknown_ones_are_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let request = |mode| {
        let request = admin.request("POST", MODULES).header("Content-Type", "text/plain");
        request.header("X-Platform-Processing-Mode", mode).body(marking("marks", "one"))
    };

    assert_eq!(request("SOMETIMES").send().await.status, 422);
    assert_eq!(request("CEP").send().await.status, 201);
}
