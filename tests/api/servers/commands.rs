//! `platform server`: list, drain, undrain, evict.

use super::*;

/// Runs a command on a database. Returns whether it succeeded, and its output.
fn command(database: &TestDatabase, arguments: &[&str]) -> (bool, String) {
    let directory = scratch();
    let mut command = Program::command_on(database, directory.path());
    command.arg("server").args(arguments);
    let output = run(command, "");
    let said = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(said).unwrap())
}

fn succeed(database: &TestDatabase, arguments: &[&str]) -> String {
    let (done, said) = command(database, arguments);
    assert!(done, "{arguments:?}: {said}");
    said
}

fn refusal(database: &TestDatabase, arguments: &[&str]) -> String {
    let (done, said) = command(database, arguments);
    assert!(!done && said.starts_with("error: "), "{arguments:?}: {said}");
    said
}

async fn two_named() -> [TestServer; 2] {
    let database = TestDatabase::create().await;
    let named = async |name: &str| {
        TestServer::start_on(&database, |settings| settings.server_name = Some(name.into())).await
    };
    [named("alpha").await, named("beta").await]
}

#[tokio::test]
async fn servers_are_listed_as_table_and_as_json() {
    let [alpha, beta] = two_named().await;

    let table = succeed(alpha.database(), &["list"]);
    let json: Value =
        serde_json::from_str(&succeed(alpha.database(), &["list", "--output", "json"])).unwrap();

    let lines: Vec<_> = table.lines().collect();
    let columns = lines[0].split_whitespace().collect::<Vec<_>>();
    assert_eq!(columns, ["SLOT", "NAME", "VERSION", "STATE", "AGE", "LEASE", "ADDRESS"]);
    assert_eq!(lines.len(), 3, "{table}");
    let cells = lines[2].split_whitespace().collect::<Vec<_>>();
    assert_eq!((cells[0], cells[1], cells[3], cells[6]), ("1", "beta", "UP", beta.base()));
    let first = &json[0];
    assert_eq!((&first["slot"], &first["name"], &first["state"]), (&0.into(), &"alpha".into(), &"UP".into()));
    assert!((0..=10).contains(&first["leaseSeconds"].as_f64().map(|s| s as i64).unwrap()), "{first}");
    assert!(first["connections"].as_i64().unwrap() > 10 && first["startedAt"].is_string(), "{first}");
}

#[tokio::test]
async fn draining_server_is_not_ready_until_it_is_undrained_and_serves_requests() {
    let [alpha, beta] = two_named().await;
    let ready = async |server: &TestServer| server.stranger().get("/health/ready").await.status;
    assert_eq!((ready(&alpha).await, ready(&beta).await), (200, 200));

    let printed = succeed(alpha.database(), &["drain", "beta"]);

    assert!(printed.lines().any(|line| line.contains("beta") && line.contains("DRAINING")), "{printed}");
    until("unreadiness", async || ready(&beta).await == 503).await;
    assert_eq!(ready(&alpha).await, 200);
    beta.admin().create_device("pump").await;
    let answer = beta.stranger().get("/health/ready").await;
    assert!(answer.header("Retry-After").is_some(), "{}", answer.text);

    succeed(alpha.database(), &["undrain", "1"]);

    until("readiness", async || ready(&beta).await == 200).await;
}

#[tokio::test]
async fn dead_server_is_evicted_and_a_living_one_only_by_force() {
    let [alpha, beta] = two_named().await;
    let database = alpha.database();
    assert!(refusal(database, &["evict", "beta"]).contains("--force"));
    assert_eq!(slots(database).await, [0, 1]);
    let dead = "INSERT INTO servers SELECT 9, -1, 'dead', version, address, 'UP', now(), now() - interval '5 s', 0, 1 \
        FROM servers WHERE slot = 0";
    database.execute(dead, &[]).await;
    let listed = succeed(database, &["list"]);
    assert!(listed.contains("GONE") && listed.contains("ended"), "{listed}");
    assert!(refusal(database, &["drain", "dead"]).contains("evict"));

    let left = succeed(database, &["evict", "dead"]);

    assert!(!left.contains("dead"), "{left}");
    succeed(database, &["evict", "1", "--force"]);
    until("another start in a slot", async || {
        let started = "SELECT FROM servers WHERE name = 'beta' AND leased_until > now()";
        database.query(started, &[]).await.len() == 1
    })
    .await;
    beta.admin().create_device("pump").await;
}

#[tokio::test]
async fn server_that_there_is_not_or_whose_name_several_have_is_refused() {
    let [alpha, _beta] = two_named().await;
    let database = alpha.shared_database();
    let _gamma = TestServer::start_on(&database, |settings| settings.server_name = Some("beta".into())).await;

    for (arguments, named) in [
        (["drain", "nobody"], "'nobody'"),
        (["evict", "200"], "'200'"),
        (["drain", "beta"], "several servers"),
    ] {
        let said = refusal(&database, &arguments);
        assert!(said.contains(named) && said.contains("platform server list"), "{said}");
    }
}
