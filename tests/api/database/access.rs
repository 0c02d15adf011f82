//! The right to connect to the database: by default every role of PostgreSQL has it and could listen to the servers.

use super::*;

const IS_OPEN: &str = "SELECT has_database_privilege('public', current_database(), 'CONNECT')";

async fn is_open(database: &TestDatabase) -> bool {
    database.query(IS_OPEN, &[]).await[0].get(0)
}

/// Returns what `platform doctor` says about the access to the database.
fn finding(database: &TestDatabase) -> String {
    let directory = scratch();
    let mut command = Program::command_on(database, directory.path());
    command.args(["doctor", "--output", "json"]);
    let findings: serde_json::Value = serde_json::from_slice(&run(command, "").stdout).unwrap();
    let access = findings.as_array().unwrap().iter().find(|finding| finding["subject"] == "access");
    access.unwrap_or_else(|| panic!("{findings:#}")).to_string()
}

#[tokio::test]
async fn start_takes_the_right_to_connect_from_everybody_where_the_server_owns_the_database() {
    let database = TestDatabase::create().await;
    assert!(is_open(&database).await, "PostgreSQL's default");

    let _server = TestServer::start_on(&database, |_| {}).await;

    assert!(!is_open(&database).await);
    assert!(finding(&database).contains(r#""state":"ok""#), "{}", finding(&database));
}

#[tokio::test]
async fn doctor_says_what_the_owner_has_to_run_where_somebody_else_owns_the_database() {
    let database = TestDatabase::create().await;
    let name: String = database.query("SELECT current_database()::text", &[]).await[0].get(0);
    database
        .run_script(&format!("CREATE ROLE owner_of_{name}; ALTER DATABASE {name} OWNER TO owner_of_{name}"))
        .await;

    let _server = TestServer::start_on(&database, |_| {}).await;

    assert!(is_open(&database).await, "the rights of a database of others stay as they are");
    let told = finding(&database);
    assert!(told.contains(r#""state":"warning""#), "{told}");
    assert!(told.contains(&format!("REVOKE CONNECT ON DATABASE {name} FROM PUBLIC;")), "{told}");
    database
        .run_script(&format!("ALTER DATABASE {name} OWNER TO CURRENT_USER; DROP ROLE owner_of_{name}"))
        .await;
}
