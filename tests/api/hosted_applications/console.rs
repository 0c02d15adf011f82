//! The log-in that a browser keeps for the console: only the page that a browser opens as a document of its own gets
//! it, because a hosted application under the domain of its tenant has the origin of the console (T-11).

use platform_front::config::Settings;
use serde_json::json;

use super::{get_with, host, with_plant};
use crate::harness::{Caller, Response, TestServer};

const KEEP: &str = "/console/login";
const OWN_DOMAIN: &str = "plant7.example.com";
const SHARED: &str = "shared.example.com";
/// The headers of a browser that opens a page, at an address that it trusts.
const OPENED: [(&str, &str); 3] =
    [("Accept", "text/html"), ("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate")];

/// Returns a new token of a user.
async fn token_of(user: &Caller) -> String {
    let created = user.post("/user/currentUser/tokens", &json!({})).await.expect(201).json();
    created["accessToken"].as_str().unwrap().to_owned()
}

/// Opens the page of the console with this cookie, at this host.
async fn open(server: &TestServer, cookie: &str, of_host: &str, headers: &[(&str, &str)]) -> Response {
    let always = [("Accept", "text/html"), ("Host", of_host), ("Cookie", cookie)];
    let headers: Vec<_> = always.into_iter().chain(headers.iter().copied()).collect();
    get_with(&server.stranger(), "/", &headers).await.expect(200)
}

#[tokio::test]
async fn page_that_a_browser_opens_gets_the_token_and_no_other_request_does() {
    let (server, plant) = with_plant().await;
    let token = token_of(&plant).await;
    let cookie = format!("other=1; platform-console={token}");
    let script = [("Sec-Fetch-Dest", "empty"), ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Site", "same-origin")];
    let frame = [("Sec-Fetch-Dest", "iframe"), ("Sec-Fetch-Mode", "navigate")];
    let object = [("Sec-Fetch-Dest", "object"), ("Sec-Fetch-Mode", "navigate")];
    let half = [("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "cors")];
    let foreign = [&OPENED[1..], &[("Origin", "https://plant7.example.com")]].concat();

    for (of_host, headers, given) in [
        (OWN_DOMAIN, &OPENED[1..], true),
        (SHARED, &OPENED[1..], true),
        (SHARED, &[], true),
        // A browser that trusts the address says what it opens. Another one does not honour the opener policy.
        (OWN_DOMAIN, &[], false),
        (OWN_DOMAIN, &script, false),
        (OWN_DOMAIN, &frame, false),
        (OWN_DOMAIN, &object, false),
        (OWN_DOMAIN, &half, false),
        (OWN_DOMAIN, &foreign, false),
        (SHARED, &script, false),
        (SHARED, &frame, false),
        (SHARED, &[("Origin", "null")], false),
    ] {
        let page = open(&server, &cookie, of_host, headers).await;
        assert_eq!(page.text.contains(&token), given, "{of_host} {headers:?}: {}", page.text);
        let caching = if given { "no-store" } else { "no-cache" };
        assert_eq!(page.header("Cache-Control"), Some(caching), "{of_host} {headers:?}");
        assert_eq!(page.header("Cross-Origin-Opener-Policy"), Some("same-origin"));
        assert!(page.header("Content-Security-Policy").unwrap().contains("frame-ancestors 'none'"));
    }
}

#[tokio::test]
async fn cookie_that_is_no_token_or_not_alone_is_ignored() {
    let (server, plant) = with_plant().await;
    let token = token_of(&plant).await;
    for cookie in [
        format!("platform-console={token}; platform-console={}", "x".repeat(43)),
        format!("platform-console={token}\"><script>"),
        format!("Platform-Console={token}"),
        format!("__Host-platform-console={token}"),
        "platform-console=".to_owned(),
        "platform-console".to_owned(),
    ] {
        let page = open(&server, &cookie, SHARED, &OPENED[1..]).await;
        assert!(!page.text.contains("platform-token"), "{cookie}: {}", page.text);
    }
}

#[tokio::test]
async fn cookie_is_no_credential_for_the_api_or_a_hosted_file() {
    let (server, plant) = with_plant().await;
    host(&plant, "web", &[("a.txt", "a")]).await;
    let cookie = format!("platform-console={}", token_of(&plant).await);
    for path in ["/tenant/currentTenant", "/inventory/managedObjects", "/user/currentUser/tokens/current"] {
        let headers = [("Host", OWN_DOMAIN), ("Cookie", &*cookie), ("Accept", "application/json")];
        get_with(&server.stranger(), path, &headers).await.expect(401);
    }
    let file =
        get_with(&server.stranger(), "/apps/web/a.txt", &[("Host", OWN_DOMAIN), ("Cookie", &cookie)]).await;
    assert_eq!(file.text, "a");
}

#[tokio::test]
async fn browser_keeps_the_token_of_the_console_where_no_script_reads_it() {
    let behind_proxy =
        |settings: &mut Settings| settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    let (server, plant) = TestServer::start_with(behind_proxy).await.with_admin();
    let token = token_of(&plant).await;
    let bearer = server.stranger().with_token(&token);

    let plain = bearer.request("PUT", KEEP).send().await.expect(204);
    let secure = bearer.request("PUT", KEEP).header("X-Forwarded-Proto", "https").send().await.expect(204);

    let kept = format!("platform-console={token}; Path=/; HttpOnly; SameSite=Strict");
    assert_eq!(plain.header("Set-Cookie"), Some(&*kept));
    assert_eq!(secure.header("Set-Cookie"), Some(&*format!("__Host-{kept}; Secure")));
    for origin in ["https://evil.example.com", "null"] {
        let refused = bearer.request("PUT", KEEP).header("Origin", origin).send().await.expect(403);
        assert_eq!(refused.header("Set-Cookie"), None, "{origin}");
    }
    plant.request("PUT", KEEP).send().await.expect(403);
    server.stranger().with_token(&"x".repeat(43)).request("PUT", KEEP).send().await.expect(401);
}

#[tokio::test]
async fn policy_that_leaves_applications_an_origin_needs_a_browser_that_says_what_it_opens() {
    for policy in ["default-src 'self'", "sandbox allow-scripts allow-same-origin"] {
        let server =
            TestServer::start_with(|settings| settings.hosted_content_security_policy = policy.to_owned())
                .await;
        let cookie = format!("platform-console={}", token_of(&server.admin()).await);

        let said = open(&server, &cookie, SHARED, &OPENED[1..]).await;
        let unsaid = open(&server, &cookie, SHARED, &[]).await;

        assert!(said.text.contains("platform-token") && !unsaid.text.contains("platform-token"), "{policy}");
    }
}
