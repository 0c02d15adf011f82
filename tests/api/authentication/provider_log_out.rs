//! Log-outs with the identity provider of the tenant (docs/rules.md#c-35, docs/rules.md#c-36).

use std::sync::Arc;

use super::identity_provider::OPTIONS;
use super::providers::Provider;
use super::single_sign_on::{Browser, issue};
use super::*;
use crate::harness::issuer::{OTHER, RSA_2048, encode, now};

const BACK_CHANNEL: &str = "/console/sso/backchannel-logout";
const FRONT_CHANNEL: &str = "/console/sso/frontchannel-logout";
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Some servers of one deployment, whose tenant `main` has clients at a provider that the test controls.
struct Deployment {
    provider: Arc<Provider>,
    servers: Vec<TestServer>,
}

impl Deployment {
    async fn start(count: usize) -> Self {
        let provider = Provider::start(vec![RSA_2048.jwk()]).await;
        let database = TestDatabase::create().await;
        let mut servers = Vec::new();
        for _ in 0..count {
            let allowed = vec![provider.address().parse().unwrap()];
            servers.push(
                TestServer::start_on(&database, |settings| settings.module_request_hosts = allowed).await,
            );
        }
        let options = json!({
            "issuer": provider.issuer, "clientId": "console", "commandClientId": "commands",
            "userClaim": "preferred_username",
        });
        servers[0].admin().put(OPTIONS, &options).await.expect(200);
        Self { provider, servers }
    }

    /// Logs a person in to the console at the last server, in a session of the provider, and returns the token.
    async fn log_in(&self, name: &str, session: &str) -> String {
        let browser = Browser::begin(self.last()).await;
        let mut claims = browser.claims(&self.provider, &format!("p-{name}"), &[]);
        (claims["preferred_username"], claims["sid"]) = (json!(name), json!(session));
        issue(&self.provider, &claims);
        let response = browser.come_back(&browser.sent["state"]).await.expect(200);
        let kept = response.headers("Set-Cookie").find_map(|cookie| cookie.strip_prefix("platform-console="));
        kept.unwrap().split(';').next().unwrap().to_owned()
    }

    fn last(&self) -> &TestServer {
        self.servers.last().unwrap()
    }

    /// Returns the claims of a logout token.
    fn claims(&self, id: &str) -> Value {
        json!({
            "iss": self.provider.issuer, "aud": "console", "iat": now(), "exp": now() + 120.0, "jti": id,
            "events": {EVENT: {}},
        })
    }

    /// Reports a log-out to the first server, as the provider does.
    async fn report(&self, token: &str) -> Response {
        report(&self.servers[0], token).await
    }

    async fn is_in(&self, token: &str) -> bool {
        let mut statuses = Vec::new();
        for server in &self.servers {
            statuses.push(server.stranger().with_token(token).get("/user/currentUser").await.status);
        }
        assert!(statuses.iter().all(|status| [200, 401].contains(status)), "{statuses:?}");
        statuses.contains(&200)
    }

    /// Waits until a token is refused at all servers.
    async fn until_out(&self, token: &str) {
        until_within(Duration::from_secs(2), "the end of the log-in", async || !self.is_in(token).await)
            .await;
    }
}

async fn report(server: &TestServer, token: &str) -> Response {
    let request = server.stranger().request("POST", BACK_CHANNEL);
    let request = request.header("Content-Type", "application/x-www-form-urlencoded");
    request.body(format!("logout_token={token}")).send().await
}

fn sign(claims: &Value) -> String {
    RSA_2048.sign(&json!({"typ": "logout+jwt", "alg": "RS256", "kid": RSA_2048.name}), claims)
}

fn with(claims: &Value, members: Value) -> Value {
    let mut claims = claims.clone();
    for (name, value) in members.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

#[tokio::test]
async fn log_out_at_the_provider_ends_log_ins_of_a_session_or_a_person_at_every_server() {
    for count in [1, 2] {
        let at = Deployment::start(count).await;
        let [one, two, joe] =
            [at.log_in("mia", "s1").await, at.log_in("mia", "s2").await, at.log_in("joe", "s3").await];
        let other =
            with(&at.provider.claims("p-mia", &[]), json!({"aud": "commands", "preferred_username": "mia"}));
        let exchanged =
            json!({"idToken": RSA_2048.sign(&RSA_2048.header(), &with(&other, json!({"sid": "s4"})))});
        let path = "/tenant/loginOptions/oauth2/tokens";
        let issued = at.last().stranger().post(path, &exchanged).await.expect(201).json();
        let command = issued["accessToken"].as_str().unwrap();
        for token in [&one, &two, &joe, command] {
            assert!(at.is_in(token).await);
        }

        let of_session = with(&at.claims("1"), json!({"sub": "p-mia", "sid": "s1"}));
        let response = at.report(&sign(&of_session)).await.expect(200);
        assert_eq!(response.header("Cache-Control"), Some("no-store"));
        at.until_out(&one).await;
        assert!(at.is_in(&two).await && at.is_in(command).await);

        at.report(&sign(&with(&at.claims("2"), json!({"sid": "s2"})))).await.expect(200);
        at.until_out(&two).await;
        let again = at.log_in("mia", "s5").await;
        assert!(at.is_in(&again).await && at.is_in(command).await);
        // A token of a session of another person ends nothing.
        at.report(&sign(&with(&at.claims("3"), json!({"sub": "p-joe", "sid": "s5"})))).await.expect(200);
        assert!(at.is_in(&again).await);

        let of_person = with(&at.claims("4"), json!({"sub": "p-mia", "aud": ["commands"], "exp": null}));
        at.report(&sign(&of_person)).await.expect(200);
        for token in [&*again, command] {
            at.until_out(token).await;
        }
        assert!(at.is_in(&joe).await);
    }
}

/// Returns logout tokens that must not be accepted, each with what is wrong with it.
fn attacks(at: &Deployment) -> Vec<(&'static str, String)> {
    let claims = with(&at.claims("a"), json!({"sub": "p-mia", "sid": "s1"}));
    let but = |members: Value| sign(&with(&claims, members));
    let unsigned = |alg: &str| {
        let header = json!({"typ": "logout+jwt", "alg": alg, "kid": RSA_2048.name}).to_string();
        format!("{}.{}", encode(header), encode(claims.to_string()))
    };
    let hmac = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, RSA_2048.public.as_bytes());
    let confused = unsigned("HS256");
    let tag = encode(ring::hmac::sign(&hmac, confused.as_bytes()));
    let typed =
        |typ: &str| RSA_2048.sign(&json!({"typ": typ, "alg": "RS256", "kid": RSA_2048.name}), &claims);
    vec![
        ("no token", String::new()),
        ("no signature", unsigned("none") + "."),
        ("the public key as a secret", format!("{confused}.{tag}")),
        ("another key under a known id", OTHER.sign(&RSA_2048.header(), &claims)),
        ("another issuer", but(json!({"iss": "https://evil.example.com"}))),
        ("the issuer of the platform", but(json!({"iss": "platform"}))),
        ("another client", but(json!({"aud": "other"}))),
        ("no audience", but(json!({"aud": null}))),
        ("a nonce", but(json!({"nonce": "n"}))),
        ("no events", but(json!({"events": null}))),
        ("another event", but(json!({"events": {"https://example.com/x": {}}}))),
        ("an event that is no object", but(json!({"events": {EVENT: true}}))),
        ("events as a list", but(json!({"events": [EVENT]}))),
        ("expired", but(json!({"exp": now() - 1.0}))),
        ("issued long ago", but(json!({"iat": now() - 400.0}))),
        ("issued in the future", but(json!({"iat": now() + 400.0}))),
        ("no time of issue", but(json!({"iat": null}))),
        ("no id", but(json!({"jti": null}))),
        ("neither a person nor a session", but(json!({"sub": null, "sid": null}))),
        ("a person that is no text", but(json!({"sub": 7}))),
        ("a session that nobody can store", but(json!({"sid": "a\u{0}b"}))),
        ("the type of an access token", typed("at+jwt")),
        ("another type", typed("secevent+jwt")),
    ]
}

#[tokio::test]
async fn other_logout_tokens_are_400_and_end_nothing() {
    let at = Deployment::start(1).await;
    let mia = at.log_in("mia", "s1").await;

    for (what, token) in attacks(&at) {
        let response = at.report(&token).await;
        assert_eq!(response.status, 400, "{what}: {}", response.text);
        assert!(at.is_in(&mia).await, "{what}");
    }

    let valid = sign(&with(&at.claims("a"), json!({"sub": "p-mia", "sid": "s1"})));
    let json = at.servers[0].stranger().post(BACK_CHANNEL, &json!({"logout_token": valid})).await;
    assert_eq!(json.status, 415);
    let long = report(&at.servers[0], &"x".repeat(70_000)).await;
    assert_eq!(long.status, 413);
    // A logout token is not a credential, and no log-in.
    assert!(!at.is_in(&valid).await);
    at.report(&valid).await.expect(200);
    at.until_out(&mia).await;
}

#[tokio::test]
async fn logout_token_counts_once_at_whichever_server_and_ends_its_session_for_good() {
    let at = Deployment::start(2).await;
    let mia = at.log_in("mia", "s1").await;
    let token = sign(&with(&at.claims("a"), json!({"sub": "p-mia"})));
    let reports = (0..6).map(|n| report(&at.servers[n % 2], &token));
    let mut statuses: Vec<u16> =
        futures_util::future::join_all(reports).await.iter().map(|it| it.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400, 400, 400, 400, 400]);
    at.until_out(&mia).await;

    let again = at.log_in("mia", "s2").await;
    for server in &at.servers {
        assert_eq!(report(server, &token).await.status, 400);
    }
    assert!(at.is_in(&again).await);

    at.report(&sign(&with(&at.claims("b"), json!({"sid": "s2"})))).await.expect(200);
    let browser = Browser::begin(at.last()).await;
    let mut claims = browser.claims(&at.provider, "p-mia", &[]);
    (claims["preferred_username"], claims["sid"]) = (json!("mia"), json!("s2"));
    issue(&at.provider, &claims);
    let response = browser.come_back(&browser.sent["state"]).await.expect(403);
    assert!(response.text.contains("has ended"), "{}", response.text);
}

#[tokio::test]
async fn page_in_a_frame_of_the_provider_ends_a_session() {
    let at = Deployment::start(2).await;
    let (mia, other) = (at.log_in("mia", "s1").await, at.log_in("mia", "s2").await);
    let stranger = at.servers[0].stranger();
    let issuer: String = form_urlencoded::byte_serialize(at.provider.issuer.as_bytes()).collect();

    for query in ["", "sid=s1", "iss=https://evil.example.com&sid=s1", &format!("iss={issuer}&sid=a%00b")] {
        assert_eq!(stranger.get(&format!("{FRONT_CHANNEL}?{query}")).await.status, 400, "{query}");
    }
    assert!(at.is_in(&mia).await);
    let response = stranger.get(&format!("{FRONT_CHANNEL}?iss={issuer}&sid=s1")).await.expect(200);

    let origin = at.provider.issuer.strip_suffix("/realms/acme").unwrap();
    let policy = format!("default-src 'none'; frame-ancestors {origin}");
    assert_eq!(response.header("Content-Security-Policy"), Some(&*policy));
    at.until_out(&mia).await;
    assert!(at.is_in(&other).await);
}

#[tokio::test]
async fn browser_that_has_logged_out_continues_at_the_provider() {
    let at = Deployment::start(1).await;
    let stranger = at.servers[0].stranger();
    let location = async || {
        let response = stranger.get("/console/sso/logout").await.expect(302);
        response.header("Location").unwrap().to_owned()
    };
    let home = format!("{}/", at.servers[0].base());
    at.provider.is_down.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(location().await, home);
    at.provider.is_down.store(false, std::sync::atomic::Ordering::Relaxed);
    let back: String = form_urlencoded::byte_serialize(home.as_bytes()).collect();
    let wanted = format!("{}/end?x=1&client_id=console&post_logout_redirect_uri={back}", at.provider.issuer);
    until("the description", async || location().await == wanted).await;
    at.servers[0].admin().delete(&format!("{OPTIONS}/clientId")).await.expect(204);
    assert_eq!(location().await, home);
}
