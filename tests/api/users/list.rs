//! The collection of users: order, filters, pages (U-04, P-02, P-06).

use super::*;

/// A server with these users besides `admin`.
async fn with_users(names: &[&str]) -> TestServer {
    let server = TestServer::shared().await;
    for name in names {
        server.user_with(name, &[]).await;
    }
    server
}

async fn names(server: &TestServer, query: &str) -> Vec<String> {
    ids(&server.admin().read(&format!("{USERS}?pageSize=100{query}")).await, "users")
}

#[tokio::test]
async fn users_are_sorted_by_name_and_devices_left_out() {
    let server = with_users(&["mia", "device_2", "Joe", "device_1", "deviceX", "zoe", "ärni"]).await;

    assert_eq!(names(&server, "").await, ["Joe", "admin", "deviceX", "mia", "zoe", "ärni"]);
    assert_eq!(names(&server, "&onlyDevices=false").await, ["Joe", "admin", "deviceX", "mia", "zoe", "ärni"]);
    assert_eq!(names(&server, "&onlyDevices=true").await, ["device_1", "device_2"]);
}

#[tokio::test]
async fn username_is_a_prefix_or_the_whole_name() {
    let server = with_users(&["joe", "joey", "jo%e", "Joe", "device_1", "device_12"]).await;

    assert_eq!(names(&server, "&username=joe").await, ["joe", "joey"]);
    assert_eq!(names(&server, "&username=jo%25").await, ["jo%e"], "no wildcards");
    assert_eq!(names(&server, "&username=").await.len(), 5);
    assert_eq!(names(&server, "&username=device_1&onlyDevices=true").await, ["device_1", "device_12"]);
    assert_eq!(names(&server, "&username=nobody").await, Vec::<String>::new());
}

#[tokio::test]
async fn groups_hold_users_that_are_in_at_least_one() {
    let server = with_users(&["a", "b", "c", "d"]).await;
    for (group, user) in [(3, "a"), (4, "a"), (4, "b"), (5, "c")] {
        let path = format!("/user/<tenant>/groups/{group}/users");
        server.admin().create(&path, &json!({"user": {"id": user}})).await;
    }

    assert_eq!(names(&server, "&groups=3,4").await, ["a", "b"]);
    assert_eq!(names(&server, "&groups=5").await, ["c"]);
    assert_eq!(names(&server, "&groups=99").await, Vec::<String>::new());
}

#[tokio::test]
async fn owner_selects_sub_users_and_their_number_is_returned_on_request() {
    let (server, admin) = with_users(&["boss"]).await.with_admin();
    for name in ["sub1", "sub2"] {
        admin.create(USERS, &json!({"userName": name, "password": "secret-1", "owner": "boss"})).await;
    }

    assert_eq!(names(&server, "&owner=boss").await, ["sub1", "sub2"]);
    assert_eq!(names(&server, "&owner=bos").await, Vec::<String>::new());
    let counted = admin.read(&format!("{USERS}?withSubusersCount=true")).await;
    let counts: Vec<_> =
        counted["users"].as_array().unwrap().iter().map(|user| &user["subusersCount"]).collect();
    assert_eq!(counts, [0, 2, 0, 0]);
    let plain = admin.read(USERS).await;
    assert!(plain["users"].as_array().unwrap().iter().all(|user| user.get("subusersCount").is_none()));
}

#[tokio::test]
async fn users_are_counted_on_request() {
    let server = with_users(&["a", "b", "c", "d", "e"]).await;

    let page = server.admin().read(&format!("{USERS}?withTotalPages=true")).await;

    assert_eq!(page["statistics"], json!({"totalPages": 2, "pageSize": 5, "currentPage": 1}));
}

#[tokio::test]
async fn following_next_sees_each_user_once_while_others_come_and_go() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let statement = "INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at) \
        SELECT $1, 'device_' || n, NULL, true, '{}', now() FROM generate_series(1, 25) n";
    server.execute(statement, &[]).await;

    let (mut seen, mut link) = (Vec::new(), format!("{USERS}?onlyDevices=true&pageSize=4"));
    loop {
        let page = admin.read(&link).await;
        seen.extend(ids(&page, "users"));
        // A user is added before the position of the page, and one that was already shown is deleted.
        let earlier = format!("device_0{}", seen.len());
        server.user_with(&earlier, &[]).await;
        server.execute("DELETE FROM users WHERE tenant = $1 AND name = $2", &[seen.last().unwrap()]).await;
        let Some(next) = page["next"].as_str() else { break };
        assert!(next.contains("onlyDevices=true"), "{next}");
        next.clone_into(&mut link);
    }

    let mut expected: Vec<_> = (1..=25).map(|n| format!("device_{n}")).collect();
    expected.sort();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn page_by_number_and_page_by_link_are_the_same() {
    let server = with_users(&["a", "b", "c", "d"]).await;
    let first = server.admin().read(&format!("{USERS}?pageSize=2")).await;

    let linked = server.admin().read(first["next"].as_str().unwrap()).await;
    let numbered = server.admin().read(&format!("{USERS}?pageSize=2&currentPage=2")).await;

    let same = ["self", "next"];
    assert_eq!(without(&linked, &same), without(&numbered, &same));
    assert_eq!(ids(&linked, "users"), ["b", "c"]);
}

#[tokio::test]
async fn wrong_parameters_are_422_and_unknown_ones_ignored() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for query in [
        "groups=admins",
        "groups=1,x",
        "groups=99999999999999999999",
        "onlyDevices=yes",
        "withSubusersCount=1",
        "pageSize=0",
        "currentPage=x",
        "username=%00",
        "owner=%00",
    ] {
        admin.get(&format!("{USERS}?{query}")).await.expect(422);
    }
    for query in
        ["unknown=1", "after=junk", "currentPage=2&after=2_0_7", "currentPage=2&after=2_n_%00x", "groups="]
    {
        let answer = admin.get(&format!("{USERS}?{query}")).await;
        assert!(answer.status < 500, "{query}: {}", answer.text);
    }
}

#[tokio::test]
async fn groups_of_a_user_are_shown_with_it() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let page = admin.read(USERS).await;

    let groups = &page["users"][0]["groups"]["references"];
    let names: Vec<&Value> = groups.as_array().unwrap().iter().map(|of| &of["group"]["name"]).collect();
    assert_eq!(names, ["admins"]);
}
