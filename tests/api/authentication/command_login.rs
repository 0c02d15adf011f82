//! The log-in of the commands with the identity provider of the tenant (docs/rules.md#c-34).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};

use tokio::io::{AsyncBufReadExt, BufReader};

use super::identity_provider::{OPTIONS, groups, names, server_with};
use super::providers::{Certified, Provider};
use super::*;
use crate::harness::issuer::{OTHER, RSA_2048, encode, now};

const TOKENS: &str = "/tenant/loginOptions/oauth2/tokens";

/// Starts a server whose tenant `main` has a client for the commands at this provider.
async fn server_for_commands(provider: &Provider) -> (TestServer, Caller) {
    let (server, admin) = server_with(provider).await;
    admin.put(OPTIONS, &json!({"commandClientId": "commands"})).await.expect(200);
    (server, admin)
}

/// Returns the claims of an ID token for the commands.
fn claims(provider: &Provider, name: &str, groups: &[&str]) -> Value {
    let mut claims = provider.claims(name, groups);
    claims["aud"] = json!("commands");
    claims
}

fn sign(claims: &Value) -> String {
    RSA_2048.sign(&RSA_2048.header(), claims)
}

/// Runs a command with a configuration directory of its own, while the provider responds.
async fn platform(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Program::command(directory, arguments);
    command.env("XDG_CONFIG_HOME", directory);
    let output = tokio::task::spawn_blocking(move || run(command, ""));
    within(Duration::from_secs(60), "the end of the command", output).await.unwrap()
}

/// Runs a command that must succeed and returns what it printed.
async fn printed(directory: &Path, arguments: &[&str]) -> String {
    let output = platform(directory, arguments).await;
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must fail with code 4 and returns its message.
async fn denied(directory: &Path, arguments: &[&str]) -> String {
    let output = platform(directory, arguments).await;
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{arguments:?}: {message}");
    message
}

fn stored_token(directory: &Path) -> String {
    let file = directory.join("platform/profiles.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let profiles: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let profile = &profiles["profiles"]["default"];
    assert!(profile.get("password").is_none(), "{profile}");
    profile["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn person_confirms_a_code_and_commands_send_the_token_until_the_log_out() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, admin) = server_for_commands(&provider).await;
    let directory = scratch();
    let here = directory.path();
    *provider.id_token.lock().unwrap() = sign(&claims(&provider, "mia", &["ops"]));
    provider.errors.lock().unwrap().extend(["authorization_pending", "slow_down"]);

    let begun = Instant::now();
    let output = platform(here, &["login", server.base(), "--sso"]).await;

    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && said.contains("/enter in any browser") && said.contains("WDJB-MJHT"),
        "{said}"
    );
    // One second, one more, and five more after the request to slow down.
    assert!(begun.elapsed() >= Duration::from_secs(8), "{:?}", begun.elapsed());
    let (_, form) = provider.redeemed.lock().unwrap().clone();
    let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code";
    assert_eq!(form, format!("{grant}&device_code=dev1ce&client_id=commands"));
    let token = stored_token(here);
    let listed = printed(here, &["profile", "list", "-o", "json"]).await;
    assert!(listed.contains("mia") && !listed.contains(&token), "{listed}");
    printed(here, &["device", "create", "--name", "pump"]).await;
    assert_eq!(groups(&admin, "mia").await, names(&["admins"]));
    let mia = server.stranger().with_token(&token);
    let current = mia.read("/user/currentUser/tokens/current").await;
    assert_eq!(current["identityProvider"], provider.issuer);
    assert!(current["expiresIn"].as_u64().unwrap() > 11 * 3600, "{current}");

    assert!(printed(here, &["logout"]).await.contains("deleted the profile default"));
    mia.get("/user/currentUser").await.expect(401);
    assert!(!printed(here, &["profile", "list"]).await.contains("default"));
}

#[tokio::test]
async fn command_says_that_a_log_in_has_ended() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, _admin) = server_for_commands(&provider).await;
    let directory = scratch();
    *provider.id_token.lock().unwrap() = sign(&claims(&provider, "mia", &["ops"]));
    printed(directory.path(), &["login", server.base(), "--sso"]).await;
    let mia = server.stranger().with_token(&stored_token(directory.path()));
    mia.delete("/user/currentUser/tokens").await.expect(204);

    let message = denied(directory.path(), &["device", "list"]).await;

    assert!(
        message.contains("the log-in of mia has ended") && message.contains("--sso` logs in again"),
        "{message}"
    );
    let output = platform(directory.path(), &["logout"]).await;
    assert_eq!((output.status.success(), output.stderr.len()), (true, 0), "{output:?}");
}

#[tokio::test]
async fn log_out_deletes_the_profile_although_the_server_is_away() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, _admin) = server_for_commands(&provider).await;
    let directory = scratch();
    *provider.id_token.lock().unwrap() = sign(&claims(&provider, "mia", &[]));
    printed(directory.path(), &["login", server.base(), "--sso"]).await;
    let file = directory.path().join("platform/profiles.json");
    let away = format!("http://127.0.0.1:{}", free_port());
    let stored = std::fs::read_to_string(&file).unwrap().replace(server.base(), &away);
    std::fs::write(&file, stored).unwrap();

    let output = platform(directory.path(), &["logout"]).await;

    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("could not be revoked"), "{said}");
    assert!(!printed(directory.path(), &["profile", "list"]).await.contains("default"));
}

#[tokio::test]
async fn log_in_that_ends_without_a_token_says_why_and_stores_nothing() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, admin) = server_for_commands(&provider).await;
    let directory = scratch();
    let login = ["login", server.base(), "--sso"];
    let issued = |claims: &Value| *provider.id_token.lock().unwrap() = sign(claims);
    for (error, reason) in [
        ("access_denied", "the log-in was refused there"),
        ("expired_token", "nobody has entered the code in time"),
        ("unauthorized_client", "unauthorized_client"),
    ] {
        provider.errors.lock().unwrap().push_back(error);
        let message = denied(directory.path(), &login).await;
        assert!(message.contains(reason), "{message}");
    }
    let mut foreign = claims(&provider, "mia", &[]);
    foreign["iss"] = json!("https://evil.example.com");
    issued(&foreign);
    let message = denied(directory.path(), &login).await;
    assert!(message.contains("has not signed the ID token"), "{message}");
    issued(&claims(&provider, "admin", &[]));
    let message = denied(directory.path(), &login).await;
    assert!(message.contains("was not created by the identity provider"), "{message}");

    provider.begun.lock().unwrap()["expires_in"] = json!(2);
    provider.errors.lock().unwrap().extend(["authorization_pending"; 5]);
    let message = denied(directory.path(), &login).await;
    assert!(message.contains("nobody has entered the code in time"), "{message}");
    provider.description.lock().unwrap()["device_authorization_endpoint"] = Value::Null;
    let message = denied(directory.path(), &login).await;
    assert!(message.contains("does not support the log-in of commands"), "{message}");
    provider.description.lock().unwrap()["issuer"] = json!("https://evil.example.com");
    let message = denied(directory.path(), &login).await;
    assert!(message.contains("describes the issuer"), "{message}");
    admin.delete(&format!("{OPTIONS}/commandClientId")).await.expect(204);
    let message = denied(directory.path(), &login).await;
    assert!(
        message.contains("offers commands no log-in") && message.contains("commandClientId"),
        "{message}"
    );
    assert!(!directory.path().join("platform/profiles.json").exists());
}

/// Returns ID tokens that must not be exchanged, each with what is wrong with it.
fn attacks(provider: &Provider) -> Vec<(&'static str, String)> {
    let claims = claims(provider, "mia", &["ops"]);
    let with = |name: &str, value: Value| {
        let mut claims = claims.clone();
        claims[name] = value;
        sign(&claims)
    };
    let unsigned = |alg: &str| {
        let header = json!({"typ": "JWT", "alg": alg, "kid": RSA_2048.name}).to_string();
        format!("{}.{}", encode(header), encode(claims.to_string()))
    };
    let hmac = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, RSA_2048.public.as_bytes());
    let confused = unsigned("HS256");
    let tag = encode(ring::hmac::sign(&hmac, confused.as_bytes()));
    vec![
        ("no token", "x".into()),
        ("no signature", unsigned("none") + "."),
        ("the public key as a secret", format!("{confused}.{tag}")),
        ("another key under a known id", OTHER.sign(&RSA_2048.header(), &claims)),
        ("another issuer", with("iss", json!("https://evil.example.com"))),
        ("another audience", with("aud", json!("console"))),
        ("an access token for the platform", sign(&provider.claims("mia", &["ops"]))),
        (
            "another type",
            RSA_2048.sign(&json!({"typ": "at+jwt", "alg": "RS256", "kid": RSA_2048.name}), &claims),
        ),
        ("issued to another client", with("azp", json!("other"))),
        ("the log-in of a browser", with("nonce", json!("n"))),
        ("a logout token", with("events", json!({"http://schemas.openid.net/event/backchannel-logout": {}}))),
        ("expired", with("exp", json!(now() - 1.0))),
        ("issued long ago", with("iat", json!(now() - 400.0))),
        ("issued in the future", with("iat", json!(now() + 400.0))),
        ("no time of issue", with("iat", Value::Null)),
        ("no person", with("sub", Value::Null)),
        ("a long name of a session", with("sid", json!("s".repeat(256)))),
        ("a name of a session that nobody can store", with("sid", json!("a\u{0}b"))),
        ("the name of an administrator with a password", with("sub", json!("admin"))),
        ("the name of a device", with("sub", json!("device_1"))),
    ]
}

#[tokio::test]
async fn other_id_tokens_are_403_and_create_nobody() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let (server, admin) = server_for_commands(&provider).await;
    let users = admin.read("/user/<tenant>/users?pageSize=100").await["users"].clone();
    let stranger = server.stranger();

    for (what, token) in attacks(&provider) {
        let response = stranger.post(TOKENS, &json!({"idToken": token})).await;
        assert_eq!(response.status, 403, "{what}: {}", response.text);
    }

    assert_eq!(admin.read("/user/<tenant>/users?pageSize=100").await["users"], users);
    for body in [json!({}), json!({"idToken": 7}), json!({"idToken": "x", "scoop": "READ"})] {
        stranger.post(TOKENS, &body).await.expect(422);
    }
    // No request is authenticated with an ID token.
    let valid = sign(&claims(&provider, "mia", &["ops"]));
    server.stranger().with_token(&valid).get("/user/currentUser").await.expect(401);
    let issued = stranger.post(TOKENS, &json!({"idToken": valid, "scope": "READ"})).await.expect(201).json();
    let mia = server.stranger().with_token(issued["accessToken"].as_str().unwrap());
    mia.get("/user/currentUser").await.expect(200);
    mia.post(OBJECTS, &json!({"name": "pump"})).await.expect(403);
}

#[tokio::test]
async fn id_token_is_exchanged_once_at_whichever_server() {
    let provider = Provider::start(vec![RSA_2048.jwk()]).await;
    let database = TestDatabase::create().await;
    let start = async || {
        let allowed = vec![provider.address().parse().unwrap()];
        TestServer::start_on(&database, |settings| settings.module_request_hosts = allowed).await
    };
    let servers = [start().await, start().await];
    let options = json!({"issuer": provider.issuer, "commandClientId": "commands"});
    servers[0].admin().put(OPTIONS, &options).await.expect(200);
    for round in 0..5 {
        let token = sign(&claims(&provider, &format!("mia{round}"), &[]));
        let strangers: Vec<_> = (0..6).map(|n| servers[n % 2].stranger()).collect();
        let body = json!({"idToken": token});

        let exchanged = strangers.iter().map(|stranger| stranger.post(TOKENS, &body));

        let mut statuses: Vec<u16> =
            futures_util::future::join_all(exchanged).await.iter().map(|it| it.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 403, 403, 403, 403, 403]);
    }
}

#[tokio::test]
async fn person_logs_in_to_the_commands_at_a_certified_provider() {
    let Some(provider) = Certified::start("http://127.0.0.1").await else { return };
    let allowed = vec![provider.address().parse().unwrap()];
    let (server, admin) =
        TestServer::start_with(|settings| settings.module_request_hosts = allowed).await.with_admin();
    let options = json!({
        "issuer": provider.issuer, "commandClientId": "commands", "groups": r#"{"operators": "admins"}"#,
    });
    admin.put(OPTIONS, &options).await.expect(200);
    let directory = scratch();
    let mut command = Program::command(directory.path(), &["login", server.base(), "--sso"]);
    command.env("XDG_CONFIG_HOME", directory.path());
    let mut command = tokio::process::Command::from(command);
    let mut login = command.stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();

    let mut lines = BufReader::new(login.stderr.take().unwrap()).lines();
    let address = within(Duration::from_secs(30), "the address", async {
        loop {
            let line = lines.next_line().await.unwrap().expect("the command says where to log in");
            if let Some(address) = line.strip_prefix("or open ") {
                return address.to_owned();
            }
        }
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/person.mjs");
    let person = tokio::process::Command::new("node").arg(script).arg(address.await).output().await.unwrap();
    let seen = String::from_utf8_lossy(&person.stdout);
    assert!(seen.contains("was successful"), "{seen} {}", String::from_utf8_lossy(&person.stderr));
    let status = within(Duration::from_secs(30), "the end of the command", login.wait()).await.unwrap();

    assert!(status.success());
    let current = printed(directory.path(), &["api", "GET", "/user/currentUser"]).await;
    assert_eq!(serde_json::from_str::<Value>(&current).unwrap()["userName"], "mia");
    assert_eq!(groups(&admin, "mia").await, names(&["admins"]));
    printed(directory.path(), &["logout"]).await;
}
