//! Pages of other sites, including pages of hosted applications, cannot act with credentials that a browser adds by
//! itself. Each request has the headers that browsers send.

use super::*;

/// POST with these headers and no others.
async fn post_with(
    caller: &Caller,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
) -> Response {
    let mut request = caller.request("POST", path);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.body(body).send().await
}

/// The headers that a browser adds to a request of a page without an origin.
const OF_SANDBOX: [(&str, &str); 3] =
    [("Origin", "null"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")];

fn with<'h>(headers: &[(&'h str, &'h str)], more: &[(&'h str, &'h str)]) -> Vec<(&'h str, &'h str)> {
    [headers, more].concat()
}

#[tokio::test]
async fn changes_that_any_page_could_send_are_403_from_other_sites() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for origin in ["null", "https://evil.example.org", "http://127.0.0.1:1", "https://127.0.0.1"] {
        for content_type in [
            None,
            Some("text/plain"),
            Some("text/plain;charset=UTF-8"),
            Some("Text/Plain; application/json"),
            Some("application/x-www-form-urlencoded"),
            Some("text/plain, application/json"),
            Some("multipart/form-data; boundary=b"),
        ] {
            let mut headers = vec![("Origin", origin), ("Sec-Fetch-Site", "cross-site")];
            headers.extend(content_type.map(|value| ("Content-Type", value)));
            let answer = post_with(&admin, OBJECTS, &headers, r#"{"name":"evil"}"#).await;
            assert_eq!(
                (answer.status, &*answer.error()),
                (403, "security/Forbidden"),
                "{origin} {content_type:?}"
            );
            assert!(answer.message().contains("another site"), "{}", answer.text);
        }
    }
    assert_eq!(admin.read(&format!("{OBJECTS}?pageSize=1")).await["managedObjects"], json!([]));
}

#[tokio::test]
async fn upload_by_a_form_of_another_site_is_403() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let id = host(&admin, "web", &[("index.html", "mine")]).await;
    let path = format!("/application/applications/{id}/binaries");
    let headers = with(&OF_SANDBOX, &[("Content-Type", "multipart/form-data; boundary=b")]);

    post_with(&admin, &path, &headers, form("file", &web_archive(&[("index.html", "evil")])))
        .await
        .expect(403);

    assert_eq!(admin.get("/apps/web/").await.text, "mine");
}

#[tokio::test]
async fn rows_of_the_csv_protocol_from_a_page_of_another_site_are_403() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    post_with(&admin, "/s", &with(&OF_SANDBOX, &[("Content-Type", "text/plain")]), "100,x,y")
        .await
        .expect(403);
}

#[tokio::test]
async fn what_no_page_can_send_unasked_is_taken_from_other_sites() {
    let (_server, admin, object) = TestServer::shared().await.with_device("pump").await;
    let media_type = "application/vnd.example.platform.managedObject+json;ver=0.9";

    for more in [
        &[("Content-Type", "application/json")][..],
        &[("Content-Type", "application/json;charset=UTF-8")],
        &[("Content-Type", media_type)],
        &[("X-Platform-Application-Key", "some-key")],
        &[("X-Platform-Processing-Mode", "PERSISTENT")],
    ] {
        let answer = post_with(&admin, OBJECTS, &with(&OF_SANDBOX, more), r#"{"name":"asked"}"#).await;
        assert_eq!(answer.status, 201, "{more:?}: {}", answer.text);
    }
    let emulated = with(&OF_SANDBOX, &[("X-HTTP-METHOD", "PUT")]);
    let path = format!("{OBJECTS}/{object}");
    post_with(&admin, &path, &emulated, r#"{"name":"renamed"}"#).await.expect(200);
    admin.request("DELETE", &path).header("Origin", "null").send().await.expect(204);
}

#[tokio::test]
async fn requests_of_the_own_site_and_of_devices_are_taken_as_they_are() {
    let server = TestServer::start_with(|settings| {
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    })
    .await;
    let admin = server.admin();

    let of_device = post_with(&admin, OBJECTS, &[], "{}").await;
    let of_own_site = post_with(&admin, OBJECTS, &[("Origin", server.base())], "{}").await;
    let upper = server.base().to_uppercase();
    let in_capitals = post_with(&admin, OBJECTS, &[("Origin", &upper)], "{}").await;
    let forwarded = [("X-Forwarded-Host", "things.example.com"), ("X-Forwarded-Proto", "https")];
    let behind_proxy =
        post_with(&admin, OBJECTS, &with(&forwarded, &[("Origin", "https://things.example.com")]), "{}")
            .await;
    let other_scheme =
        post_with(&admin, OBJECTS, &with(&forwarded, &[("Origin", "http://things.example.com")]), "{}").await;

    for answer in [&of_device, &of_own_site, &in_capitals, &behind_proxy] {
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
    assert_eq!(other_scheme.status, 403);
}

#[tokio::test]
async fn reading_from_other_sites_is_as_before_and_shows_no_page_what_stored_credentials_brought() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = get_with(&admin, OBJECTS, &[("Origin", "null"), ("Sec-Fetch-Dest", "empty")]).await;
    let as_script = get_with(&admin, OBJECTS, &[("Origin", "null"), ("Sec-Fetch-Dest", "script")]).await;

    for answer in [&answer, &as_script] {
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("Access-Control-Allow-Origin"), Some("*"));
        assert_eq!(answer.header("Access-Control-Allow-Credentials"), None);
    }
}

#[tokio::test]
async fn who_brings_nothing_is_401_before_anything_else() {
    let server = TestServer::shared().await;

    let nothing = post_with(&server.stranger(), OBJECTS, &OF_SANDBOX, "{}").await;
    let wrong = post_with(&server.caller("admin", "wrong-password"), OBJECTS, &OF_SANDBOX, "{}").await;

    assert_eq!((nothing.status, wrong.status), (401, 401));
}

#[tokio::test]
async fn socket_of_another_sites_page_brings_its_own_credentials() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let mut foreign = Socket::open_from(&admin, REALTIME, "null").await;
    let refused = foreign.ask(handshake(json!({}))).await;
    let mut with_own = Socket::open_from(&admin, REALTIME, "https://evil.example.org").await;
    let token = token("admin", ADMIN_PASSWORD);
    let own = json!({"ext": {"com.platform.authn": {"token": token}}});
    let taken = with_own.ask(handshake(own)).await;
    let mut same_site = Socket::open_from(&admin, REALTIME, server.base()).await;
    let same = same_site.ask(handshake(json!({}))).await;

    assert_eq!(refused["successful"], Value::Bool(false), "{refused}");
    assert_eq!(taken["successful"], Value::Bool(true), "{taken}");
    assert_eq!(same["successful"], Value::Bool(true), "{same}");
}

#[tokio::test]
async fn origin_that_the_tenant_names_may_use_stored_credentials() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let named = "https://dash.example.org";
    let value = json!({"value": format!("{named}, https://*.example.net")});
    assert_eq!(admin.put("/tenant/options/access.control/allow.origin", &value).await.status, 200);

    for (origin, status) in
        [(named, 201), ("https://a.example.net", 403), ("https://other.example.org", 403), ("null", 403)]
    {
        let answer = post_with(&admin, OBJECTS, &[("Origin", origin)], r#"{"name":"pump"}"#).await;
        assert_eq!(answer.status, status, "{origin}: {}", answer.text);

        let mut socket = Socket::open_from(&admin, REALTIME, origin).await;
        let reply = socket.ask(handshake(json!({}))).await;
        assert_eq!(reply["successful"], Value::Bool(status == 201), "{origin}: {reply}");
    }
}

#[tokio::test]
async fn files_of_applications_may_be_read_by_every_page_without_stored_credentials() {
    let (server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &[("a.js", "export default 1"), ("a.woff2", "font")]).await;
    let nobody = json!({"value": "https://dash.example.org"});
    assert_eq!(admin.put("/tenant/options/access.control/allow.origin", &nobody).await.status, 200);
    let allowed = |answer: &Response| {
        let origin = answer.header("Access-Control-Allow-Origin").map(str::to_owned);
        (origin, answer.header("Access-Control-Allow-Credentials").map(str::to_owned))
    };

    for origin in ["null", "https://evil.example.org", "https://dash.example.org"] {
        for path in ["/apps/web/a.js", "/apps/web/a.woff2"] {
            // A browser requests modules and fonts of a page without an origin like this.
            let headers = [("Origin", origin), ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "script")];
            let answer = get_with(&server.stranger(), path, &headers).await;
            assert_eq!((answer.status, allowed(&answer)), (200, (Some("*".into()), None)), "{origin} {path}");
        }
    }
    let no_file = get_with(&admin, "/tenant/currentTenant", &[("Origin", "null")]).await;
    assert_eq!(allowed(&no_file), (None, None));
    assert_eq!(allowed(&server.stranger().get("/apps/web/a.js").await), (Some("*".into()), None));
}

#[tokio::test]
async fn page_without_an_origin_may_ask_the_api_with_credentials_of_its_own() {
    let server = TestServer::shared().await;

    let question = server.stranger().request("OPTIONS", OBJECTS).header("Origin", "null");
    let question = question.header("Access-Control-Request-Method", "POST");
    let answer = question.header("Access-Control-Request-Headers", "authorization,content-type").send().await;

    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("Access-Control-Allow-Origin"), Some("null"));
    assert_eq!(answer.header("Access-Control-Allow-Credentials"), Some("true"));
    assert_eq!(answer.header("Access-Control-Max-Age"), Some("0"));
    let headers = answer.header("Access-Control-Allow-Headers").unwrap();
    assert!(headers.contains("authorization") && headers.contains("content-type"), "{headers}");
}
