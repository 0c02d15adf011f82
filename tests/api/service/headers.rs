//! Headers that are forwarded between a client and a microservice, and those that are not.

use super::*;

#[tokio::test]
async fn service_receives_the_caller() {
    let behind = Behind::start().await;
    let roles = ["ROLE_ALARM_READ", "ROLE_RULES_ADMIN"];
    let mia = behind.server.user_with("mia.m\u{fc}ller", &roles).await;

    let head = behind.heard(mia.request("GET", "/service/rules/x")).await;

    assert_eq!(field(&head, "X-Platform-Tenant"), Some("main"));
    assert_eq!(field(&head, "X-Platform-User"), Some("mia.m%C3%BCller"));
    let told = field(&head, "X-Platform-Roles").unwrap();
    assert!(roles.iter().all(|role| told.split(',').any(|told| told == *role)), "{told}");
}

#[tokio::test]
async fn roles_by_groups_are_returned_too() {
    let (behind, admin) = Behind::start().await.with_admin();
    let mia = behind.server.user_with("mia", &[]).await;
    let group = admin.create("/user/main/groups", &json!({"name": "judges"})).await["id"].to_string();
    let role = json!({"role": {"name": "ROLE_EVENT_READ"}});
    admin.create(&format!("/user/main/groups/{group}/roles"), &role).await;
    admin.create(&format!("/user/main/groups/{group}/users"), &json!({"user": {"id": "mia"}})).await;

    let head = behind.heard(mia.request("GET", "/service/rules/x")).await;

    assert!(field(&head, "X-Platform-Roles").unwrap().contains("ROLE_EVENT_READ"), "{head}");
}

#[tokio::test]
async fn nobody_can_say_to_be_somebody_else() {
    let behind = Behind::start().await;
    let mut request = behind.server.user_with("mia", &[]).await.request("GET", "/service/rules/x");
    for name in ["Tenant", "User", "Roles", "Secret"] {
        for prefix in ["X-Platform-", "x-platform-", "X_PLATFORM_", "x-platform_", "X.Platform."] {
            request = request.header(&format!("{prefix}{name}"), "forged");
        }
    }

    let head = behind
        .heard(request.header("Connection", "X-Platform-Tenant, X-Platform-User, X-Platform-Roles"))
        .await;

    assert!(!head.contains("forged"), "{head}");
    let told = lines(&head).into_iter().filter(|line| line.starts_with("x-platform-")).collect::<Vec<_>>();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told.contains(&"x-platform-user: mia".to_owned()), "{told:?}");
}

#[tokio::test]
async fn secrets_of_the_caller_are_none_of_the_services_business() {
    let behind = Behind::in_turn().await;
    let request = behind.server.admin().request("GET", "/service/rules/x");
    let request = request.header("Cookie", "session=canary").header("Proxy-Authorization", "Basic canary");
    let request = request.header("X-Platform-Application-Key", "canary");

    let head = behind.heard(request).await;

    assert!(!head.contains("canary") && !head.to_lowercase().contains("authorization"), "{head}");
}

#[tokio::test]
async fn service_gets_what_the_client_says_end_to_end_and_nothing_of_the_connection() {
    let behind = Behind::in_turn().await;
    let (mut client, own) = behind.client().await;
    client
        .send(format!(
            "POST /service/rules/x HTTP/1.1\r\n{own}Accept: text/plain\r\nContent-Type: a/b\r\nX-Own: 1\r\nX-Own: \
             2\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nX_Hop: 2\r\nKeep-Alive: timeout=5\r\nTE: \
             trailers\r\nTrailer: X-End\r\nUpgrade: h2c\r\nProxy-Connection: keep-alive\r\nExpect: \
             100-continue\r\nContent-Length: 2\r\n\r\nhi"
        ))
        .await;
    let (mut service, head) = behind.asked().await;
    service.send(super::OK).await;
    client.read_until("ok").await;

    let address = behind.address().to_string();
    let mut expected = vec![
        "accept: text/plain".to_owned(),
        "content-length: 2".into(),
        "content-type: a/b".into(),
        format!("host: {address}"),
        "x-forwarded-for: 127.0.0.1".into(),
        format!("x-forwarded-host: {}", behind.server.address()),
        "x-forwarded-proto: http".into(),
        "x-own: 1".into(),
        "x-own: 2".into(),
    ];
    expected.sort();
    let came = lines(&head).into_iter().filter(|line| !line.starts_with("x-platform-")).collect::<Vec<_>>();
    assert_eq!(came, expected);
}

#[tokio::test]
async fn what_a_stranger_says_of_where_it_comes_from_is_dropped() {
    let behind = Behind::in_turn().await;
    let mut request = behind.server.admin().request("GET", "/service/rules/x");
    for name in
        ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X_Forwarded_For", "X-Forwarded-Port"]
    {
        request = request.header(name, "203.0.113.9");
    }

    let head =
        behind.heard(request.header("Forwarded", "for=203.0.113.9").header("X-Real-IP", "203.0.113.9")).await;

    assert!(!head.contains("203.0.113.9"), "{head}");
    assert_eq!(field(&head, "X-Forwarded-For"), Some("127.0.0.1"));
    assert_eq!(field(&head, "X-Forwarded-Proto"), Some("http"));
}

#[tokio::test]
async fn what_a_trusted_proxy_says_of_a_client_reaches_the_service() {
    let behind =
        Behind::start_with(|settings| settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()]).await;
    let request = behind.server.admin().request("GET", "/service/rules/x");
    let request = request.header("X-Forwarded-For", "198.51.100.7, 203.0.113.9");
    let request = request.header("X-Forwarded-Host", "things.example.com");

    let head = behind.heard(request.header("X-Forwarded-Proto", "https")).await;

    assert_eq!(field(&head, "X-Forwarded-For"), Some("203.0.113.9"));
    assert_eq!(field(&head, "X-Forwarded-Host"), Some("things.example.com"));
    assert_eq!(field(&head, "X-Forwarded-Proto"), Some("https"));
}

#[tokio::test]
async fn service_decides_nothing_for_the_whole_address() {
    let behind = Behind::in_turn().await;
    let request = behind.server.admin().request("GET", "/service/rules/x");
    let hostile = [
        "Set-Cookie: a=b",
        "Set-Cookie2: a=b",
        "Strict-Transport-Security: max-age=1",
        "Clear-Site-Data: \"*\"",
        "Service-Worker-Allowed: /",
        "Access-Control-Allow-Origin: *",
        "Access-Control-Allow-Credentials: true",
        "Alt-Svc: h2=\"evil.example.com:443\"",
        "NEL: {}",
        "Report-To: {}",
        "WWW-Authenticate: Basic realm=\"Platform\"",
        "X-Accel-Redirect: /etc/passwd",
        "X-Sendfile: /etc/passwd",
        "Proxy-Authenticate: Basic",
        "Keep-Alive: timeout=5",
        "Trailer: X-End",
        "Upgrade: h2c",
        "Connection: keep-alive, X-Hop",
        "X-Hop: 1",
    ];

    let answer =
        format!("HTTP/1.1 200 OK\r\nX-Own: 1\r\n{}\r\nContent-Length: 2\r\n\r\nok", hostile.join("\r\n"));
    let (_, answer) = behind.answered(request, &answer).await;

    assert_eq!((answer.status, answer.header("X-Own")), (200, Some("1")));
    for line in hostile {
        let name = line.split(':').next().unwrap();
        // This server announces its own time (B-21c).
        let own = (name == "Keep-Alive").then_some("timeout=75");
        assert_eq!(answer.header(name), own, "{name}");
    }
}

#[tokio::test]
async fn pages_of_a_service_are_pages_of_nowhere() {
    let behind = Behind::in_turn().await;
    let request = behind.server.admin().request("GET", "/service/rules/x");

    let own = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Security-Policy: img-src *\r\n\
        X-Content-Type-Options: none\r\nContent-Length: 0\r\n\r\n";
    let (mut client, lines) = behind.client().await;
    client.send(format!("GET /service/rules/y HTTP/1.1\r\n{lines}Connection: close\r\n\r\n")).await;
    let (mut service, _) = behind.asked().await;
    service.send(own).await;
    let raw = client.read_to_end().await.to_lowercase();
    drop(service);
    let (_, answer) = behind.answered(request, own).await;

    assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"));
    assert!(raw.contains("content-security-policy: img-src *"), "its own policy stays: {raw}");
    assert!(raw.contains("content-security-policy: sandbox") && !raw.contains("allow-same-origin"), "{raw}");
}

#[tokio::test]
async fn platform_decides_which_pages_may_read_responses() {
    let (behind, admin) = Behind::start().await.with_admin();
    let option =
        json!({"category": "access.control", "key": "allow.origin", "value": "https://a.example.com"});
    admin.create("/tenant/options", &option).await;
    let request = admin.request("GET", "/service/rules/x").header("Origin", "https://a.example.com");

    let answer = "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: https://evil.example.com\r\nContent-Length: \
        0\r\n\r\n";
    let (head, answer) = behind.answered(request, answer).await;

    assert_eq!(field(&head, "Origin"), Some("https://a.example.com"));
    assert_eq!(answer.header("Access-Control-Allow-Origin"), Some("https://a.example.com"));
}

#[tokio::test]
async fn service_receives_tenant_and_name_of_a_user_of_another_tenant() {
    let behind = Behind::of(TestServer::start_with_tenant("plant7", "plant7.example.com").await).await;
    super::access::subscribe(&behind, "plant7").await;

    let other = behind.server.caller("plant7/admin", ADMIN_PASSWORD);
    let head = behind.heard(other.request("GET", "/service/rules/x")).await;

    assert_eq!(field(&head, "X-Platform-Tenant"), Some("plant7"));
    assert_eq!(field(&head, "X-Platform-User"), Some("admin"));
}
