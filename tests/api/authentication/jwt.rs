//! Bearer tokens (docs/rules.md#tenants-and-credentials; C-04).

use super::*;
use crate::harness::issuer::{
    KeyPair, OTHER, RSA_512, RSA_1024, RSA_1024_PKCS1, RSA_1536, RSA_2048, RSA_4096, claims, encode, now,
    tell, upload, withdraw,
};

/// A server whose tenant `main` has this key.
async fn server_with(key: KeyPair) -> TestServer {
    let database = TestDatabase::create().await;
    upload(&database, "main", key.name, key.public).await;
    TestServer::start_on(&database, |_| {}).await
}

async fn get(server: &TestServer, token: &str) -> Response {
    server.stranger().with_token(token).get(OBJECTS).await
}

async fn assert_unauthorized(server: &TestServer, token: &str, what: impl std::fmt::Display) {
    let answer = get(server, token).await;
    assert_eq!((answer.status, answer.error().as_str()), (401, "security/Unauthorized"), "{what}");
    assert_eq!(answer.header("WWW-Authenticate"), Some("Basic realm=\"Platform\""), "{what}");
}

fn with(base: &Value, more: Value) -> Value {
    let mut merged = base.clone();
    merged.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    merged
}

#[tokio::test]
async fn token_under_a_key_of_512_bits_or_more_is_the_user() {
    for key in [RSA_512, RSA_1024, RSA_1536, RSA_2048, RSA_4096] {
        let server = server_with(key).await;

        let answer = get(&server, &key.token_of("admin")).await;
        let scheme = format!("bEARER   {}", key.token_of("admin"));
        let spelled = server.stranger().request("GET", OBJECTS).header("Authorization", &scheme).send().await;

        assert_eq!((answer.status, spelled.status), (200, 200), "{}: {}", key.name, answer.text);
    }
}

#[tokio::test]
async fn user_of_a_token_has_its_own_roles_and_owns_what_it_makes() {
    let server = server_with(RSA_2048).await;
    server.user_with("joe", &["ROLE_INVENTORY_CREATE"]).await;
    let joe = server.stranger().with_token(&RSA_2048.token_of("joe"));

    let created = joe.create(OBJECTS, &json!({"name": "pump"})).await;
    let alarms = joe.get("/alarm/alarms").await;

    assert_eq!(created["owner"], "joe");
    assert_eq!((alarms.status, alarms.error().as_str()), (403, "security/Forbidden"));
}

#[tokio::test]
async fn token_is_for_the_tenant_it_names_whatever_the_host() {
    let database = TestDatabase::create().await;
    database.insert_tenant("t7", "plant7.example.com").await;
    upload(&database, "t7", RSA_2048.name, RSA_2048.public).await;
    let server = TestServer::start_on(&database, |_| {}).await;
    server.caller("t7/admin", ADMIN_PASSWORD).create(OBJECTS, &json!({"name": "in t7"})).await;
    let token = RSA_2048.sign(&RSA_2048.header(), &claims("t7", "admin", 60.0));

    for host in [None, Some("plant7.example.com"), Some("t7.example.com"), Some("main.localhost")] {
        let request = server.stranger().with_token(&token).request("GET", OBJECTS);
        let request = host.into_iter().fold(request, |request, host| request.header("Host", host));
        assert_eq!(request.send().await.json()["managedObjects"][0]["name"], "in t7", "{host:?}");
    }
    // The key of t7 is not valid for other tenants.
    assert_unauthorized(&server, &RSA_2048.token_of("admin"), "main has no such key").await;
}

#[tokio::test]
async fn public_key_is_read_in_all_its_spellings() {
    let server = TestServer::start().await;
    let bare: String = RSA_1024.public.lines().filter(|line| !line.starts_with("---")).collect();
    let blanks = format!(" \r\n{}\t\n ", RSA_1024.public.replace('\n', "\r\n  "));

    for (n, key) in [RSA_1024.public, &bare, &blanks, RSA_1024_PKCS1].into_iter().enumerate() {
        let kid = format!("a key/{n} \u{fc}");
        upload(server.database(), "main", &kid, key).await;
        let header = with(&RSA_1024.header(), json!({"kid": kid}));
        let token = RSA_1024.sign(&header, &claims("main", "admin", 60.0));
        until(&kid, async || get(&server, &token).await.status == 200).await;
    }
}

#[tokio::test]
async fn header_that_is_not_the_documented_one_is_401() {
    let server = server_with(RSA_2048).await;
    let good = RSA_2048.header();
    let claims = claims("main", "admin", 60.0);
    assert_eq!(get(&server, &RSA_2048.sign(&good, &claims)).await.status, 200);

    for more in [
        json!({"alg": "none"}),
        json!({"alg": "None"}),
        json!({"alg": "HS256"}),
        json!({"alg": "RS384"}),
        json!({"alg": "PS256"}),
        json!({"alg": null}),
        json!({"kid": null}),
        json!({"kid": "unknown"}),
        json!({"kid": "RSA2048"}),
        json!({"kid": ""}),
        json!({"kid": "' OR 1=1 --"}),
        json!({"kid": "rsa2048\u{0}"}),
        json!({"kid": ["rsa2048"]}),
        json!({"typ": "at+jwt"}),
        json!({"crit": ["exp"]}),
        json!({"crit": [], "b64": false}),
    ] {
        assert_unauthorized(&server, &RSA_2048.sign(&with(&good, more.clone()), &claims), more).await;
    }
    let doubled = r#"{"alg":"RS256","kid":"rsa2048","alg":"RS256"}"#;
    assert_unauthorized(&server, &RSA_2048.sign_texts(doubled, &claims.to_string()), doubled).await;
}

#[tokio::test]
async fn unsigned_token_and_one_signed_with_the_public_key_as_secret_are_401() {
    let server = server_with(RSA_2048).await;
    let claims = encode(claims("main", "admin", 60.0).to_string());
    let header = |algorithm| encode(json!({"typ": "JWT", "alg": algorithm, "kid": "rsa2048"}).to_string());

    for algorithm in ["none", "RS256"] {
        assert_unauthorized(&server, &format!("{}.{claims}.", header(algorithm)), "no signature").await;
        assert_unauthorized(&server, &format!("{}.{claims}", header(algorithm)), "two parts").await;
    }
    for secret in [RSA_2048.public, RSA_2048.public.trim()] {
        let message = format!("{}.{claims}", header("HS256"));
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
        let signature = encode(ring::hmac::sign(&key, message.as_bytes()));
        assert_unauthorized(&server, &format!("{message}.{signature}"), "the public key as a secret").await;
    }
}

#[tokio::test]
async fn key_that_a_token_brings_itself_is_not_looked_at() {
    let server = server_with(RSA_2048).await;
    let claims = claims("main", "admin", 60.0);
    let body: String = OTHER.public.lines().filter(|line| !line.starts_with("---")).collect();

    for more in [
        json!({"jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}}),
        json!({"jku": format!("{}/keys", server.base()), "x5u": server.base()}),
        json!({"x5c": [body]}),
    ] {
        let header = with(&RSA_2048.header(), more.clone());
        assert_unauthorized(&server, &OTHER.sign(&header, &claims), &more).await;
        let answer = get(&server, &RSA_2048.sign(&header, &claims)).await;
        assert_eq!(answer.status, 200, "{more}");
    }
}

#[tokio::test]
async fn claims_that_are_not_the_documented_ones_are_401() {
    let server = server_with(RSA_2048).await;
    let good = claims("main", "admin", 60.0);

    for more in [
        json!({"iss": "other"}),
        json!({"iss": null}),
        json!({"iss": ["platform"]}),
        json!({"aud": "management"}),
        json!({"aud": "unknown"}),
        json!({"aud": "Main"}),
        json!({"aud": ["main", "t7"]}),
        json!({"aud": []}),
        json!({"aud": null}),
        json!({"sub": "nobody"}),
        json!({"sub": "Admin"}),
        json!({"sub": ""}),
        json!({"sub": "main/admin"}),
        json!({"sub": "admin\u{0}"}),
        json!({"sub": "x".repeat(2000)}),
        json!({"sub": 7}),
        json!({"exp": null}),
        json!({"exp": now() - 0.1}),
        json!({"exp": (now() + 60.0).to_string()}),
        json!({"exp": 1e300}),
        json!({"exp": -1}),
        json!({"exp": u64::MAX}),
        json!({"nbf": now() + 20.0}),
        json!({"nbf": "0"}),
        json!({"nbf": -1e300}),
    ] {
        assert_unauthorized(&server, &RSA_2048.sign(&RSA_2048.header(), &with(&good, more.clone())), more)
            .await;
    }
    let header = RSA_2048.header().to_string();
    for text in [
        r#"{"iss":"platform","aud":"main","sub":"admin","exp":9999999999,"exp":9999999999}"#,
        r#"{"iss":"platform","aud":"t7","aud":"main","sub":"admin","exp":9999999999}"#,
        r#"{"iss":"platform","aud":"main","sub":"admin","exp":1e999}"#,
        r#"["platform"]"#,
        "",
        "\u{0}",
        &"[".repeat(5000),
    ] {
        assert_unauthorized(&server, &RSA_2048.sign_texts(&header, text), text).await;
    }
}

#[tokio::test]
async fn missing_nbf_fractions_and_an_audience_of_one_are_allowed() {
    let server = server_with(RSA_2048).await;

    for claims in [
        json!({"iss": "platform", "aud": "main", "sub": "admin", "exp": now() + 20.75}),
        json!({"iss": "platform", "aud": ["main"], "sub": "admin", "nbf": now() - 0.01, "exp": 9_999_999_999_u64}),
        json!({"iss": "platform", "aud": "main", "sub": "admin", "nbf": 0, "exp": 9_999_999_999_u64, "iat": "x"}),
    ] {
        let answer = get(&server, &RSA_2048.sign(&RSA_2048.header(), &claims)).await;
        assert_eq!(answer.status, 200, "{claims}");
    }
}

#[tokio::test]
async fn signature_that_is_not_exactly_right_is_401() {
    for key in [RSA_512, RSA_2048] {
        let server = server_with(key).await;
        let token = key.token_of("admin");
        let [header, claims, signature] = token.split('.').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(get(&server, &token).await.status, 200);

        let other = key.sign(&key.header(), &crate::harness::issuer::claims("main", "joe", 60.0));
        let [_, foreign_claims, foreign_signature] = other.split('.').collect::<Vec<_>>().try_into().unwrap();
        for (token, what) in [
            (format!("{header}.{foreign_claims}.{signature}"), "other claims"),
            (format!("{header}.{claims}.{foreign_signature}"), "the signature of others"),
            (format!("{header}.{claims}.{}", encode([])), "nothing"),
            (format!("{header}.{claims}.{}", encode([0; 64])), "zero"),
            (format!("{header}.{claims}.{}", encode([0xff; 256])), "more than the modulus"),
            (format!("{header}.{claims}.{signature}AA"), "too long"),
            (format!("{header}.{claims}.{signature}="), "padded"),
            (format!("{header}.{claims}.{signature}.{signature}"), "four parts"),
            (format!("{header}.{claims}.{}", &signature[..signature.len() - 4]), "too short"),
            (
                OTHER.sign(&key.header(), &crate::harness::issuer::claims("main", "admin", 60.0)),
                "another key",
            ),
        ] {
            assert_unauthorized(&server, &token, format!("{}: {what}", key.name)).await;
        }
    }
}

#[tokio::test]
async fn signature_with_the_modulus_added_is_401() {
    let server = server_with(RSA_512).await;
    let claims = claims("main", "admin", 60.0);
    let tokens = (0..).map(|n| RSA_512.sign(&RSA_512.header(), &with(&claims, json!({"jti": n}))));

    let (token, twin) =
        tokens.take(1000).find_map(|token| Some((RSA_512.with_modulus_added(&token)?, token))).unwrap();

    assert_eq!(get(&server, &twin).await.status, 200);
    assert_unauthorized(&server, &token, "not below the modulus").await;
}

#[tokio::test]
async fn disabled_user_is_401_and_suspended_tenant_is_403() {
    let server = server_with(RSA_2048).await;
    server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;
    let (joe, admin) = (RSA_2048.token_of("joe"), RSA_2048.token_of("admin"));
    assert_eq!((get(&server, &joe).await.status, get(&server, &admin).await.status), (200, 200));

    server.database().execute("UPDATE users SET enabled = false WHERE name = 'joe'", &[]).await;
    server.database().notify_user("joe").await;
    until("401", async || get(&server, &joe).await.status == 401).await;
    server.database().execute("UPDATE tenants SET status = 'SUSPENDED' WHERE id = 'main'", &[]).await;
    tell(server.database(), "main").await;
    until("403", async || get(&server, &admin).await.status == 403).await;

    assert_eq!(get(&server, &joe).await.status, 401);
}

#[tokio::test]
async fn bootstrap_user_may_do_nothing_here_by_token_either() {
    let database = TestDatabase::create().await;
    upload(&database, "management", RSA_2048.name, RSA_2048.public).await;
    let server = TestServer::start_on(&database, |_| {}).await;

    let token = RSA_2048.sign(&RSA_2048.header(), &claims("management", "devicebootstrap", 60.0));

    assert_eq!(get(&server, &token).await.status, 403);
}

#[tokio::test]
async fn token_is_remembered_no_longer_than_it_is_valid() {
    let server = server_with(RSA_2048).await;
    let begun = now();
    let token = RSA_2048.sign(&RSA_2048.header(), &claims("main", "admin", 1.5));
    assert_eq!(get(&server, &token).await.status, 200);

    let limit = Duration::from_secs(10);
    until_within(limit, "the end of the token", async || get(&server, &token).await.status == 401).await;

    assert!(now() - begun >= 1.5);
}

#[tokio::test]
async fn key_counts_from_its_upload_to_its_removal() {
    let server = TestServer::start().await;
    let (token, replaced) =
        (RSA_2048.token_of("admin"), OTHER.sign(&RSA_2048.header(), &claims("main", "admin", 60.0)));
    assert_unauthorized(&server, &token, "no key yet").await;

    upload(server.database(), "main", RSA_2048.name, RSA_2048.public).await;
    until("the new key", async || get(&server, &token).await.status == 200).await;
    upload(server.database(), "main", RSA_2048.name, OTHER.public).await;
    until("the other key", async || get(&server, &replaced).await.status == 200).await;
    assert_unauthorized(&server, &token, "its key was replaced").await;
    withdraw(server.database(), "main", RSA_2048.name).await;
    until("the end of the key", async || get(&server, &replaced).await.status == 401).await;
}

#[tokio::test]
async fn option_that_is_not_a_usable_key_is_401() {
    let server = TestServer::start().await;
    let body: String = RSA_2048.public.lines().filter(|line| !line.starts_with("---")).collect();

    for key in [
        "",
        "no key",
        "-----BEGIN PUBLIC KEY-----",
        "<<Encrypted>>",
        &"A".repeat(100_000),
        &body[..body.len() - 8],
        &format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"),
        &format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END CERTIFICATE-----"),
    ] {
        let kid = format!("kid {}", key.len());
        upload(server.database(), "main", &kid, key).await;
        let header = with(&RSA_2048.header(), json!({"kid": kid}));
        assert_unauthorized(&server, &RSA_2048.sign(&header, &claims("main", "admin", 60.0)), key).await;
    }
}

#[tokio::test]
async fn unreadable_and_oversize_tokens_are_401() {
    let server = server_with(RSA_2048).await;
    let large = with(&claims("main", "admin", 60.0), json!({"padding": "x".repeat(9000)}));

    for token in [
        "",
        ".",
        "..",
        "a.b.c",
        "....",
        "eyJhbGciOiJSUzI1NiJ9..",
        "\u{fc}.\u{fc}.\u{fc}",
        &RSA_2048.sign(&RSA_2048.header(), &large),
        &format!("{}.{}.x", encode("[".repeat(3000)), encode("{}")),
    ] {
        assert_unauthorized(&server, token, token.len()).await;
    }
}

#[tokio::test]
async fn bayeux_takes_a_token_as_a_header_and_not_in_the_handshake() {
    let server = server_with(RSA_1024).await;
    let token = RSA_1024.token_of("admin");
    let admin = server.stranger().with_token(&token);
    let device = admin.create_device("pump").await;

    let session = admin.listen("/alarms/*").await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    let received = session.receive(1).await;
    let ext = json!({"ext": {"com.platform.authn": {"token": token}}});
    let refused = admin.handshake(ext).await;

    assert_eq!(received[0]["data"]["data"], alarm);
    assert_eq!(refused["error"], "403::Handshake denied");
}
