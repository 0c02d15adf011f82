//! `platform backup` and `platform restore`, of a private PostgreSQL and of an external one.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::harness::{Caller, Program, TestDatabase, run, scratch};

const OBJECTS: &str = "/inventory/managedObjects";

/// Runs a command and returns its exit code and what it said.
fn outcome(command: Command) -> (Option<i32>, String) {
    let output = run(command, "");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

fn succeed(command: Command) -> String {
    let (code, said) = outcome(command);
    assert_eq!(code, Some(0), "{said}");
    said
}

/// Runs a command that must refuse with an error that contains `expected`.
fn refuse(command: Command, expected: &str) {
    let (code, said) = outcome(command);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error: ") && said.contains(expected) && !said.contains("panicked"), "{said}");
}

/// Returns a command on a database of the test's PostgreSQL.
fn on(database: &TestDatabase, directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Program::command_on(database, directory);
    command.args(arguments);
    command
}

/// Writes the archive once more, with one entry changed.
fn with_entry(backup: &Path, changed: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let path = backup.with_extension(format!("{changed}.zip"));
    let mut archive = ZipArchive::new(File::open(backup).unwrap()).unwrap();
    let mut written = ZipWriter::new(File::create(&path).unwrap());
    for name in ["manifest.json", "secret.key", "database.dump"] {
        let mut content = Vec::new();
        archive.by_name(name).unwrap().read_to_end(&mut content).unwrap();
        written.start_file(name, SimpleFileOptions::default()).unwrap();
        written.write_all(&if name == changed { change(content) } else { content }).unwrap();
    }
    written.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

async fn count_of(caller: &Caller, name: &str) -> usize {
    let found = caller.read(&format!("{OBJECTS}?text={name}")).await;
    found["managedObjects"].as_array().unwrap().len()
}

#[tokio::test]
async fn private_database_is_backed_up_beside_its_server_and_restored_elsewhere() {
    let (directory, elsewhere) = (scratch(), scratch());
    let program = Program::serve(directory.path());
    let mia = [
        "admin",
        "user",
        "create",
        "main",
        "mia",
        "--password",
        "first-secret",
        "--role",
        "ROLE_INVENTORY_ADMIN",
    ];
    succeed(Program::command(directory.path(), &mia));
    let caller = Caller::new(program.base(), Some(("main/mia", "first-secret")));
    caller.create(OBJECTS, &json!({"name": "precious"})).await;
    let client =
        ["admin", "token", "client", "create", "main", "--user", "mia", "--name", "x", "--scope", "READ"];
    let client = succeed(Program::command(directory.path(), &client));
    let (id, secret) = client.trim().split_once(' ').unwrap();
    let credentials = json!({"grantType": "client_credentials", "clientId": id, "clientSecret": secret});
    let stranger = Caller::new(program.base(), None);
    let token: Value = stranger.post("/v1/oauth/accesstokens", &credentials).await.expect(200).json();
    let token = token["accessToken"].as_str().unwrap();

    succeed(Program::command(directory.path(), &["backup", "b.zip"]));

    let backup = directory.path().join("b.zip");
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    let left = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().contains("unfinished")));
    refuse(Program::command(directory.path(), &["backup", "b.zip"]), "exists already");
    refuse(Program::command(directory.path(), &["restore", "b.zip", "--replace"]), "a server runs on");
    let backup = backup.to_str().unwrap();
    succeed(Program::command(elsewhere.path(), &["restore", backup]));
    let key = elsewhere.path().join("data/secret.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read(&key).unwrap(), fs::read(directory.path().join("data/secret.key")).unwrap());
    refuse(Program::command(elsewhere.path(), &["restore", backup]), "--replace");
    let restored = Program::serve(elsewhere.path());
    let caller = Caller::new(restored.base(), Some(("main/mia", "first-secret")));
    assert_eq!(count_of(&caller, "precious").await, 1);
    let bearer = Caller::new(restored.base(), None).with_token(token);
    assert_eq!(count_of(&bearer, "precious").await, 1, "tokens are valid");
    let issued = Caller::new(restored.base(), None).post("/v1/oauth/accesstokens", &credentials).await;
    assert_eq!(issued.status, 200, "secrets that the key hashes are verified");
}

#[tokio::test]
async fn external_database_is_backed_up_restored_and_replaced_only_when_told() {
    let directory = scratch();
    let database = TestDatabase::create().await;
    let backup = |name| on(&database, directory.path(), &["backup", name]);
    let restore = |name, more: &[&str]| on(&database, directory.path(), &[&["restore", name], more].concat());
    database.insert_user("kept", &[]).await;
    succeed(backup("b.zip"));
    database.insert_user("later", &[]).await;
    let users = async || {
        let rows =
            database.query("SELECT name FROM users WHERE name IN ('kept', 'later') ORDER BY 1", &[]).await;
        rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>()
    };

    refuse(restore("b.zip", &[]), "not empty");
    let server = Program::serve_with(Program::command_on(&database, directory.path()));
    refuse(restore("b.zip", &["--replace"]), "stop the servers");
    drop(server);
    let file = directory.path().join("b.zip");
    let broken = with_entry(&file, "database.dump", |_| b"nonsense".to_vec());
    crate::harness::eventually("the end of the server's connections", async || {
        let (_, said) = outcome(restore(&broken, &["--replace"]));
        said.contains("pg_restore failed").then_some(())
    })
    .await;
    assert_eq!(users().await, ["kept", "later"], "a restore that fails changes nothing");
    crate::harness::eventually("the end of the test's connections", async || {
        (outcome(restore("b.zip", &["--replace"])).0 == Some(0)).then_some(())
    })
    .await;
    assert_eq!(users().await, ["kept"]);

    database.run_script("DROP SCHEMA public CASCADE; CREATE SCHEMA public").await;
    refuse(backup("empty.zip"), "nothing to back up");
    assert!(!directory.path().join("empty.zip").exists());
    crate::harness::eventually("the restore into the empty database", async || {
        (outcome(restore("b.zip", &[])).0 == Some(0)).then_some(())
    })
    .await;
    assert_eq!(users().await, ["kept"]);
}

#[tokio::test]
async fn backups_that_do_not_fit_are_refused_before_anything_is_made() {
    let directory = scratch();
    let database = TestDatabase::create().await;
    succeed(on(&database, directory.path(), &["backup", "b.zip"]));
    let file = directory.path().join("b.zip");
    let newer = with_entry(&file, "manifest.json", |content| {
        let mut manifest: Value = serde_json::from_slice(&content).unwrap();
        manifest["schema"] = json!(10_000);
        manifest.to_string().into_bytes()
    });
    let other_key = with_entry(&file, "secret.key", |_| "00".repeat(32).into_bytes());
    let damaged = directory.path().join("damaged.zip");
    let mut content = fs::read(&file).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(&damaged, content).unwrap();
    fs::write(directory.path().join("text.zip"), "text").unwrap();

    for (file, expected) in [
        (newer.as_str(), "schema 10000"),
        (damaged.to_str().unwrap(), "damaged"),
        ("text.zip", "no backup"),
        ("absent.zip", "absent.zip cannot be restored"),
    ] {
        refuse(Program::command(directory.path(), &["restore", file]), expected);
        assert!(!directory.path().join("data").exists(), "{file}");
    }
    refuse(Program::command(directory.path(), &["restore", &other_key]), "its manifest does not name");
}
