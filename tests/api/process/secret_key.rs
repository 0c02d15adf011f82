//! `platform admin secret`: another key for everything that is sealed or hashed under it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use platform_front::secrets::password::SecretKey;
use rustix::process::Signal;

use super::*;
use crate::harness::authenticator::{Person, log_in_with};

const OPTION: [&str; 3] = ["main", "mail", "credentials.password"];
const APPLICATIONS: &str = "/application/applications";
/// The time that a stop may take on a slow machine.
const STOP: Duration = Duration::from_secs(30);

/// Returns a command on a database with its own copy of the secret key, because other tests use the same file.
fn command(database: &TestDatabase, directory: &Path, arguments: &[&str]) -> Command {
    let key = directory.join("secret.key");
    let mut command = Program::command_on(database, directory);
    command.args(arguments).env("PLATFORM_SECRET_KEY_FILE", key);
    command
}

/// Returns the file of the key, a copy of that of the database.
fn key_file(database: &TestDatabase, directory: &Path) -> PathBuf {
    let file = directory.join("secret.key");
    fs::copy(database.data_dir().join("secret.key"), &file).unwrap();
    file
}

/// Runs a command and returns whether it succeeded, and what it said.
fn outcome(database: &TestDatabase, directory: &Path, arguments: &[&str]) -> (bool, String) {
    let output = run(command(database, directory, arguments), "");
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(!said.contains("panicked"), "{said}");
    (output.status.success(), said)
}

fn succeed(database: &TestDatabase, directory: &Path, arguments: &[&str]) -> String {
    let (done, said) = outcome(database, directory, arguments);
    assert!(done, "{said}");
    said
}

fn refuse(database: &TestDatabase, directory: &Path, arguments: &[&str], expected: &str) {
    let (done, said) = outcome(database, directory, arguments);
    assert!(!done && said.contains(expected), "{said}");
}

async fn stop(mut server: Program) {
    server.signal(Signal::TERM);
    assert!(server.ended_within(STOP).await.success(), "{}", server.log());
}

fn key_in(file: &Path) -> SecretKey {
    SecretKey::load(file).unwrap().unwrap()
}

/// The secrets of a deployment.
struct Secrets {
    user: String,
    password: String,
    application: String,
}

impl Secrets {
    /// Creates a user with a generated password, a secret option and a microservice.
    async fn create(database: &TestDatabase, directory: &Path, server: &Program) -> Self {
        let roles = [
            "ROLE_OPTION_MANAGEMENT_ADMIN",
            "ROLE_APPLICATION_MANAGEMENT_ADMIN",
            "ROLE_APPLICATION_MANAGEMENT_READ",
        ];
        let roles: Vec<_> = roles.iter().flat_map(|role| ["--role", role]).collect();
        let user = [&["admin", "user", "create", "main", "mia"][..], &roles].concat();
        let printed = succeed(database, directory, &user);
        let (user, password) = printed.trim().split_once(' ').unwrap();
        let mia = Caller::new(server.base(), Some((user, password)));
        let option = json!({"category": "mail", "key": "credentials.password", "value": "hunter-2"});
        mia.create("/tenant/options", &option).await;
        let application = json!({"name": "rules", "key": "rules-key", "type": "MICROSERVICE"});
        let application = mia.create(APPLICATIONS, &application).await;
        let application = application["id"].as_str().unwrap().to_owned();
        Self { user: user.into(), password: password.into(), application }
    }

    fn caller(&self, server: &Program) -> Caller {
        Caller::new(server.base(), Some((&self.user, &self.password)))
    }

    /// Returns the key of the microservice, and the password of its bootstrap user.
    async fn of_application(&self, server: &Program) -> [Value; 2] {
        let (mia, path) = (self.caller(server), format!("{APPLICATIONS}/{}", self.application));
        let user = mia.read(&format!("{path}/bootstrapUser")).await;
        [mia.read(&path).await["key"].clone(), user["password"].clone()]
    }
}

async fn stored_option(database: &TestDatabase) -> Option<String> {
    let rows = database.query("SELECT value FROM options WHERE category = 'mail'", &[]).await;
    rows.first().map(|row| row.get(0))
}

#[tokio::test]
async fn rotation_seals_everything_again_and_keeps_every_secret() {
    let (scratch, database) = (scratch(), TestDatabase::create().await);
    let (directory, file) = (scratch.path(), key_file(&database, scratch.path()));
    let server = Program::serve_with(command(&database, directory, &[]));
    let secrets = Secrets::create(&database, directory, &server).await;
    let (before, option) = (secrets.of_application(&server).await, stored_option(&database).await);
    let old = fs::read(&file).unwrap();

    refuse(&database, directory, &["admin", "secret", "rotate"], "stop them first");
    assert_eq!(fs::read(&file).unwrap(), old, "nothing has changed beside a server");
    stop(server).await;
    for _ in 0..2 {
        succeed(&database, directory, &["admin", "secret", "rotate"]);
        assert_ne!(fs::read(&file).unwrap(), old);
    }

    let resealed = stored_option(&database).await;
    assert_ne!(resealed, option);
    let opened = key_in(&file).sealing().open(OPTION, &resealed.unwrap());
    assert_eq!(opened.as_deref(), Some("hunter-2"));
    let server = Program::serve_with(command(&database, directory, &[]));
    assert_eq!(secrets.of_application(&server).await, before);
    let service =
        Caller::new(server.base(), Some(("main/servicebootstrap_rules", before[1].as_str().unwrap())));
    assert_eq!(service.get("/application/currentApplication").await.status, 200, "its hash counts");
    stop(server).await;

    fs::write(&file, old).unwrap();
    refuse(&database, directory, &[], "this database uses the key");
}

#[tokio::test]
async fn rotation_that_was_killed_is_completed_or_had_no_effect() {
    let (scratch, database) = (scratch(), TestDatabase::create().await);
    let (directory, file) = (scratch.path(), key_file(&database, scratch.path()));
    let (new_file, old) = (directory.join("secret.key.new"), fs::read(&file).unwrap());

    // Killed before the database had the new key.
    fs::write(&new_file, "5a".repeat(32)).unwrap();
    let server = Program::serve_with(command(&database, directory, &[]));
    let secrets = Secrets::create(&database, directory, &server).await;
    let before = secrets.of_application(&server).await;
    stop(server).await;
    assert_eq!(fs::read(&file).unwrap(), old);
    succeed(&database, directory, &["admin", "secret", "rotate"]);

    // Killed after that, before the file had its name: the next start and the next command complete it.
    let new = fs::read(&file).unwrap();
    for start in [true, false] {
        fs::write(&new_file, &new).unwrap();
        fs::write(&file, &old).unwrap();
        if start {
            let server = Program::serve_with(command(&database, directory, &[]));
            server.line_with("a rotation of the secret key was interrupted").await;
            assert_eq!(secrets.of_application(&server).await, before);
            stop(server).await;
        } else {
            succeed(
                &database,
                directory,
                &["admin", "user", "passwd", "main", "mia", "--password", "another"],
            );
        }
        assert_eq!(fs::read(&file).unwrap(), new);
        assert!(!new_file.exists());
    }
}

#[tokio::test]
async fn deployment_goes_on_without_a_lost_key() {
    let (scratch, database) = (scratch(), TestDatabase::create().await);
    let (directory, file) = (scratch.path(), key_file(&database, scratch.path()));
    let server = Program::serve_with(command(&database, directory, &[]));
    let secrets = Secrets::create(&database, directory, &server).await;
    let before = secrets.of_application(&server).await;
    stop(server).await;
    let forget = ["admin", "secret", "forget", "--yes"];

    refuse(&database, directory, &forget, "nothing is lost");
    fs::write(&file, "5a".repeat(32)).unwrap();
    refuse(&database, directory, &forget, "move it away first");
    fs::remove_file(&file).unwrap();
    refuse(&database, directory, &[], "platform admin secret forget");
    refuse(&database, directory, &forget[..3], "1 secret options are deleted");
    assert!(stored_option(&database).await.is_some() && !file.exists(), "without consent nothing changes");
    let said = succeed(&database, directory, &forget);

    assert!(
        said.contains("1 secret options are deleted") && said.contains("applications get new keys"),
        "{said}"
    );
    assert_eq!(stored_option(&database).await, None);
    let server = Program::serve_with(command(&database, directory, &[]));
    assert_eq!(secrets.caller(&server).get("/tenant/options").await.status, 401);
    succeed(&database, directory, &["admin", "user", "passwd", "main", "mia", "--password", "first-secret"]);
    let secrets = Secrets { password: "first-secret".into(), ..secrets };
    let after = secrets.of_application(&server).await;
    assert!(
        after.iter().zip(&before).all(|(after, before)| after.is_string() && after != before),
        "{after:?}"
    );
}

#[tokio::test]
async fn second_factors_survive_a_rotation_and_are_removed_with_a_lost_key() {
    let (scratch, database) = (scratch(), TestDatabase::create().await);
    let (directory, file) = (scratch.path(), key_file(&database, scratch.path()));
    let server = Program::serve_with(command(&database, directory, &[]));
    let create =
        ["admin", "user", "create", "main", "mia", "--password", "mias-secret", "--role", "ROLE_ALARM_READ"];
    succeed(&database, directory, &create);
    let mia = Person::of(Caller::new(server.base(), Some(("main/mia", "mias-secret")))).await;
    stop(server).await;

    succeed(&database, directory, &["admin", "secret", "rotate"]);

    let server = Program::serve_with(command(&database, directory, &[]));
    let basic = Caller::new(server.base(), Some(("main/mia", "mias-secret")));
    log_in_with(&basic, &mia.next_code()).await.expect(201);
    log_in_with(&basic, &mia.recovery_codes[0]).await.expect(201);
    stop(server).await;

    fs::remove_file(&file).unwrap();
    let said = succeed(&database, directory, &["admin", "secret", "forget", "--yes"]);
    assert!(said.contains("1 second factors are removed"), "{said}");
    let server = Program::serve_with(command(&database, directory, &[]));
    let basic = Caller::new(server.base(), Some(("main/mia", "mias-secret")));
    assert_eq!(basic.get(ALARMS).await.status, 200, "the password that mia chose stays");
    stop(server).await;
}
