//! Every response below `/apps` has a policy that gives its pages no origin.

use super::*;

fn policy(answer: &Response) -> &str {
    answer.header("Content-Security-Policy").unwrap_or_default()
}

#[tokio::test]
async fn every_response_below_apps_confines_its_page_errors_too() {
    let (server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &[("a.txt", "a")]).await;
    let tag = admin.get("/apps/web/a.txt").await.header("ETag").unwrap().to_owned();

    let answers = [
        (200, admin.get("/apps/web/").await),
        (200, admin.get("/apps/web/a.txt").await),
        (200, admin.request("HEAD", "/apps/web/a.txt").send().await),
        (301, admin.get("/apps/web").await),
        (304, get_with(&admin, "/apps/web/a.txt", &[("If-None-Match", &tag)]).await),
        (200, server.stranger().get("/apps/web/a.txt").await),
        (401, server.caller("admin", "wrong-password").get("/apps/web/a.txt").await),
        (404, admin.get("/apps/web/nothing").await),
        (404, admin.get("/apps/nothing/").await),
        (404, admin.get("/apps").await),
        (405, admin.request("POST", "/apps/web/a.txt").send().await),
        (416, get_with(&admin, "/apps/web/a.txt", &[("Range", "bytes=9-")]).await),
    ];

    for (status, answer) in &answers {
        assert_eq!(answer.status, *status, "{}", answer.text);
        let policy = policy(answer);
        assert!(policy.starts_with("sandbox allow-scripts"), "{status}: {policy}");
        assert!(
            !policy.contains("allow-same-origin") && !policy.contains("allow-top-navigation"),
            "{policy}"
        );
        for directive in
            ["default-src 'self'", "script-src 'self';", "object-src 'none'", "frame-ancestors 'self'"]
        {
            assert!(policy.contains(directive), "{status}: {policy}");
        }
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"), "{status}");
        assert_eq!(answer.header("Referrer-Policy"), Some("no-referrer"), "{status}");
        assert_eq!(answer.header("Cross-Origin-Resource-Policy"), Some("cross-origin"), "{status}");
    }
}

#[tokio::test]
async fn application_has_its_own_origin_under_the_domain_of_its_tenant_and_nowhere_else() {
    let (server, plant) = with_plant().await;
    host(&plant, "web", &[("a.js", "1")]).await;
    host(&server.admin(), "main-web", &[("a.js", "1")]).await;
    let (visitor, of_main) = (server.stranger(), server.caller("main/admin", ADMIN_PASSWORD));
    let tag = plant.get("/apps/web/a.js").await.header("ETag").unwrap().to_owned();

    for (caller, path, of_host, confined) in [
        (&visitor, "/apps/web/", "plant7.example.com", false),
        (&visitor, "/apps/web", "plant7.example.com", false),
        (&visitor, "/apps/web/a.js", "PLANT7.example.com:8443", false),
        (&plant, "/apps/web/a.js", "plant7.example.com", false),
        (&plant, "/apps/web/a.js", "shared.example.com", true),
        (&visitor, "/apps/main-web/a.js", "shared.example.com", true),
        // An application of another tenant, to which credentials in a link could lead.
        (&of_main, "/apps/main-web/a.js", "plant7.example.com", true),
    ] {
        for more in [&[][..], &[("If-None-Match", &*tag)]] {
            let answer = get_with(caller, path, &[&[("Host", of_host)], more].concat()).await;
            assert!([200, 301, 304].contains(&answer.status), "{of_host}{path}: {}", answer.text);
            assert_eq!(policy(&answer).contains("sandbox"), confined, "{of_host}{path}: {}", policy(&answer));
            assert!(policy(&answer).contains("default-src 'self'"), "{}", policy(&answer));
            let referrer = if confined { "no-referrer" } else { "same-origin" };
            assert_eq!(answer.header("Referrer-Policy"), Some(referrer), "{of_host}{path}");
        }
    }
    let unknown = get_with(&visitor, "/apps/nothing/", &[("Host", "plant7.example.com")]).await;
    assert!(policy(&unknown).contains("sandbox"), "{}", policy(&unknown));
}

#[tokio::test]
async fn other_responses_carry_no_policy() {
    let server = TestServer::start().await;

    for path in ["/tenant/currentTenant", "/appsx", "/health/live"] {
        assert_eq!(policy(&server.admin().get(path).await), "", "{path}");
    }
}

#[tokio::test]
async fn operator_may_set_another_policy() {
    let own = "default-src 'self'; sandbox allow-scripts";
    let server =
        TestServer::start_with(|settings| settings.hosted_content_security_policy = own.to_owned()).await;
    host(&server.admin(), "web", &[]).await;

    assert_eq!(policy(&server.admin().get("/apps/web/").await), own);
}
