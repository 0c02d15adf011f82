//! Credentials: both transports accept the same ones and return the same errors.

use super::*;
use crate::lane::pair::{Pair, Sent};
use crate::lane::sample::Sample;

#[tokio::test]
async fn who_shows_no_credentials_stays_out_of_every_path() {
    let pair = Pair::shared().await;

    for path in every_path() {
        for request in [Sample::to(&path, "[]"), Sample::to(&path, "{"), Sample::rows(&path, "80")] {
            let answers = pair.agree(request.without("Authorization")).await;
            assert_eq!(answers[0].status(), 401, "{path}");
            assert!(answers[0].field("www-authenticate").is_some(), "{path}");
        }
    }
}

#[tokio::test]
async fn malformed_credentials_are_refused_alike_on_every_path() {
    let pair = Pair::shared().await;

    for path in every_path() {
        for authorization in ["", "Basic", "Basic !!!", "Bearer x", "Digest x"] {
            let request = Sample::to(&path, "[]").instead(&format!("Authorization: {authorization}"));
            assert_eq!(pair.agree(request).await[0].status(), 401, "{path} {authorization:?}");
        }
    }
}

#[tokio::test]
async fn spellings_of_credentials_are_judged_alike() {
    let pair = Pair::shared().await;
    let admin = token("admin", ADMIN_PASSWORD);

    for authorization in [
        format!("basic {admin}"),
        format!("BASIC {admin}"),
        format!("Basic  {admin}"),
        format!("Basic\t{admin}"),
        format!("Basic {admin} "),
        format!("Basic {admin},"),
        format!(" \t Basic {admin}"),
        format!("Basic {}", admin.trim_end_matches('=')),
        format!("Basic {}", token("main/admin", ADMIN_PASSWORD)),
        format!("Basic {}", token("absent/admin", ADMIN_PASSWORD)),
        format!("Basic {}", token("", "")),
        format!("Basic {}", "x".repeat(3000)),
        format!("Bearer {admin}"),
        "Bearer a.b.c".to_owned(),
        "Bearer ".to_owned(),
    ] {
        pair.agree(Sample::idle().instead(&format!("Authorization: {authorization}"))).await;
        pair.agree(Sample::rows("/cep/realtime", "80").instead(&format!("Authorization: {authorization}")))
            .await;
    }
    let twice = format!("Authorization: Basic {admin}");
    pair.agree(Sample::idle().with(&twice)).await;
    pair.agree(Sample::idle().instead("Authorization: Basic x").with(&twice)).await;
    pair.agree(Sample::idle().with("Authorization: Basic x")).await;
}

#[tokio::test]
async fn wrong_passwords_are_refused_and_counted_alike() {
    let pair = Pair::shared().await;

    for _ in 0..4 {
        let wrong = format!("Authorization: Basic {}", token("admin", "wrong-secret"));
        assert_eq!(pair.agree(Sample::idle().instead(&wrong)).await[0].status(), 401);
    }
    let unknown = format!("Authorization: Basic {}", token("nobody", "wrong-secret"));
    assert_eq!(pair.agree(Sample::rows("/cep/realtime", "80").instead(&unknown)).await[0].status(), 401);
}

#[tokio::test]
async fn authenticated_user_without_rights_gets_the_same_403() {
    let database = TestDatabase::create().await;
    database.insert_tenant("asleep", "asleep.example.org").await;
    database.execute("UPDATE tenants SET status = 'SUSPENDED' WHERE id = 'asleep'", &[]).await;
    let pair = Pair::start_on(&database, |_| {}).await;

    for (user, password, status) in
        [("management/devicebootstrap", BOOTSTRAP_PASSWORD, 403), ("asleep/admin", ADMIN_PASSWORD, 403)]
    {
        let field = format!("Authorization: Basic {}", token(user, password));
        let answers = pair.agree(Sample::idle().instead(&field)).await;
        assert_eq!(answers[0].status(), status, "{user}: {answers:?}");
        pair.agree(Sample::rows("/cep/notifications", "80").instead(&field)).await;
    }
}

#[tokio::test]
async fn user_without_roles_is_refused_by_replies_alike() {
    let pair = Pair::shared().await;
    pair.lane.server.user_with("joe", &[]).await;
    let joe = format!("Authorization: Basic {}", token("joe", ADMIN_PASSWORD));

    for (endpoint, channel) in [("/notification/realtime", "/alarms/*"), ("/notification/operations", "/1")] {
        let answers = pair.agree_on(Sent::Whole(2), |_| {
            let handshake = Sample::to(endpoint, r#"[{"channel":"/meta/handshake"}]"#).instead(&joe).bytes();
            let body = format!(r#"[{{"channel":"/meta/subscribe","subscription":"{channel}"}}]"#);
            [handshake, Sample::to(endpoint, body).instead(&joe).bytes()].concat()
        });
        assert_eq!(answers.await[1].status(), 200);
    }
}

#[tokio::test]
async fn gateway_that_demands_tokens_takes_no_passwords() {
    let pair = Pair::start_with(|settings| settings.gateway_check = true).await;

    for authorization in ["Bearer x", "Basic x", "x"] {
        pair.agree(Sample::idle().instead(&format!("Authorization: {authorization}"))).await;
    }
    pair.agree(Sample::idle().without("Authorization")).await;
    pair.agree(Sample::idle()).await;
}
