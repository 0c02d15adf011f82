//! "Password guessing is throttled per account and per source with growing delays, never a permanent lock, and costs no
//! other caller its latency."

use platform_front::config::Settings;
use tokio::task::JoinHandle;

use super::*;

/// A delay that does not end during a test.
const FOREVER: Duration = Duration::from_secs(60);
/// The addresses of two networks of test clients.
const HERE: &str = "192.0.2.1";
const ELSEWHERE: &str = "198.51.100.1";

/// Returns settings with which two wrong passwords of an account are free and further ones wait this long.
fn delaying(delay: Duration) -> impl FnOnce(&mut Settings) {
    move |settings| {
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
        settings.limits.free_guesses_per_account = 2;
        settings.limits.guess_delay = delay;
        settings.limits.longest_guess_delay = delay * 4;
        settings.limits.waiting_per_account = 4;
    }
}

/// Returns a caller with a guess at a user's password.
fn guess(server: &TestServer, user: &str, from: &str, password: &str) -> Caller {
    server.caller(user, password).from(from)
}

async fn guess_wrong(server: &TestServer, user: &str, from: &str, count: usize) {
    for n in 0..count {
        guess(server, user, from, &format!("wrong-{n}")).get(OBJECTS).await.expect(401);
    }
}

/// A request that runs concurrently.
fn aside(caller: Caller) -> JoinHandle<Response> {
    tokio::spawn(async move { caller.get(OBJECTS).await })
}

/// Guesses until one source has as many waiting guesses for an account as it may have, so that the next one is
/// rejected.
async fn refused(server: &TestServer, user: &str, from: &str) -> Response {
    let mut passwords = (0..).map(|n| format!("yet-another-{n}"));
    eventually("a refusal", async || {
        // A waiting guess continues to wait.
        let attempt = aside(guess(server, user, from, &passwords.next()?));
        let answer = tokio::time::timeout(Duration::from_millis(500), attempt).await.ok()?.unwrap();
        (answer.status == 429).then_some(answer)
    })
    .await
}

#[tokio::test]
async fn right_password_still_gets_in_after_many_wrong_ones() {
    let server = TestServer::start_with(delaying(Duration::from_millis(5))).await;

    guess_wrong(&server, "management/admin", HERE, 9).await;

    for from in [HERE, ELSEWHERE] {
        let answer = guess(&server, "management/admin", from, ADMIN_PASSWORD).get(OBJECTS).await;
        assert_eq!(answer.status, 200, "{from}");
    }
}

#[tokio::test]
async fn guess_beyond_the_free_ones_waits_and_nobody_else_does() {
    let server = TestServer::start_with(delaying(FOREVER)).await;
    server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;
    guess_wrong(&server, "management/admin", HERE, 2).await;

    let waiting = aside(guess(&server, "management/admin", HERE, ADMIN_PASSWORD));
    for (user, from) in [("joe", HERE), ("admin", ELSEWHERE), ("joe", ELSEWHERE)] {
        assert_eq!(
            guess(&server, user, from, ADMIN_PASSWORD).get(OBJECTS).await.status,
            200,
            "{user} {from}"
        );
    }
    guess_wrong(&server, "joe", ELSEWHERE, 2).await;

    assert!(!waiting.is_finished(), "even the right password waits");
    waiting.abort();
}

#[tokio::test]
async fn account_that_does_not_exist_is_throttled_like_one_that_does() {
    let server = TestServer::start_with(delaying(FOREVER)).await;

    for user in ["nobody", "main/nobody-else", "unknown/admin", "management/admin"] {
        guess_wrong(&server, user, HERE, 2).await;
        let waiting = aside(guess(&server, user, HERE, "wrong"));
        refused(&server, user, HERE).await;
        assert!(!waiting.is_finished(), "{user}");
        waiting.abort();
    }
}

#[tokio::test]
async fn success_clears_the_failures_of_the_account() {
    let server = TestServer::start_with(delaying(FOREVER)).await;

    let admin = server.admin().from(HERE);

    for n in 0..4 {
        guess_wrong(&server, "admin", HERE, 1).await;
        // Verified credentials are cached per host, so a new host has the password verified.
        let request = admin.request("GET", OBJECTS).header("Host", &format!("h{n}.example.com"));
        assert_eq!(request.send().await.status, 200, "{n}");
    }
}

#[tokio::test]
async fn remembered_credentials_never_wait() {
    let server = TestServer::start_with(delaying(FOREVER)).await;
    let admin = server.admin().from(HERE);
    assert_eq!(admin.get(OBJECTS).await.status, 200);
    guess_wrong(&server, "admin", ELSEWHERE, 2).await;
    let attacker = aside(guess(&server, "admin", ELSEWHERE, "wrong"));
    refused(&server, "admin", ELSEWHERE).await;

    for from in [HERE, ELSEWHERE] {
        assert_eq!(admin.from(from).get(OBJECTS).await.status, 200, "{from}");
    }
    attacker.abort();
}

#[tokio::test]
async fn who_came_in_from_a_place_before_does_not_wait_for_guesses_made_elsewhere() {
    let server = TestServer::start_with(delaying(FOREVER)).await;
    server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;
    let joe = guess(&server, "joe", HERE, ADMIN_PASSWORD);
    assert_eq!(joe.get(OBJECTS).await.status, 200);
    guess_wrong(&server, "joe", ELSEWHERE, 2).await;
    let attacker = aside(guess(&server, "joe", ELSEWHERE, "wrong"));
    refused(&server, "joe", ELSEWHERE).await;

    // The cached caller is dropped, so the password must be verified again.
    let roles: &[&str] = &["ROLE_ALARM_READ"];
    server.database().execute("UPDATE users SET roles = $1 WHERE name = 'joe'", &[&roles]).await;
    server.database().notify_user("joe").await;
    until("the new roles", async || joe.get("/alarm/alarms").await.status == 200).await;

    assert!(!attacker.is_finished());
    attacker.abort();
}

#[tokio::test]
async fn source_that_guesses_at_many_accounts_is_slowed() {
    let server = TestServer::start_with(|settings| {
        delaying(FOREVER)(settings);
        settings.limits.free_guesses_per_source = 3;
    })
    .await;
    for user in ["a", "b", "c"] {
        guess_wrong(&server, user, HERE, 1).await;
    }

    let waiting =
        [aside(guess(&server, "d", HERE, "wrong")), aside(guess(&server, "admin", HERE, ADMIN_PASSWORD))];
    let other = guess(&server, "admin", ELSEWHERE, ADMIN_PASSWORD).get(OBJECTS).await;
    guess_wrong(&server, "d", ELSEWHERE, 1).await;

    assert_eq!(other.status, 200);
    assert!(!waiting[0].is_finished(), "another account does not help");
    waiting.iter().for_each(JoinHandle::abort);
}

#[tokio::test]
async fn forwarded_addresses_of_others_than_trusted_proxies_do_not_count() {
    let server = TestServer::start_with(|settings| {
        delaying(FOREVER)(settings);
        settings.limits.free_guesses_per_source = 3;
        settings.trusted_proxies = Vec::new();
    })
    .await;
    for n in 0..3 {
        guess_wrong(&server, &format!("user-{n}"), &format!("192.0.2.{n}"), 1).await;
    }

    let waiting = aside(guess(&server, "user-7", "192.0.2.7", "wrong"));
    let sooner = tokio::time::timeout(Duration::from_millis(300), waiting).await;

    assert!(sooner.is_err(), "all of them are one source: {sooner:?}");
}

#[tokio::test]
async fn guesses_beyond_what_may_wait_are_429_with_retry_after() {
    let server = TestServer::start_with(delaying(FOREVER)).await;
    guess_wrong(&server, "management/admin", HERE, 2).await;
    let waiting: Vec<_> =
        (0..2).map(|n| aside(guess(&server, "management/admin", HERE, &format!("waits-{n}")))).collect();

    let answer = refused(&server, "management/admin", HERE).await;

    assert_eq!(answer.error(), "security/Too Many Requests");
    assert_eq!(answer.header("Retry-After"), Some("61"));
    assert_eq!(answer.message(), "Too many attempts to log in, try again in 61 seconds");
    assert!(server.stranger().get("/metrics").await.text.contains("platform_authentication_throttled_total"));
    waiting.iter().for_each(JoinHandle::abort);
}

#[tokio::test]
async fn who_hangs_up_makes_room() {
    let server = TestServer::start_with(delaying(FOREVER)).await;
    guess_wrong(&server, "nobody", HERE, 2).await;
    let waiting: Vec<_> =
        (0..2).map(|n| aside(guess(&server, "nobody", HERE, &format!("waits-{n}")))).collect();
    refused(&server, "nobody", HERE).await;

    waiting.iter().for_each(JoinHandle::abort);

    until("room to wait", async || {
        let attempt = aside(guess(&server, "nobody", HERE, "another"));
        tokio::time::timeout(Duration::from_millis(300), attempt).await.is_err()
    })
    .await;
}

#[tokio::test]
async fn many_requests_with_one_wrong_header_are_one_guess() {
    let server = TestServer::start_with(delaying(FOREVER)).await;
    guess_wrong(&server, "management/admin", HERE, 2).await;
    let shared = guess(&server, "management/admin", HERE, "all-the-same");
    let fleet: Vec<_> = (0..20).map(|_| aside(shared.clone())).collect();

    // Only two guesses may wait at a time. This one fills the queue, so the twenty requests together must count as one
    // guess.
    let another = aside(guess(&server, "management/admin", HERE, "another"));
    refused(&server, "management/admin", HERE).await;

    assert!(fleet.iter().all(|request| !request.is_finished()) && !another.is_finished());
    fleet.iter().chain([&another]).for_each(JoinHandle::abort);
}

#[tokio::test]
async fn wrong_header_that_comes_again_is_another_guess() {
    let server = TestServer::start_with(delaying(FOREVER)).await;
    let same = guess(&server, "management/admin", HERE, "all-the-same");
    for _ in 0..2 {
        assert_eq!(same.get(OBJECTS).await.status, 401);
    }

    let third = aside(same);
    refused(&server, "management/admin", HERE).await;

    assert!(!third.is_finished(), "the first two counted");
    third.abort();
}

#[tokio::test]
async fn tokens_of_handshakes_are_guesses_too() {
    let server = TestServer::start_with(delaying(FOREVER)).await;
    let admin = server.admin().from(HERE);
    let token = |password: &str| {
        let basic = server.caller("management/admin", password).authorization().unwrap();
        json!({"ext": {"com.platform.authn": {"token": basic}}})
    };
    for password in ["wrong-1", "wrong-2"] {
        let reply = admin.handshake(token(password)).await;
        assert_eq!(reply["advice"]["reconnect"], "none", "{reply}");
    }

    let waiting: Vec<_> = ["wrong-3", "wrong-4"]
        .map(|password| {
            let (admin, more) = (admin.clone(), token(password));
            tokio::spawn(async move { admin.handshake(more).await })
        })
        .into();
    refused(&server, "management/admin", HERE).await;
    let reply = soon("a refusal", admin.handshake(token("wrong-5"))).await;

    assert_eq!(reply["error"], "403::Handshake denied");
    assert_eq!(reply["advice"]["reconnect"], "handshake", "it may try again: {reply}");
    assert!(waiting.iter().all(|handshake| !handshake.is_finished()));
    waiting.iter().for_each(JoinHandle::abort);
}

#[tokio::test]
async fn flood_of_guesses_from_one_source_does_not_delay_a_login_from_another() {
    let server = TestServer::start_with(|settings| {
        delaying(Duration::from_millis(50))(settings);
        settings.limits.free_guesses_per_source = 1000;
    })
    .await;
    let flood: Vec<_> =
        (0..60).map(|n| aside(guess(&server, &format!("user-{n}"), HERE, "wrong-password"))).collect();

    guess(&server, "management/admin", ELSEWHERE, ADMIN_PASSWORD).get(OBJECTS).await.expect(200);

    let unfinished = flood.iter().filter(|attempt| !attempt.is_finished()).count();
    assert!(unfinished > 20, "a login waited for {} of 60 guesses", 60 - unfinished);
    flood.iter().for_each(JoinHandle::abort);
}

/// Returns the addresses that guess at an account.
fn guessers() -> impl Iterator<Item = String> {
    (1..=40).map(|n| format!("203.0.113.{n}"))
}

/// Guesses from each address until its further guesses wait, which they do for ever here, or are rejected.
async fn besiege(server: &TestServer, user: &str) -> Vec<JoinHandle<Response>> {
    for from in guessers() {
        guess_wrong(server, user, &from, 2).await;
    }
    guessers().map(|from| aside(guess(server, user, &from, "yet-another-wrong-one"))).collect()
}

#[tokio::test]
async fn owner_comes_in_from_a_new_address_while_forty_addresses_guess() {
    let server = TestServer::start_with(delaying(FOREVER)).await;
    server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;
    let siege = besiege(&server, "joe").await;

    let mistyped = guess(&server, "joe", ELSEWHERE, "mistyped").get(OBJECTS).await;
    let answer = guess(&server, "joe", ELSEWHERE, ADMIN_PASSWORD).get(OBJECTS).await;

    assert_eq!((mistyped.status, answer.status), (401, 200), "{}", answer.text);
    siege.iter().for_each(JoinHandle::abort);
}

#[tokio::test]
async fn owner_comes_in_after_a_restart_while_forty_addresses_guess() {
    let server = TestServer::start_with(delaying(FOREVER)).await;
    server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;
    let siege = besiege(&server, "joe").await;
    siege.iter().for_each(JoinHandle::abort);
    let database = server.shared_database();
    server.stop().await;
    let server = TestServer::start_on(&database, delaying(FOREVER)).await;

    let siege: Vec<_> = guessers().map(|from| aside(guess(&server, "joe", &from, "wrong"))).collect();
    guess(&server, "joe", HERE, ADMIN_PASSWORD).get(OBJECTS).await.expect(200);

    siege.iter().for_each(JoinHandle::abort);
}

#[tokio::test]
async fn right_secret_that_the_server_made_waits_for_nobodys_guesses() {
    let server = TestServer::start_with(|settings| {
        delaying(FOREVER)(settings);
        settings.limits.free_guesses_per_source = 3;
    })
    .await;
    let secret = "SecretOfAMachine1234";
    let key =
        platform_front::secrets::password::SecretKey::load(&server.database().data_dir().join("secret.key"));
    let user = "INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at) \
        VALUES ('main', 'device_n1', $1, true, '{ROLE_INVENTORY_READ}', now())";
    server.database().execute(user, &[&key.unwrap().unwrap().hash(secret)]).await;
    let siege = besiege(&server, "device_n1").await;
    // Another client at the address of the device guesses passwords.
    guess_wrong(&server, "device_n1", HERE, 2).await;
    guess_wrong(&server, "admin", HERE, 1).await;
    let beside = aside(guess(&server, "device_n1", HERE, "wrong"));
    refused(&server, "device_n1", ELSEWHERE).await;

    for from in [HERE, ELSEWHERE, "192.0.2.77"] {
        // Verified credentials are cached per host, so a new host has the password verified.
        let host = format!("h{}.example.com", from.len());
        let device = guess(&server, "device_n1", from, secret);
        assert_eq!(device.request("GET", OBJECTS).header("Host", &host).send().await.status, 200, "{from}");
    }
    assert!(!beside.is_finished());
    siege.iter().chain([&beside]).for_each(JoinHandle::abort);
}

#[tokio::test]
async fn secret_of_a_disabled_user_lets_nobody_in() {
    let server = TestServer::start().await;
    let secret = "SecretOfAMachine1234";
    let key =
        platform_front::secrets::password::SecretKey::load(&server.database().data_dir().join("secret.key"));
    let user = "INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at) \
        VALUES ('main', 'device_n1', $1, false, '{ROLE_INVENTORY_READ}', now())";
    server.database().execute(user, &[&key.unwrap().unwrap().hash(secret)]).await;

    assert_eq!(server.caller("device_n1", secret).get(OBJECTS).await.status, 401);
}
