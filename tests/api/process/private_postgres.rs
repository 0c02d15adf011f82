//! The private PostgreSQL as the server uses it: an ordinary role, and a log that clients cannot fill.

use std::path::Path;
use std::sync::Arc;

use rustix::process::Signal;

use super::*;

const ADMIN: Option<(&str, &str)> = Some(("admin", "admin-secret"));
/// The longest time from the signal to the end of the process.
const END: Duration = Duration::from_secs(25);
/// Makes the cluster one of an earlier version, in which `platform` is the superuser that initdb made.
const AS_BEFORE: &str = "
    UPDATE pg_authid SET rolname = 'former' WHERE rolname = 'platform';
    UPDATE pg_authid SET rolname = 'platform' WHERE oid = 10;
    REASSIGN OWNED BY former TO platform;
    DROP OWNED BY former;
    DROP ROLE former;";

fn serve(directory: &Path) -> Program {
    let mut command = Program::command(directory, &[]);
    command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
    Program::serve_with(command)
}

pub(super) async fn stop(mut program: Program) {
    program.signal(Signal::TERM);
    assert_eq!(program.ended_within(END).await.code(), Some(0), "{}", program.log());
}

/// The private database of a running server, as a role.
fn database(directory: &Path, role: &str) -> Arc<TestDatabase> {
    let data_dir = directory.join("data");
    let url = format!("host={} user={role} dbname=platform", data_dir.join("run").display());
    TestDatabase::at(&url, &data_dir)
}

async fn assert_is_ordinary(directory: &Path) {
    let statement = "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls,
            pg_has_role('pg_execute_server_program', 'MEMBER'),
            (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE nspname = 'public' AND relowner <> r.oid),
            (SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proowner <> r.oid)
        FROM pg_roles r WHERE rolname = current_user";
    let row = &database(directory, "platform").query(statement, &[]).await[0];
    let found: (bool, bool, i64, i64) = (row.get(0), row.get(1), row.get(2), row.get(3));
    assert_eq!(found, (false, false, 0, 0), "rights, programs, foreign relations, foreign functions");
}

#[tokio::test]
async fn role_of_the_server_is_ordinary_in_a_new_cluster_and_becomes_so_in_an_older_one() {
    let directory = scratch();
    let program = serve(directory.path());
    assert_is_ordinary(directory.path()).await;
    let device = Caller::new(program.base(), ADMIN).create_device("pump").await;
    database(directory.path(), "postgres").run_script(AS_BEFORE).await;
    stop(program).await;
    std::fs::remove_file(directory.path().join("data/postgres/platform.roles")).unwrap();

    let program = serve(directory.path());

    assert_is_ordinary(directory.path()).await;
    let admin = Caller::new(program.base(), ADMIN);
    admin.get(&format!("/inventory/managedObjects/{device}")).await.expect(200);
    admin.raise_alarm(&device, "hot").await;
    stop(program).await;
    let program = serve(directory.path());
    Caller::new(program.base(), ADMIN).raise_alarm(&device, "hotter").await;
}

#[tokio::test]
async fn log_contains_nothing_that_clients_caused_or_that_each_start_repeats() {
    let directory = scratch();
    stop(serve(directory.path())).await;
    let program = serve(directory.path());
    let admin = Caller::new(program.base(), ADMIN);
    let device = admin.create_device("pump").await;
    for (path, body) in [
        (
            format!("/identity/globalIds/{device}/externalIds"),
            json!({"type": "serial", "externalId": "told-by-a-client"}),
        ),
        ("/user/main/users".into(), json!({"userName": "told-by-a-client", "password": "first-secret"})),
        ("/user/main/groups".into(), json!({"name": "told-by-a-client"})),
    ] {
        admin.post(&path, &body).await.expect(201);
        admin.post(&path, &body).await.expect(409);
    }

    stop(program).await;

    let log = std::fs::read_to_string(directory.path().join("data/postgres.log")).unwrap();
    assert!(
        log.contains("ready to accept connections"),
        "what happens to PostgreSQL itself is logged: {log}"
    );
    for unwanted in ["told-by-a-client", "STATEMENT", "ERROR", "duplicate key"] {
        assert!(!log.contains(unwanted), "{unwanted}: {log}");
    }
}
