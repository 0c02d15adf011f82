//! Tokens of the identity provider of a tenant (docs/rules.md#c-25).

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};

use super::providers::{AUDIENCE, Certified, Provider};
use super::*;
use crate::harness::issuer::{OTHER, RSA_1024, RSA_2048, encode, now};

pub(super) const OPTIONS: &str = "/tenant/options/identityProvider";

/// Starts a server whose tenant `main` has this provider.
pub(super) async fn server_with(provider: &Provider) -> (TestServer, Caller) {
    let allowed = vec![provider.address().parse().unwrap()];
    let (server, admin) =
        TestServer::start_with(|settings| settings.module_request_hosts = allowed).await.with_admin();
    admin.put(OPTIONS, &provider.options()).await.expect(200);
    (server, admin)
}

async fn status(server: &TestServer, token: &str) -> u16 {
    server.stranger().with_token(token).get("/user/currentUser").await.status
}

/// Returns the names of the groups of a user.
pub(super) async fn groups(admin: &Caller, name: &str) -> BTreeSet<String> {
    let user = admin.read(&format!("/user/<tenant>/users/{name}")).await;
    let references = user["groups"]["references"].as_array().unwrap().clone();
    references.iter().map(|of| of["group"]["name"].as_str().unwrap().to_owned()).collect()
}

pub(super) fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn first_token_creates_the_user_and_each_further_one_adapts_its_groups() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, admin) = server_with(&provider).await;

    let mia = server.stranger().with_token(&provider.token("mia", &["ops", "unknown"]));
    let device = mia.create_device("pump").await;

    assert_eq!(mia.read(&format!("{OBJECTS}/{device}")).await["owner"], "mia");
    let user = admin.read("/user/<tenant>/users/mia").await;
    assert_eq!((&user["email"], &user["firstName"]), (&json!("mia@example.com"), &json!("Mia")));
    assert_eq!(groups(&admin, "mia").await, names(&["admins"]));

    let staff = server.stranger().with_token(&provider.token("mia", &["staff"]));
    staff.get(OBJECTS).await.expect(200);
    assert_eq!(groups(&admin, "mia").await, names(&["business"]));
    staff.get("/user/<tenant>/users").await.expect(403);
    // The earlier token is valid, and has the rights that the user has now.
    mia.get("/user/currentUser").await.expect(200);
    mia.get("/user/<tenant>/users").await.expect(403);
    assert_eq!(groups(&admin, "mia").await, names(&["business"]));

    let nobody = server.stranger().with_token(&provider.token("joe", &[]));
    nobody.get("/user/currentUser").await.expect(200);
    assert_eq!(groups(&admin, "joe").await, names(&[]));
    let records = admin.read("/audit/auditRecords?type=User&pageSize=100").await;
    let of_mia = records["auditRecords"].as_array().unwrap().iter().filter(|record| record["user"] == "mia");
    let activities: Vec<_> = of_mia.map(|record| record["activity"].as_str().unwrap()).collect();
    let each = ["Log-in", "User update"];
    assert_eq!(activities, [&["User created"][..], &each, &each].concat(), "{records}");
}

#[tokio::test]
async fn keys_of_all_kinds_verify_their_own_algorithms_only() {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let ec = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let point = ec.public_key().as_ref();
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let ed = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
    let provider = Provider::start(vec![
        json!({"kty": "EC", "crv": "P-256", "kid": "ec", "x": encode(&point[1..33]), "y": encode(&point[33..])}),
        json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encode(ed.public_key().as_ref())}),
        json!({"kty": "oct", "kid": "shared", "k": encode("secret")}),
        json!({"kty": "new", "crv": 7}),
        json!({"kid": "encryption", "kty": "RSA", "use": "enc", "n": RSA_2048.jwk()["n"], "e": "AQAB"}),
        json!({"kid": "only512", "kty": "RSA", "alg": "RS512", "n": RSA_2048.jwk()["n"], "e": "AQAB"}),
        RSA_1024.jwk(),
        RSA_2048.jwk(),
    ])
    .await;
    let (server, _admin) = server_with(&provider).await;
    let claims = provider.claims("mia", &[]);
    let signed = |alg: &str, kid: &str, sign: &dyn Fn(&[u8]) -> Vec<u8>| {
        let header = json!({"typ": "at+jwt", "alg": alg, "kid": kid});
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        format!("{message}.{}", encode(sign(message.as_bytes())))
    };
    let by_ec = |message: &[u8]| ec.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec();
    let by_ed = |message: &[u8]| ed.sign(message).as_ref().to_vec();
    let by_rsa = |kid: &str| RSA_2048.sign(&json!({"alg": "RS256", "kid": kid}), &claims);

    for token in [signed("ES256", "ec", &by_ec), signed("EdDSA", "ed", &by_ed), by_rsa("rsa2048")] {
        assert_eq!(status(&server, &token).await, 200, "{token}");
    }
    for token in [
        signed("ES384", "ec", &by_ec),
        signed("ES256", "ed", &by_ed),
        signed("RS256", "ec", &by_ec),
        signed("EdDSA", "rsa2048", &by_ed),
        by_rsa("encryption"),
        by_rsa("only512"),
        by_rsa("shared"),
        RSA_1024.sign(&RSA_1024.header(), &claims),
    ] {
        assert_eq!(status(&server, &token).await, 401, "{token}");
    }
}

/// Returns tokens that must not be admitted, each with what is wrong with it.
fn attacks(provider: &Provider) -> Vec<(&'static str, String)> {
    let (header, claims) = (RSA_2048.header(), provider.claims("mia", &["ops"]));
    let with = |base: &Value, name: &str, value: Value| {
        let mut changed = base.clone();
        changed[name] = value;
        changed
    };
    let claiming = |name: &str, value: Value| RSA_2048.sign(&header, &with(&claims, name, value));
    let headed = |name: &str, value: Value| RSA_2048.sign(&with(&header, name, value), &claims);
    let unsigned = |alg: &str, signature: &str| {
        let header = with(&header, "alg", json!(alg)).to_string();
        format!("{}.{}.{signature}", encode(header), encode(claims.to_string()))
    };
    let valid = RSA_2048.sign(&header, &claims);
    let [head, _, signature] = valid.split('.').collect::<Vec<_>>()[..] else { panic!("{valid}") };
    let tampered = encode(with(&claims, "sub", json!("joe")).to_string());
    let hmac = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, RSA_2048.public.as_bytes());
    let confused = unsigned("HS256", "");
    let confused = confused.trim_end_matches('.');
    let tag = encode(ring::hmac::sign(&hmac, confused.as_bytes()));
    vec![
        ("no signature", unsigned("none", "")),
        ("no signature under a real algorithm", unsigned("RS256", "")),
        ("the public key as a secret", format!("{confused}.{tag}")),
        ("another key under a known id", OTHER.sign(&header, &claims)),
        ("an unknown key", OTHER.sign(&OTHER.header(), &claims)),
        ("changed claims", format!("{head}.{tampered}.{signature}")),
        ("another issuer", claiming("iss", json!("https://evil.example.com"))),
        ("the issuer of the platform", claiming("iss", json!("platform"))),
        ("another audience", claiming("aud", json!("https://other.example.com"))),
        ("no audience", claiming("aud", json!([]))),
        ("expired", claiming("exp", json!(now() - 1.0))),
        ("no time of issue", claiming("iat", Value::Null)),
        ("no expiry", claiming("exp", Value::Null)),
        ("not valid yet", claiming("nbf", json!(now() + 600.0))),
        ("a token for the log-out", headed("typ", json!("logout+jwt"))),
        ("critical extensions", headed("crit", json!(["b64"]))),
        ("the name of an administrator with a password", claiming("sub", json!("admin"))),
        ("the name of a device", claiming("sub", json!("device_1"))),
        ("the name of a microservice", claiming("sub", json!("service_x"))),
        ("a name that is no user name", claiming("sub", json!("a/b"))),
        ("no name", claiming("sub", Value::Null)),
        ("a key in the token", RSA_2048.sign(&json!({"alg": "RS256", "jwk": RSA_2048.jwk()}), &claims)),
        ("another key in the token", OTHER.sign(&json!({"alg": "RS256", "jwk": OTHER.jwk()}), &claims)),
        ("another key", OTHER.sign(&json!({"alg": "RS256"}), &claims)),
    ]
}

#[tokio::test]
async fn other_tokens_are_401_and_create_nobody() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, admin) = server_with(&provider).await;
    let users = admin.read("/user/<tenant>/users?pageSize=100").await["users"].clone();

    for (what, token) in attacks(&provider) {
        assert_eq!(status(&server, &token).await, 401, "{what}");
    }

    assert_eq!(admin.read("/user/<tenant>/users?pageSize=100").await["users"], users);
    assert_eq!(status(&server, &provider.token("mia", &[])).await, 200);
}

#[tokio::test]
async fn disabled_user_stays_disabled_and_a_removed_provider_admits_nobody() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, admin) = server_with(&provider).await;
    assert_eq!(status(&server, &provider.token("mia", &[])).await, 200);
    assert_eq!(status(&server, &provider.token("joe", &[])).await, 200);

    admin.put("/user/<tenant>/users/mia", &json!({"enabled": false})).await.expect(200);
    assert_eq!(status(&server, &provider.token("mia", &["ops"])).await, 401);
    assert_eq!(admin.read("/user/<tenant>/users/mia").await["enabled"], false);

    admin.delete(&format!("{OPTIONS}/issuer")).await.expect(204);
    assert_eq!(status(&server, &provider.token("joe", &[])).await, 401);
}

#[tokio::test]
async fn new_keys_are_read_and_an_outage_of_the_provider_is_bridged() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, _admin) = server_with(&provider).await;
    provider.is_down.store(true, Ordering::Relaxed);
    assert_eq!(status(&server, &provider.token("mia", &[])).await, 503);

    provider.is_down.store(false, Ordering::Relaxed);
    let token = provider.token("mia", &[]);
    until("the keys", async || status(&server, &token).await == 200).await;
    provider.is_down.store(true, Ordering::Relaxed);
    assert_eq!(status(&server, &provider.token("joe", &[])).await, 200);

    provider.is_down.store(false, Ordering::Relaxed);
    *provider.keys.lock().unwrap() = vec![OTHER.jwk()];
    let renewed = OTHER.sign(&OTHER.header(), &provider.claims("joe", &["staff"]));
    until("the new key", async || status(&server, &renewed).await == 200).await;
    // The old key was withdrawn with that.
    assert_eq!(status(&server, &provider.token("joe", &["ops"])).await, 401);
}

#[tokio::test]
async fn provider_that_describes_another_issuer_or_is_not_allowed_is_not_used() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, _admin) = server_with(&provider).await;
    provider.description.lock().unwrap()["issuer"] = json!("https://login.example.com");
    assert_eq!(status(&server, &provider.token("mia", &[])).await, 503);

    let (forbidding, admin) = TestServer::start().await.with_admin();
    admin.put(OPTIONS, &provider.options()).await.expect(200);
    assert_eq!(status(&forbidding, &provider.token("mia", &[])).await, 503);
}

#[tokio::test]
async fn options_of_the_provider_are_checked_and_need_the_right_over_users() {
    let (server, admin) = TestServer::shared().await.with_admin();
    for (key, value) in [("issuer", "platform"), ("groups", "ops"), ("audience", ""), ("isuer", "https://h")]
    {
        admin.put(OPTIONS, &json!({key: value})).await.expect(422);
    }
    let keeper = server.user_with("keeper", &["ROLE_OPTION_MANAGEMENT_ADMIN"]).await;
    keeper.put(OPTIONS, &json!({"issuer": "https://h"})).await.expect(403);
}

#[tokio::test]
async fn concurrent_first_tokens_at_two_servers_create_one_user() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let database = TestDatabase::create().await;
    let start = async || {
        let allowed = vec![provider.address().parse().unwrap()];
        TestServer::start_on(&database, |settings| settings.module_request_hosts = allowed).await
    };
    let servers = [start().await, start().await];
    let admin = servers[0].admin();
    admin.put(OPTIONS, &provider.options()).await.expect(200);
    for round in 0..5 {
        let name = format!("mia{round}");
        // Tokens that differ are not verified together.
        let tokens: Vec<_> = (0..6)
            .map(|n| {
                let mut claims = provider.claims(&name, &["staff"]);
                claims["jti"] = json!(n);
                RSA_2048.sign(&RSA_2048.header(), &claims)
            })
            .collect();
        let requests = tokens.iter().enumerate().map(|(n, token)| status(&servers[n % 2], token));

        let statuses: BTreeSet<u16> = futures_util::future::join_all(requests).await.into_iter().collect();

        assert_eq!(statuses, BTreeSet::from([200]));
        assert_eq!(groups(&admin, &name).await, names(&["business"]));
    }
}

#[tokio::test]
async fn token_without_the_id_of_a_key_counts_if_the_provider_has_one_key() {
    let provider = Provider::start(vec![OTHER.jwk()]).await;
    let (server, _) = server_with(&provider).await;
    let token = RSA_2048.sign(&json!({"alg": "RS256"}), &provider.claims("mia", &[]));
    assert_eq!(status(&server, &token).await, 401, "the only key is another one");

    *provider.keys.lock().unwrap() = vec![RSA_2048.jwk()];
    until("the new key", async || status(&server, &token).await == 200).await;

    *provider.keys.lock().unwrap() = vec![RSA_2048.jwk(), OTHER.jwk()];
    let (server, _) = server_with(&provider).await;
    assert_eq!(status(&server, &token).await, 401, "it could be either key");
}

#[tokio::test]
async fn certified_provider_signs_tokens_for_people() {
    let Some(provider) = Certified::start("http://127.0.0.1").await else { return };
    let issuer = &provider.issuer;
    let allowed = vec![provider.address().parse().unwrap()];
    let (server, admin) =
        TestServer::start_with(|settings| settings.module_request_hosts = allowed).await.with_admin();
    let options = json!({
        "issuer": issuer, "audience": AUDIENCE, "userClaim": "preferred_username",
        "groups": r#"{"operators": "admins"}"#,
    });
    admin.put(OPTIONS, &options).await.expect(200);
    let request = reqwest::Client::new().post(format!("{issuer}/token"));
    let request = request.basic_auth("backoffice", Some("backoffice-secret"));
    let form = format!("grant_type=client_credentials&resource={AUDIENCE}");
    let response = request.header("Content-Type", "application/x-www-form-urlencoded").body(form).send();
    let issued: Value = response.await.unwrap().json().await.unwrap();

    let caller = server.stranger().with_token(issued["access_token"].as_str().unwrap());
    let user = caller.read("/user/currentUser").await;

    assert_eq!(user["userName"], "backoffice");
    assert_eq!(groups(&admin, "backoffice").await, names(&["admins"]));
}
