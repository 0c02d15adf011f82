//! The second factor of people (docs/rules.md#c-27).

use super::*;
use crate::harness::authenticator::{Person, SECRET, TOKENS, code_of, log_in_with, step};

const ME: &str = "/user/currentUser";
const REQUIRED: &str = "security/Second Factor Required";
const WRONG: &str = "security/Second Factor Wrong";
const NOT_SET_UP: &str = "security/Second Factor Not Set Up";
/// The roles of the people: those of every new user, and one for devices.
const ROLES: [&str; 3] =
    ["ROLE_INVENTORY_READ", "ROLE_USER_MANAGEMENT_OWN_READ", "ROLE_USER_MANAGEMENT_OWN_ADMIN"];

/// Creates a user with this name, who sets up a second factor.
async fn enrolled(server: &TestServer, name: &str) -> Person {
    Person::of(server.user_with(name, &ROLES).await).await
}

#[tokio::test]
async fn second_factor_counts_once_a_code_confirms_it_and_each_code_counts_once() {
    let server = TestServer::shared().await;
    let joe = server.user_with("joe", &ROLES).await;
    let activity = format!("{SECRET}/activity");
    let made = joe.post(SECRET, &json!({})).await.expect(201);
    assert_eq!(made.header("Cache-Control"), Some("no-store"));
    let secret = made.json()["secret"].as_str().unwrap().to_owned();
    let uri = format!(
        "otpauth://totp/platform:{}%2Fjoe?secret={secret}&issuer=platform&algorithm=SHA1&digits=6&period=30",
        server.tenant()
    );
    assert_eq!(made.json()["uri"], json!(uri));
    assert_eq!(joe.read(&activity).await["isActive"], false, "the password suffices meanwhile");
    joe.post(&format!("{SECRET}/verify"), &json!({"code": "1234567"})).await.expect(422);

    let joe = Person::of(joe).await;

    // The fast lane serves the first request of a connection.
    let fresh = server.caller("joe", ADMIN_PASSWORD);
    for refused in [joe.basic.get(OBJECTS).await, fresh.post(REALTIME, &json!([])).await] {
        assert_eq!(refused.expect(401).error(), REQUIRED);
    }
    assert_eq!(joe.basic.post(TOKENS, &json!({})).await.expect(401).error(), REQUIRED);
    assert_eq!(joe.log_in(&joe.confirmation).await.expect(401).error(), WRONG);
    let code = joe.next_code();
    let elsewhere = joe.basic.request("GET", OBJECTS).header("TFAToken", &code).send().await;
    assert_eq!(elsewhere.expect(401).error(), REQUIRED, "codes count for log-ins");
    let token = joe.with_token(&code).await;
    assert_eq!(token.get(OBJECTS).await.status, 200);
    assert_eq!(joe.log_in(&code).await.expect(401).error(), WRONG);
    assert_eq!(token.read(&activity).await["recoveryCodes"], 10);
    token.post(SECRET, &json!({})).await.expect(403);
    let again = joe.basic.request("POST", SECRET).accepting_json().header("TFAToken", &joe.recovery_codes[0]);
    again.send().await.expect(409);
    let records = server.audit_records("joe").await;
    for activity in ["Second factor set up", "Log-in"] {
        assert!(records.iter().any(|record| record["activity"] == activity), "{activity}: {records:?}");
    }
}

#[tokio::test]
async fn wrong_password_says_nothing_about_the_second_factor() {
    let server = TestServer::shared().await;
    let joe = enrolled(&server, "joe").await;
    let wrong = server.caller("joe", "another-one");

    for response in [wrong.get(OBJECTS).await, log_in_with(&wrong, &joe.next_code()).await] {
        assert_eq!(response.expect(401).error(), "security/Unauthorized");
    }
    joe.with_token(&joe.next_code()).await;
}

#[tokio::test]
async fn setting_up_needs_the_password_of_a_person_and_the_latest_secret() {
    let server = TestServer::shared().await;
    let joe = server.user_with("joe", &[]).await;
    let token = joe.create(TOKENS, &json!({})).await["accessToken"].as_str().unwrap().to_owned();
    let verify = format!("{SECRET}/verify");
    joe.post(&verify, &json!({"code": "123456"})).await.expect(404);
    joe.post(&verify, &json!({})).await.expect(422);
    joe.post(&verify, &json!({"code": "123456", "kode": "1"})).await.expect(422);
    let first = joe.create(SECRET, &json!({})).await["secret"].as_str().unwrap().to_owned();
    let token = joe.with_token(&token);

    token.post(SECRET, &json!({})).await.expect(403);
    token.post(&verify, &json!({"code": code_of(&first, step())})).await.expect(403);
    joe.create(SECRET, &json!({})).await;
    joe.post(&verify, &json!({"code": code_of(&first, step())})).await.expect(422);
    let device = server.device_user("4711").await;
    device.post(SECRET, &json!({})).await.expect(403);

    assert_eq!(server.count("second_factors").await, 1);
}

#[tokio::test]
async fn code_that_one_server_accepted_is_refused_by_another() {
    let [here, there] = TestServer::start_two().await;
    let joe = here.user_with("joe", &ROLES).await;
    let at_the_other = there.caller("joe", ADMIN_PASSWORD);
    assert_eq!(at_the_other.get(OBJECTS).await.status, 200, "the password is cached there");
    let joe = Person::of(joe).await;
    until("the other server learns of it", async || at_the_other.get(OBJECTS).await.status == 401).await;

    let code = joe.next_code();
    let (mine, its) = tokio::join!(joe.log_in(&code), log_in_with(&at_the_other, &code));

    let mut statuses = [mine.status, its.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 401]);
    assert_eq!(log_in_with(&at_the_other, &code).await.expect(401).error(), WRONG);
}

#[tokio::test]
async fn recovery_code_counts_once_and_its_use_is_audited() {
    let server = TestServer::shared().await;
    let joe = enrolled(&server, "joe").await;

    let typed = joe.recovery_codes[3].to_uppercase().replace('-', " ");
    let token = joe.with_token(&typed).await;

    assert_eq!(joe.log_in(&joe.recovery_codes[3]).await.expect(401).error(), WRONG);
    assert_eq!(token.read(&format!("{SECRET}/activity")).await["recoveryCodes"], 9);
    let records = server.audit_records("joe").await;
    let used: Vec<_> = records.iter().filter(|record| record["activity"] == "Recovery code used").collect();
    assert_eq!((used.len(), &used[0]["user"]), (1, &json!("joe")));
    assert!(!records.iter().any(|record| record.to_string().contains(&joe.recovery_codes[3])));
    let stored = server.rows("SELECT sealed_secret FROM second_factors WHERE tenant = $1", &[]).await;
    assert!(!stored[0].get::<_, String>(0).contains(&joe.secret));
}

#[tokio::test]
async fn after_five_wrong_codes_no_code_counts_at_any_server_for_a_while() {
    let [here, there] = TestServer::start_two().await;
    let joe = Person::of(here.user_with("joe", &ROLES).await).await;
    let at_the_other = there.caller("joe", ADMIN_PASSWORD);
    for n in 0..5 {
        let caller = if n % 2 == 0 { &joe.basic } else { &at_the_other };
        assert_eq!(log_in_with(caller, &joe.wrong_code()).await.expect(401).error(), WRONG, "{n}");
    }

    for caller in [&joe.basic, &at_the_other] {
        let refused = log_in_with(caller, &joe.next_code()).await.expect(429);
        let wait: u64 = refused.header("Retry-After").unwrap().parse().unwrap();
        assert!((1..=30).contains(&wait), "{wait}");
    }
    joe.with_token(&joe.recovery_codes[0]).await;
    // The recovery code ended the wait.
    joe.with_token(&joe.next_code()).await;
}

#[tokio::test]
async fn wait_doubles_with_each_wrong_code() {
    let server = TestServer::shared().await;
    let joe = enrolled(&server, "joe").await;
    let mut waits = Vec::new();
    for _ in 0..7 {
        server.execute("UPDATE second_factors SET next_at = now() WHERE tenant = $1", &[]).await;
        assert_eq!(joe.log_in(&joe.wrong_code()).await.expect(401).error(), WRONG);
        let wait =
            "SELECT round(extract(epoch FROM next_at - now()))::bigint FROM second_factors WHERE tenant = $1";
        waits.push(server.rows(wait, &[]).await[0].get::<_, i64>(0));
    }
    let about = |wait: i64, seconds: i64| (seconds - 10..=seconds).contains(&wait);
    assert!(waits[..4].iter().all(|wait| *wait <= 0), "{waits:?}");
    assert!(about(waits[4], 30) && about(waits[5], 60) && about(waits[6], 120), "{waits:?}");
}

#[tokio::test]
async fn wrong_codes_delay_as_wrong_passwords_do_although_the_password_is_right() {
    let server = TestServer::start_with(|settings| {
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
        settings.limits.free_guesses_per_account = 2;
        settings.limits.guess_delay = Duration::from_secs(60);
        settings.limits.longest_guess_delay = Duration::from_secs(60);
    })
    .await;
    let joe = enrolled(&server, "joe").await;
    let guesser = joe.basic.from("192.0.2.1");
    for n in 0..2 {
        log_in_with(&guesser, &joe.wrong_code()).await.expect(401);
        // Another host has the password verified again, which must not forgive wrong codes.
        let verified =
            guesser.request("GET", OBJECTS).header("Host", &format!("h{n}.example.com")).send().await;
        assert_eq!(verified.expect(401).error(), REQUIRED);
    }

    let code = joe.next_code();
    let waiting = tokio::time::timeout(Duration::from_millis(300), log_in_with(&guesser, &code)).await;

    assert!(waiting.is_err(), "{waiting:?}");
    log_in_with(&joe.basic.from("198.51.100.1"), &code).await.expect(201);
}

#[tokio::test]
async fn handshake_takes_the_code_with_the_password() {
    let server = TestServer::shared().await;
    let joe = enrolled(&server, "joe").await;
    let token = joe.basic.authorization().unwrap();
    let authenticated =
        |tfa: Value| handshake(json!({"ext": {"com.platform.authn": {"token": token, "tfa": tfa}}}));
    let code = joe.next_code();
    assert!(
        Socket::try_open(&joe.basic, REALTIME).await.is_err(),
        "no header of an upgrade completes the password"
    );
    for refused in [json!(null), json!(""), json!(joe.wrong_code()), json!({}), json!([1])] {
        let mut socket = Socket::open(&server.stranger(), REALTIME).await;
        assert_eq!(socket.ask(authenticated(refused.clone())).await["successful"], false, "{refused}");
    }

    let mut socket = Socket::open(&server.stranger(), REALTIME).await;
    let reply = socket.ask(authenticated(json!(code))).await;

    let client = reply["clientId"].as_str().unwrap_or_else(|| panic!("{reply}"));
    assert_eq!(socket.ask(subscribe(client, "/managedobjects/*")).await["successful"], true);
    let mut socket = Socket::open(&server.stranger(), REALTIME).await;
    assert_eq!(socket.ask(authenticated(json!(code))).await["successful"], false, "it was used");
}

#[tokio::test]
async fn setting_up_ends_sessions_that_the_password_alone_opened() {
    let server = TestServer::shared().await;
    let joe = server.user_with("joe", &ROLES).await;
    let (mut socket, _) = Socket::session(&joe).await;
    let token = joe.create(TOKENS, &json!({})).await["accessToken"].as_str().unwrap().to_owned();

    let joe = Person::of(joe).await;

    assert_eq!(socket.closed().await, Some(1000));
    assert_eq!(joe.basic.with_token(&token).get(OBJECTS).await.status, 200, "log-ins from before stay");
}

#[tokio::test]
async fn person_changes_the_password_with_a_code_and_keeps_the_second_factor() {
    let server = TestServer::shared().await;
    let joe = enrolled(&server, "joe").await;
    let new = json!({"password": "another-one"});
    joe.basic.put(ME, &new).await.expect(401);

    let change = joe.basic.request("PUT", ME).header("TFAToken", &joe.next_code()).json(&new);
    change.send().await.expect(200);

    let changed = server.caller("joe", "another-one");
    assert_eq!(changed.get(OBJECTS).await.expect(401).error(), REQUIRED);
    log_in_with(&changed, &joe.recovery_codes[0]).await.expect(201);
}

#[tokio::test]
async fn person_removes_its_second_factor_with_a_code() {
    let server = TestServer::shared().await;
    let joe = enrolled(&server, "joe").await;
    let token = joe.with_token(&joe.recovery_codes[0]).await;
    let remove = async |caller: &Caller, code: &str| {
        caller.request("DELETE", SECRET).header("TFAToken", code).send().await
    };
    assert_eq!(token.delete(SECRET).await.expect(401).error(), REQUIRED);
    assert_eq!(remove(&token, &joe.wrong_code()).await.expect(401).error(), WRONG);

    remove(&token, &joe.next_code()).await.expect(204);

    assert_eq!(joe.basic.get(OBJECTS).await.status, 200);
    joe.basic.delete(SECRET).await.expect(404);
    let joe = Person::of(joe.basic).await;
    remove(&joe.basic, &joe.recovery_codes[0]).await.expect(204);
    assert_eq!(
        log_in_with(&joe.basic, "000000").await.status,
        201,
        "without a second factor the header is ignored"
    );
}

/// Returns whether a user and the list of users say that it has a second factor.
async fn told(admin: &Caller, name: &str) -> [Value; 2] {
    let user = admin.read(&format!("/user/<tenant>/users/{name}")).await;
    let list = admin.read(&format!("/user/<tenant>/users?username={name}&withSubusersCount=true")).await;
    [&user, &list["users"][0]].map(|user| user["twoFactorAuthenticationEnabled"].clone())
}

#[tokio::test]
async fn administrator_removes_the_second_factor_of_another_user() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = enrolled(&server, "joe").await;
    let of = |name: &str| format!("/user/<tenant>/users/{name}/totpSecret");
    let mia = server.user_with("mia", &["ROLE_USER_MANAGEMENT_READ", "ROLE_USER_MANAGEMENT_CREATE"]).await;
    mia.delete(&of("joe")).await.expect(403);
    admin.delete(&of("nobody")).await.expect(404);
    admin.delete(&of("admin")).await.expect(403);
    mia.post(SECRET, &json!({})).await.expect(201);
    assert_eq!(told(&admin, "joe").await, [json!(true), json!(true)]);
    assert_eq!(told(&admin, "mia").await, [json!(false), json!(false)]);

    admin.delete(&of("joe")).await.expect(204);

    assert_eq!(told(&admin, "joe").await, [json!(false), json!(false)]);

    assert_eq!(joe.basic.get(OBJECTS).await.status, 200);
    admin.delete(&of("joe")).await.expect(404);
    let records = server.audit_records("joe").await;
    let removed = records.iter().find(|record| record["activity"] == "Second factor removed").unwrap();
    assert_eq!(removed["user"], "admin");
}

#[tokio::test]
async fn disabled_user_stays_out_with_any_code() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = enrolled(&server, "joe").await;
    admin.put("/user/<tenant>/users/joe", &json!({"enabled": false})).await.expect(200);

    for code in [joe.next_code(), joe.recovery_codes[0].clone()] {
        assert_eq!(joe.log_in(&code).await.expect(401).error(), "security/Unauthorized");
    }

    admin.put("/user/<tenant>/users/joe", &json!({"enabled": true})).await.expect(200);
    joe.with_token(&joe.next_code()).await;
}

#[tokio::test]
async fn members_of_a_group_that_requires_a_second_factor_can_only_set_one_up() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (joe, device) = (server.user_with("joe", &ROLES).await, server.device_user("4711").await);
    let token = joe.create(TOKENS, &json!({})).await["accessToken"].as_str().unwrap().to_owned();
    let token = joe.with_token(&token);
    let groups = "/user/<tenant>/groups";
    admin.post(groups, &json!({"name": "staff", "secondFactor": "ALWAYS"})).await.expect(422);
    let group = admin.create(groups, &json!({"name": "staff", "secondFactor": "REQUIRED"})).await;
    assert_eq!(group["secondFactor"], "REQUIRED");
    let group = format!("{groups}/{}", group["id"]);
    for user in ["joe".to_owned(), device.read(ME).await["userName"].as_str().unwrap().to_owned()] {
        admin.create(&format!("{group}/users"), &json!({"user": {"userName": user}})).await;
    }

    for caller in [&joe, &token] {
        assert_eq!(caller.get(OBJECTS).await.expect(403).error(), NOT_SET_UP);
        assert_eq!(caller.get(ME).await.status, 200);
    }
    assert_eq!(joe.post(TOKENS, &json!({})).await.expect(403).error(), NOT_SET_UP);
    assert!(Socket::try_open(&joe, REALTIME).await.is_err());
    assert_eq!(device.get(OBJECTS).await.status, 200, "devices have no second factor");
    let joe = Person::of(joe).await;
    assert_eq!(token.get(OBJECTS).await.status, 200);
    assert_eq!(joe.with_token(&joe.next_code()).await.get(OBJECTS).await.status, 200);

    let mia = server.user_with("mia", &ROLES).await;
    admin.create(&format!("{group}/users"), &json!({"user": {"userName": "mia"}})).await;
    assert_eq!(mia.get(OBJECTS).await.status, 403);
    let shown = admin.put(&group, &json!({"secondFactor": null})).await.expect(200).json();
    assert_eq!((&shown["secondFactor"], mia.get(OBJECTS).await.status), (&Value::Null, 200));
    let changes = server.audit_records(group.rsplit('/').next().unwrap()).await;
    assert!(
        changes.iter().any(|record| record["changes"].to_string().contains("secondFactor")),
        "{changes:?}"
    );
}

#[tokio::test]
async fn socket_of_a_member_closes_when_its_group_requires_a_second_factor() {
    let server =
        TestServer::start_with(|settings| settings.limits.socket_ping = Duration::from_millis(200)).await;
    let (server, admin) = server.with_admin();
    let groups = "/user/<tenant>/groups";
    let group = format!("{groups}/{}", admin.create(groups, &json!({"name": "staff"})).await["id"]);
    let joe = server.user_with("joe", &ROLES).await;
    admin.create(&format!("{group}/users"), &json!({"user": {"userName": "joe"}})).await;
    let (mut socket, _) = Socket::session(&joe).await;

    admin.put(&group, &json!({"secondFactor": "REQUIRED"})).await.expect(200);

    assert_eq!(socket.closed().await, Some(1008));
}
