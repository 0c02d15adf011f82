//! The log-in of the console with the identity provider of the tenant (docs/rules.md#c-26).

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};

use super::identity_provider::{OPTIONS, groups, names, server_with};
use super::providers::{Mocked, Provider};
use super::*;
use crate::harness::issuer::{OTHER, RSA_2048, encode};

const CALLBACK: &str = "/console/sso/callback";

/// Starts a server whose tenant `main` has a client at this provider.
async fn server_with_client(provider: &Provider) -> (TestServer, Caller) {
    let (server, admin) = server_with(provider).await;
    let client = json!({"clientId": "console", "credentials.clientSecret": "se:cret"});
    admin.put(OPTIONS, &client).await.expect(200);
    (server, admin)
}

/// A browser that was sent to the provider.
pub(super) struct Browser {
    visitor: Caller,
    /// The cookie of the attempt.
    cookie: String,
    /// The parameters with which the browser arrives at the provider.
    pub(super) sent: BTreeMap<String, String>,
}

impl Browser {
    pub(super) async fn begin(server: &TestServer) -> Self {
        let visitor = server.stranger();
        let response = visitor.get("/console/sso").await.expect(302);
        let cookie = response.header("Set-Cookie").unwrap().to_owned();
        assert!(cookie.ends_with("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax"), "{cookie}");
        let url = response.header("Location").unwrap();
        let (_, query) = url.split_once("/realms/acme/authorize?").unwrap();
        let sent = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Self { visitor, cookie: cookie.split(';').next().unwrap().to_owned(), sent }
    }

    /// Returns from the provider with a code.
    pub(super) async fn come_back(&self, state: &str) -> Response {
        let path = format!("{CALLBACK}?code=c0de&state={state}");
        self.visitor.request("GET", &path).header("Cookie", &self.cookie).send().await
    }

    /// Returns the claims of an ID token of this log-in.
    pub(super) fn claims(&self, provider: &Provider, name: &str, groups: &[&str]) -> Value {
        let mut claims = provider.claims(name, groups);
        claims["aud"] = json!("console");
        claims["nonce"] = json!(self.sent["nonce"]);
        claims
    }
}

/// Lets the provider redeem any code for an ID token with these claims.
pub(super) fn issue(provider: &Provider, claims: &Value) {
    *provider.id_token.lock().unwrap() = RSA_2048.sign(&RSA_2048.header(), claims);
}

#[tokio::test]
async fn person_gets_a_token_of_the_console_and_the_groups_of_the_claims() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, admin) = server_with_client(&provider).await;
    let options = server.stranger().read("/tenant/loginOptions").await;
    let offered = &options["loginOptions"][1];
    assert_eq!(
        (&offered["type"], &offered["initRequest"]),
        (&json!("OAUTH2"), &json!(format!("{}/console/sso", server.base())))
    );

    let browser = Browser::begin(&server).await;
    issue(&provider, &browser.claims(&provider, "mia", &["staff"]));
    let response = browser.come_back(&browser.sent["state"]).await.expect(200);

    let back = format!("{}{CALLBACK}", server.base());
    let sent: Vec<_> = ["response_type", "client_id", "redirect_uri", "scope", "code_challenge_method"]
        .map(|name| &*browser.sent[name])
        .to_vec();
    assert_eq!(sent, ["code", "console", &back, "openid profile email", "S256"]);
    let (head, form) = provider.redeemed.lock().unwrap().clone();
    let form: BTreeMap<String, String> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
    let challenge = encode(digest(&SHA256, form["code_verifier"].as_bytes()));
    assert_eq!((&form["code"], &form["redirect_uri"]), (&"c0de".to_owned(), &back));
    assert_eq!(challenge, browser.sent["code_challenge"]);
    // The secret has a colon, which the header contains encoded.
    assert!(head.contains(&crate::harness::token("console", "se%3Acret")), "{head}");

    let cookies: Vec<&str> = response.headers("Set-Cookie").collect();
    let kept = cookies.iter().find_map(|cookie| cookie.strip_prefix("platform-console=")).unwrap();
    assert!(kept.contains("HttpOnly; SameSite=Strict"), "{kept}");
    let mia = server.stranger().with_token(kept.split(';').next().unwrap());
    assert_eq!(mia.read("/user/currentUser").await["userName"], "mia");
    assert_eq!(groups(&admin, "mia").await, names(&["business"]));
    mia.delete("/user/currentUser/tokens/current").await.expect(204);
    mia.get("/user/currentUser").await.expect(401);
}

#[tokio::test]
async fn other_responses_are_403_and_create_nobody() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, admin) = server_with_client(&provider).await;
    let browser = Browser::begin(&server).await;
    let state = &browser.sent["state"];
    let valid = browser.claims(&provider, "mia", &["ops"]);
    let with = |name: &str, value: Value| {
        let mut claims = valid.clone();
        claims[name] = value;
        claims
    };
    let other = Browser::begin(&server).await;
    for (what, claims) in [
        ("another client", with("aud", json!("other"))),
        ("another issuer", with("iss", json!("https://evil.example.com"))),
        ("another log-in", with("nonce", json!(other.sent["nonce"]))),
        ("no nonce", with("nonce", Value::Null)),
        ("expired", with("exp", json!(1))),
        ("the name of an administrator with a password", with("sub", json!("admin"))),
    ] {
        issue(&provider, &claims);
        assert_eq!(browser.come_back(state).await.status, 403, "{what}");
    }
    *provider.id_token.lock().unwrap() = OTHER.sign(&OTHER.header(), &valid);
    browser.come_back(state).await.expect(403);
    *provider.id_token.lock().unwrap() =
        format!("{}.{}.", encode(r#"{"alg":"none"}"#), encode(valid.to_string()));
    browser.come_back(state).await.expect(403);

    issue(&provider, &valid);
    // Another state, none, that of another browser, another browser, and a refusal of the provider.
    for state in ["x", "", &other.sent["state"]] {
        browser.come_back(state).await.expect(403);
    }
    Browser { cookie: other.cookie.clone(), ..Browser::begin(&server).await }
        .come_back(state)
        .await
        .expect(403);
    Browser { cookie: String::new(), ..Browser::begin(&server).await }.come_back(state).await.expect(403);
    let refused = format!("{CALLBACK}?error=access_denied&state={state}");
    browser.visitor.request("GET", &refused).header("Cookie", &browser.cookie).send().await.expect(403);
    provider.is_down.store(true, std::sync::atomic::Ordering::Relaxed);
    browser.come_back(state).await.expect(403);

    assert_eq!(admin.get("/user/<tenant>/users/mia").await.status, 404);
}

#[tokio::test]
async fn browser_returns_to_the_log_in_page_with_a_word_for_the_reason() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, admin) = server_with_client(&provider).await;
    let browser = Browser::begin(&server).await;
    let state = &browser.sent["state"];
    let come_back = async |query: &str, accept: &str| {
        let request = browser.visitor.request("GET", &format!("{CALLBACK}?{query}"));
        request.header("Cookie", &browser.cookie).header("Accept", accept).send().await
    };
    let refused = async |query: &str| {
        let response = come_back(query, "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8").await.expect(303);
        assert_eq!((response.header("Set-Cookie"), &*response.text), (None, ""), "{query}");
        response.header("Location").unwrap().strip_prefix("/?sso=").unwrap().to_owned()
    };
    let (code, denied) = (format!("code=c0de&state={state}"), format!("error=%3Cscript%3E&state={state}"));
    let valid = browser.claims(&provider, "mia", &["ops"]);

    assert_eq!(refused("state=%3Cscript%3E&error=%22%3E%0D%0AX: y").await, "begin");
    assert_eq!(refused(&denied).await, "refused");
    issue(&provider, &json!({}));
    assert_eq!(refused(&code).await, "token");
    let mut other = valid.clone();
    other["sub"] = json!("admin");
    issue(&provider, &other);
    assert_eq!(refused(&code).await, "password");
    other["sub"] = json!("device_1");
    issue(&provider, &other);
    assert_eq!(refused(&code).await, "user");
    issue(&provider, &valid);
    come_back(&code, "text/html").await.expect(200);
    admin.put("/user/<tenant>/users/mia", &json!({"enabled": false})).await.expect(200);
    assert_eq!(refused(&code).await, "disabled");
    let response = come_back(&code, "application/json").await.expect(403);
    assert_eq!(response.json()["message"], "Access is denied: its user is disabled");
    admin.delete(&format!("{OPTIONS}/clientId")).await.expect(204);
    assert_eq!(refused(&code).await, "unoffered");
}

#[tokio::test]
async fn without_a_client_nothing_is_offered() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, _admin) = server_with(&provider).await;
    server.stranger().get("/console/sso").await.expect(404);
    let options = server.stranger().read("/tenant/loginOptions").await;
    assert_eq!(options["loginOptions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn passwords_of_people_can_be_switched_off_but_for_one_user() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, admin) = server_with_client(&provider).await;
    admin.put(OPTIONS, &json!({"passwordUser": "rescue"})).await.expect(200);
    let [joe, rescue] = ["joe", "rescue"].map(|name| server.user_with(name, &["ROLE_INVENTORY_READ"]));
    let (joe, rescue) = (joe.await, rescue.await);
    let device = server.device_user("sn-1").await;

    let statuses = [&joe, &rescue, &device].map(|caller| caller.get(OBJECTS));

    let statuses: Vec<u16> =
        futures_util::future::join_all(statuses).await.iter().map(|it| it.status).collect();
    assert_eq!(statuses, [401, 200, 200]);
    let browser = Browser::begin(&server).await;
    issue(&provider, &browser.claims(&provider, "mia", &[]));
    browser.come_back(&browser.sent["state"]).await.expect(200);
    // Without a client nobody could log in.
    admin.delete(&format!("{OPTIONS}/clientId")).await.expect(204);
    joe.get(OBJECTS).await.expect(200);
}

#[tokio::test]
async fn person_logs_in_at_a_provider_of_another_vendor() {
    let Some(provider) = Mocked::start().await else { return };
    let allowed = vec![provider.issuer.strip_prefix("http://").unwrap().parse().unwrap()];
    let (server, admin) =
        TestServer::start_with(|settings| settings.module_request_hosts = allowed).await.with_admin();
    let options =
        json!({"issuer": provider.issuer, "clientId": "console", "credentials.clientSecret": "secret"});
    admin.put(OPTIONS, &options).await.expect(200);
    let visitor = server.stranger();
    let begun = visitor.get("/console/sso").await.expect(302);
    let cookie = begun.header("Set-Cookie").unwrap().split(';').next().unwrap().to_owned();

    // The person enters a name in the form of the provider.
    let person = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let form = person.post(begun.header("Location").unwrap());
    let form = form.header("Content-Type", "application/x-www-form-urlencoded").body("sub=mia");
    let sent_back = form.send().await.unwrap();
    let back =
        sent_back.headers()["Location"].to_str().unwrap().strip_prefix(server.base()).unwrap().to_owned();
    let response = visitor.request("GET", &back).header("Cookie", &cookie).send().await.expect(200);

    let kept = response.headers("Set-Cookie").find_map(|cookie| cookie.strip_prefix("platform-console="));
    let mia = server.stranger().with_token(kept.unwrap().split(';').next().unwrap());
    assert_eq!(mia.read("/user/currentUser").await["userName"], "mia");
    assert_eq!(groups(&admin, "mia").await, names(&[]));
}
