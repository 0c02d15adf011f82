//! Starts and commands that fail: quickly, with a clear error, and without changing anything.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use super::*;

/// Runs a program that must fail and returns its error output.
fn refusal(command: Command) -> String {
    let output = run(command, "");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: ") && !said.contains("panicked"), "{said}");
    said
}

#[tokio::test]
async fn used_port_is_found_before_anything_is_made_and_the_next_start_prints_the_passwords() {
    let directory = scratch();
    let somebody = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = somebody.local_addr().unwrap().to_string();
    let mut command = Program::command(directory.path(), &[]);
    command.env("PLATFORM_LISTEN", &address);

    let said = refusal(command);

    assert!(said.contains(&format!("cannot listen on {address}")) && said.contains("--listen"), "{said}");
    assert!(!directory.path().join("data").exists(), "nothing was made");
    let program = Program::serve(directory.path());
    for user in ["management/admin", "management/devicebootstrap", "main/admin"] {
        let told = program.printed.iter().any(|line| line.trim().starts_with(&format!("{user} ")));
        assert!(told, "{user}: {:#?}", program.printed);
    }
}

#[tokio::test]
async fn port_that_is_taken_while_a_server_starts_leaves_no_users_behind() {
    let database = TestDatabase::create().await;
    database.execute("DELETE FROM users WHERE tenant = 'main'", &[]).await;
    let somebody = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = somebody.local_addr().unwrap();

    let refused = TestServer::try_start_on(&database, |settings| settings.listen = address);

    let refused = refused.err().expect("the port is taken");
    assert!(refused.contains(&address.to_string()), "{refused}");
    assert_eq!(database.query("SELECT FROM users WHERE tenant = 'main'", &[]).await.len(), 0);
}

#[tokio::test]
async fn files_that_cannot_be_used_are_found_before_a_database_is_made() {
    let directory = scratch();
    let (absent, nonsense) = (directory.path().join("absent.pem"), directory.path().join("nonsense"));
    std::fs::write(&nonsense, "nonsense").unwrap();
    let (absent, nonsense) = (absent.to_str().unwrap(), nonsense.to_str().unwrap());

    for (arguments, named) in [
        (&["--tls-cert", absent][..], "--tls-key"),
        (&["--tls-key", absent], "--tls-cert"),
        (&["--tls-cert", absent, "--tls-key", absent], absent),
        (&["--tls-cert", nonsense, "--tls-key", nonsense], nonsense),
        (&["--secret-key-file", nonsense], nonsense),
    ] {
        let said = refusal(Program::command(directory.path(), arguments));
        assert!(said.contains(named), "{arguments:?}: {said}");
        assert!(!directory.path().join("data").exists(), "{arguments:?}: nothing was made");
    }
}

#[tokio::test]
async fn check_of_the_settings_refuses_what_a_start_refuses_and_warns_of_risks() {
    let directory = scratch();
    let file = directory.path().join("platform.toml");
    let with = |text: &str, arguments: &[&str]| {
        std::fs::write(&file, text).unwrap();
        let config = ["--config", file.to_str().unwrap()];
        let mut command = Program::command(directory.path(), &[arguments, &config].concat());
        // The settings of the file are counted, and no others.
        command.env_remove("PLATFORM_LISTEN").env_remove(POSTGRES_PROGRAMS);
        let output = run(command, "");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.success(), said.into_owned())
    };

    for (text, named) in [
        ("database-url = 'postgres://u:hunter2@h/d?sslmode=bad'", "sslmode is disable, "),
        ("database-url = 'postgres://u:hunter2@h:99999/d'", "port"),
        (
            "database-url = 'postgres://u:hunter2@h/d?sslmode=require&sslmode=disable'",
            "sslmode is given twice",
        ),
        ("database-url = 'host=h sslmode=verify-full sslrootcert=/nowhere.pem'", "/nowhere.pem"),
        ("listen = '127.0.0.1:8080'\nadmin-listen = '0.0.0.0:8080'", "--admin-listen"),
        ("postgres-bin-dir = '/nowhere'", "/nowhere"),
        ("log = 'info,a=loud'", "--log"),
    ] {
        for arguments in [&["config", "check"][..], &["serve"]] {
            let (accepted, said) = with(text, arguments);
            assert!(
                !accepted && said.contains(named) && !said.contains("hunter2"),
                "{arguments:?} {text}: {said}"
            );
        }
        assert!(!directory.path().join("data").exists(), "{text}: nothing was made");
    }
    let (accepted, said) =
        with("trusted-proxies = '0.0.0.0/0'\nadmin-password = 'secret'", &["config", "check"]);
    assert!(accepted && said.contains("2 settings, all valid"), "{said}");
    assert!(said.contains("0.0.0.0/0, so every client") && said.contains("chmod o-rwx"), "{said}");
}

#[tokio::test]
async fn lost_secret_key_is_refused_and_none_is_written_in_its_place() {
    let database = TestDatabase::create().await;
    let elsewhere = scratch();
    let file = elsewhere.path().join("secret.key");

    let refused =
        TestServer::try_start_on(&database, |settings| settings.store.data_dir = elsewhere.path().into());

    let refused = refused.err().expect("the key is missing");
    assert!(refused.contains(file.to_str().unwrap()) && refused.contains("missing"), "{refused}");
    assert!(!file.exists());
    std::fs::copy(database.data_dir().join("secret.key"), &file).unwrap();
    TestServer::start_on(&database, |settings| settings.store.data_dir = elsewhere.path().into()).await;
}

#[tokio::test]
async fn newer_schema_is_refused_with_both_versions_and_what_to_do() {
    let database = TestDatabase::create().await;
    let newest = "SELECT max(version)::bigint FROM refinery_schema_history";
    let known: i64 = database.query(newest, &[]).await[0].get(0);
    let newer = "INSERT INTO refinery_schema_history SELECT 99, 'future', applied_on, checksum \
        FROM refinery_schema_history WHERE version = 1";
    database.execute(newer, &[]).await;

    let refused = TestServer::try_start_on(&database, |_| {}).err().expect("the schema is newer");

    for part in ["version 99", &format!("up to {known}"), "newer program"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
}

#[tokio::test]
async fn newer_schema_that_was_made_for_this_server_too_is_accepted() {
    let database = TestDatabase::create().await;
    let newest = "SELECT max(version)::int FROM refinery_schema_history";
    let known: i32 = database.query(newest, &[]).await[0].get(0);
    let newer = |version: i32, oldest: i32| {
        format!(
            "INSERT INTO refinery_schema_history SELECT {version}, 'future__works_with_V{oldest}', applied_on, \
             checksum FROM refinery_schema_history WHERE version = 1"
        )
    };
    database.execute(&newer(known + 1, known), &[]).await;
    database.execute(&newer(known + 2, known - 1), &[]).await;

    let server = TestServer::start_on(&database, |_| {}).await;
    server.admin().create_device("pump").await;
    server.stop().await;

    database.execute(&newer(known + 3, known + 1), &[]).await;
    let refused = TestServer::try_start_on(&database, |_| {}).err().expect("made for newer servers alone");
    assert!(refused.contains("newer program"), "{refused}");
}

#[tokio::test]
async fn database_that_is_not_reached_is_named_with_address_and_cause() {
    let (directory, database) = (scratch(), TestDatabase::create().await);
    let unknown_database = database.url().replace("dbname=", "dbname=un");
    let unknown_user = database.url().replace("user=platform", "user=nobody");
    // Nobody listens on port 1.
    for (url, named) in [
        ("postgres://platform@127.0.0.1:1/platform", &["127.0.0.1:1", "refused"][..]),
        ("postgres://platform@no-such-host.invalid/platform", &["no-such-host.invalid:5432", "address"]),
        ("host=/nowhere user=platform", &["/nowhere/.s.PGSQL.5432", "No such file"]),
        (&unknown_database, &["/run/.s.PGSQL.5432", "does not exist", "3D000"]),
        (&unknown_user, &["/run/.s.PGSQL.5432", "nobody", "28000"]),
    ] {
        let said = refusal(Program::command(directory.path(), &["--database-url", url]));
        for part in named {
            assert!(said.contains(part), "{url}: {part} is missing in {said}");
        }
    }
}

#[tokio::test]
async fn commands_refuse_a_directory_in_which_no_server_has_run() {
    let directory = scratch();
    let mistyped = directory.path().join("typo");
    let mistyped = mistyped.to_str().unwrap();

    for arguments in [
        &["admin", "user", "passwd", "main", "admin", "--password", "first-secret"][..],
        &["admin", "user", "create", "main", "mia", "--password", "first-secret"],
        &["admin", "token", "client", "list", "main"],
        &["admin", "application", "route", "rules", "http://127.0.0.1:9"],
    ] {
        let arguments = [arguments, &["--data-dir", mistyped]].concat();
        let said = refusal(Program::command(directory.path(), &arguments));
        assert!(said.contains(mistyped) && said.contains("--data-dir"), "{arguments:?}: {said}");
        assert!(!Path::new(mistyped).exists(), "{arguments:?}: nothing was made");
    }
}

#[tokio::test]
async fn existing_users_are_not_reported() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    database.execute("DELETE FROM users WHERE tenant = 'main' AND name = 'admin'", &[]).await;

    let program = Program::serve_with(Program::command_on(&database, directory.path()));

    let told = program.printed.iter().take_while(|line| !line.starts_with("Try it"));
    let told = told.filter(|line| line.starts_with("  "));
    let told: Vec<_> = told.map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(told, ["main/admin"], "{:#?}", program.printed);
}
