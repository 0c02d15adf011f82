//! A change of rights is in effect when its response is sent, also while other requests of the user are in progress
//! (B-18b, U-16,
//! Z-01).

use tokio::task::JoinHandle;

use super::*;
use crate::harness::tenants::management;

/// Starts a server that delays no wrong password, because these tests send some.
async fn server() -> TestServer {
    TestServer::start_with(|settings| {
        settings.limits.free_guesses_per_account = 1_000_000;
        settings.limits.free_guesses_per_source = 1_000_000;
    })
    .await
}

/// Tasks that send requests of callers, one after the other, until this is dropped.
struct Load(Vec<JoinHandle<()>>);

impl Load {
    fn of(caller: &Caller) -> Self {
        let ask = |caller: Caller| async move {
            loop {
                caller.get(ALARMS).await;
            }
        };
        Self((0..3).map(|_| tokio::spawn(ask(caller.clone()))).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// Makes two changes in turn and checks after each that the next request sees it.
async fn in_turn(
    rounds: usize,
    one: impl AsyncFn(),
    status: u16,
    other: impl AsyncFn(),
    other_status: u16,
    ask: impl AsyncFn() -> u16,
) {
    for round in 0..rounds {
        one().await;
        assert_eq!(ask().await, status, "round {round}, after the one change");
        other().await;
        assert_eq!(ask().await, other_status, "round {round}, after the other");
    }
}

#[tokio::test]
async fn role_of_a_group_counts_for_the_next_request() {
    let server = server().await;
    let (admin, joe) = (server.admin(), server.user_with("joe", &[]).await);
    let group = admin.create("/user/<tenant>/groups", &json!({"name": "night shift"})).await["id"].clone();
    let roles = format!("/user/<tenant>/groups/{group}/roles");
    admin.create(&format!("/user/<tenant>/groups/{group}/users"), &json!({"user": {"id": "joe"}})).await;
    let _load = Load::of(&joe);

    let give = async || drop(admin.create(&roles, &json!({"role": {"id": "ROLE_ALARM_READ"}})).await);
    let take = async || assert_eq!(admin.delete(&format!("{roles}/ROLE_ALARM_READ")).await.status, 204);
    in_turn(15, give, 200, take, 403, async || joe.get(ALARMS).await.status).await;
}

#[tokio::test]
async fn role_of_a_user_counts_for_the_next_request() {
    let server = server().await;
    let (admin, joe) = (server.admin(), server.user_with("joe", &[]).await);
    let roles = format!("{USERS}/joe/roles");
    let _load = Load::of(&joe);

    let give = async || drop(admin.create(&roles, &json!({"role": {"id": "ROLE_ALARM_READ"}})).await);
    let take = async || assert_eq!(admin.delete(&format!("{roles}/ROLE_ALARM_READ")).await.status, 204);
    in_turn(15, give, 200, take, 403, async || joe.get(ALARMS).await.status).await;
}

#[tokio::test]
async fn membership_and_device_permissions_count_for_the_next_request() {
    let server = server().await;
    let (admin, joe) = (server.admin(), server.user_with("joe", &[]).await);
    let device = admin.create_device("pump").await;
    let _load = Load::of(&joe);
    let change = async |permissions| {
        admin.put(&format!("{USERS}/joe"), &json!({"devicePermissions": permissions})).await.expect(200);
    };

    let give = async || change(json!({&device: ["ALARM:*:READ"]})).await;
    let take = async || change(json!({})).await;
    in_turn(10, give, 200, take, 403, async || joe.get(ALARMS).await.status).await;
    let members = "/user/<tenant>/groups/4/users";
    let join = async || drop(admin.create(members, &json!({"user": {"id": "joe"}})).await);
    let leave = async || assert_eq!(admin.delete(&format!("{members}/joe")).await.status, 204);
    in_turn(10, join, 200, leave, 403, async || joe.get(ALARMS).await.status).await;
}

#[tokio::test]
async fn disabled_user_is_refused_from_the_next_request_on() {
    let server = server().await;
    let (admin, joe) = (server.admin(), server.user_with("joe", &["ROLE_ALARM_READ"]).await);
    let _load = Load::of(&joe);
    let set = async |enabled: bool| {
        admin.put(&format!("{USERS}/joe"), &json!({"enabled": enabled})).await.expect(200);
    };

    in_turn(
        15,
        async || set(false).await,
        401,
        async || set(true).await,
        200,
        async || joe.get(ALARMS).await.status,
    )
    .await;
}

#[tokio::test]
async fn password_counts_for_the_next_request() {
    let server = server().await;
    let (admin, old) = (server.admin(), server.user_with("joe", &["ROLE_ALARM_READ"]).await);
    let new = server.caller("joe", "new-secret");
    let _load = (Load::of(&old), Load::of(&new));
    let set = async |password: &str| {
        admin.put(&format!("{USERS}/joe"), &json!({"password": password})).await.expect(200);
    };

    for round in 0..8 {
        for (password, good, bad) in [("new-secret", &new, &old), (ADMIN_PASSWORD, &old, &new)] {
            set(password).await;
            let (bad, good) = tokio::join!(bad.get(ALARMS), good.get(ALARMS));
            assert_eq!((bad.status, good.status), (401, 200), "round {round}, {password}");
        }
    }
}

#[tokio::test]
async fn deleted_user_is_refused_and_a_created_one_served_from_the_next_request_on() {
    let server = server().await;
    let (admin, joe) = (server.admin(), server.caller("joe", "secret-1"));
    let _load = Load::of(&joe);
    let new = json!({"userName": "joe", "password": "secret-1"});

    let create = async || drop(admin.create(USERS, &new).await);
    let delete = async || assert_eq!(admin.delete(&format!("{USERS}/joe")).await.status, 204);
    in_turn(10, create, 200, delete, 401, async || joe.get("/user/currentUser").await.status).await;
}

#[tokio::test]
async fn suspended_tenant_is_refused_from_the_next_request_on() {
    let server = server().await;
    let boss = crate::harness::tenants::create_tenant(&server, "t7").await;
    let _load = Load::of(&boss);
    let operator = management(&server);
    let set = async |status: &str| {
        operator.put("/tenant/tenants/t7", &json!({"status": status})).await.expect(200);
    };

    in_turn(
        10,
        async || set("SUSPENDED").await,
        403,
        async || set("ACTIVE").await,
        200,
        async || boss.get(ALARMS).await.status,
    )
    .await;
}

#[tokio::test]
async fn new_tenant_is_known_by_its_host_from_the_next_request_on() {
    let (server, admin) = server().await.with_admin();
    let operator = management(&server);
    let _load = Load::of(&admin);
    for n in 0..8 {
        let id = format!("plant{n}");
        let domain = format!("{id}.example.com");
        let tenant = json!({
            "id": id,
            "domain": domain,
            "company": "Acme",
            "adminName": "boss",
            "adminPass": ADMIN_PASSWORD,
            "adminEmail": "boss@example.com",
        });
        operator.create("/tenant/tenants", &tenant).await;
        let boss = server.caller("boss", ADMIN_PASSWORD);
        let answer = boss.request("GET", "/tenant/currentTenant").header("Host", &domain).send().await;
        assert_eq!((answer.status, &answer.json()["name"]), (200, &json!(id)), "{}", answer.text);
    }
}

#[tokio::test]
async fn origins_a_tenant_allows_count_for_the_next_request() {
    let (_server, admin) = server().await.with_admin();
    let allow = async |origins: &str| {
        let value = json!({"value": origins});
        admin.put("/tenant/options/access.control/allow.origin", &value).await.expect(200);
    };
    allow("https://a.example.org").await;
    for round in 0..30 {
        for (allowed, other) in [
            ("https://a.example.org", "https://b.example.org"),
            ("https://b.example.org", "https://a.example.org"),
        ] {
            allow(allowed).await;
            for (origin, expected) in [(allowed, Some(allowed)), (other, None)] {
                let answer = admin.request("GET", ALARMS).header("Origin", origin).send().await;
                let told = answer.header("Access-Control-Allow-Origin");
                assert_eq!(told, expected, "round {round}, {origin}");
            }
        }
    }
}
