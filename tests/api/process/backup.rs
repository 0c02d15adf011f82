//! `platform backup` and `platform restore` with a private PostgreSQL and with an external one.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::*;

/// Runs a command and returns its exit code and its error output.
fn outcome(command: Command) -> (Option<i32>, String) {
    let output = run(command, "");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

pub(super) fn succeed(command: Command) -> String {
    let (code, said) = outcome(command);
    assert_eq!(code, Some(0), "{said}");
    said
}

/// Runs a command that must fail with an error that contains `expected`.
pub(super) fn refuse(command: Command, expected: &str) {
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

/// Writes a copy of the archive with one changed entry.
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
    let (directory, elsewhere) = (scratch_with_data(), scratch());
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
    let piped = run(Program::command(directory.path(), &["backup", "-"]), "");
    let said = String::from_utf8(piped.stderr).unwrap();
    assert!(piped.status.success() && said.starts_with("backup written ("), "{said}");
    fs::write(directory.path().join("piped.zip"), piped.stdout).unwrap();
    assert!(!directory.path().join("-").exists());
    refuse(Program::command(directory.path(), &["backup", "b.zip"]), "exists already");
    refuse(Program::command(directory.path(), &["restore", "b.zip", "--replace"]), "a server runs on");
    let backup = backup.to_str().unwrap();
    let piped = directory.path().join("piped.zip");
    let said = succeed(Program::command(elsewhere.path(), &["restore", piped.to_str().unwrap()]));
    assert!(said.contains("restoring ") && said.contains("all data is read"), "{said}");
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
async fn external_database_is_backed_up_and_restored_and_replaced_only_with_the_flag() {
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
    until("the end of the server's connections", async || {
        database.disconnect();
        let (_, said) = outcome(restore(&broken, &["--replace"]));
        said.contains("pg_restore failed")
    })
    .await;
    assert_eq!(users().await, ["kept", "later"], "a restore that fails changes nothing");
    until("the end of the test's connections", async || {
        database.disconnect();
        outcome(restore("b.zip", &["--replace"])).0 == Some(0)
    })
    .await;
    assert_eq!(users().await, ["kept"]);

    database.run_script("DROP SCHEMA public CASCADE; CREATE SCHEMA public").await;
    refuse(backup("empty.zip"), "nothing to back up");
    assert!(!directory.path().join("empty.zip").exists());
    until("the restore into the empty database", async || {
        database.disconnect();
        outcome(restore("b.zip", &[])).0 == Some(0)
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
        ("text.zip", "not a backup"),
        ("absent.zip", "absent.zip cannot be restored"),
    ] {
        refuse(Program::command(directory.path(), &["restore", file]), expected);
        assert!(!directory.path().join("data").exists(), "{file}");
    }
    refuse(Program::command(directory.path(), &["restore", &other_key]), "its manifest does not name");
}

#[tokio::test]
async fn backup_of_a_newer_postgresql_that_cannot_be_restored_names_the_version() {
    let (directory, database) = (scratch(), TestDatabase::create().await);
    succeed(on(&database, directory.path(), &["backup", "b.zip"]));
    let of_version = |backup: &Path, version: u32| {
        with_entry(backup, "manifest.json", |content| {
            let mut manifest: Value = serde_json::from_slice(&content).unwrap();
            manifest["postgres"] = json!(version);
            manifest.to_string().into_bytes()
        })
    };
    let unreadable = with_entry(&directory.path().join("b.zip"), "database.dump", |_| b"PGDMP".to_vec());
    let restore = |file: &str| Program::command(directory.path(), &["restore", file]);

    refuse(restore(&of_version(Path::new(&unreadable), 99)), "restore it into PostgreSQL 99 or newer");
    let (_, said) = outcome(restore(&unreadable));
    assert!(said.contains("pg_restore failed") && !said.contains("or newer"), "{said}");
}

#[tokio::test]
async fn backup_deletes_what_killed_ones_left_and_nothing_else() {
    let (directory, database) = (scratch(), TestDatabase::create().await);
    let old = SystemTime::now() - Duration::from_secs(600);
    let file = |name: &str, modified: SystemTime| {
        let file = File::create(directory.path().join(name)).unwrap();
        file.set_modified(modified).unwrap();
        file
    };
    file(".platform-unfinished-left", old);
    file("unrelated", old);
    file(".platform-unfinished-new", SystemTime::now());
    // A running command holds a lock on its file.
    let at_work = file(".platform-unfinished-at-work", old);
    at_work.lock().unwrap();

    succeed(on(&database, directory.path(), &["backup", "b.zip"]));

    let entries = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [".platform-unfinished-at-work", ".platform-unfinished-new", "b.zip", "unrelated"]);
}

/// Returns a command like [`on`], with its own copy of the secret key, so that other tests are not affected.
fn apart(database: &TestDatabase, directory: &Path, arguments: &[&str]) -> Command {
    let key = directory.join("secret.key");
    if !key.exists() {
        fs::copy(database.data_dir().join("secret.key"), &key).unwrap();
    }
    let mut command = on(database, directory, arguments);
    command.env("PLATFORM_SECRET_KEY_FILE", key);
    command
}

/// Starts a restore that replaces the database, and kills it while pg_restore runs.
async fn interrupt_restore(database: &TestDatabase, directory: &Path) {
    let (programs, marker) = (directory.join("programs"), directory.join("marker"));
    let (script, found) = (programs.join("pg_restore"), platform_operator::embedded_postgres::client_program);
    let real = found("pg_restore", postgres_programs().as_deref(), 14).unwrap();
    fs::create_dir_all(&programs).unwrap();
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && exec {} --version\necho $$ > {}\nexec sleep 60\n",
        real.display(),
        marker.display()
    );
    fs::write(directory.join("text"), text).unwrap();
    place_program(&directory.join("text"), &script);
    let mut command = apart(database, directory, &["restore", "b.zip", "--replace"]);
    command.env("PLATFORM_POSTGRES_BIN_DIR", &programs);
    database.disconnect();
    let mut restore = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let secret = fs::read(directory.join("secret.key")).unwrap();
    let sleeper = eventually("pg_restore", async || {
        let text = fs::read_to_string(&marker).ok()?;
        text.strip_suffix('\n').map(str::to_owned)
    })
    .await;
    restore.kill().unwrap();
    restore.wait().unwrap();
    let left = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()).filter(|entry| {
        entry.file_name().to_string_lossy().contains("unfinished")
            && fs::read(entry.path()).unwrap() == secret
    });
    assert_eq!(left.count(), 0, "a killed restore leaves no copy of the key");
    fs::remove_file(marker).unwrap();
    succeed({
        let mut kill = Command::new("kill");
        kill.arg(sleeper);
        kill
    });
}

#[tokio::test]
async fn restore_that_was_killed_is_undone_or_repeated_and_no_server_starts_meanwhile() {
    let (directory, database) = (scratch(), TestDatabase::create().await);
    let command = |arguments: &[&str]| apart(&database, directory.path(), arguments);
    let until_it_ends = async |arguments: &[&str]| {
        until("the end of connections", async || outcome(command(arguments)).0 == Some(0)).await;
    };
    let later = async || {
        let found = "SELECT 1 FROM users WHERE tenant = 'main' AND name = 'later'";
        database.query(found, &[]).await.len()
    };
    succeed(command(&["backup", "b.zip"]));
    database.insert_user("later", &[]).await;
    refuse(command(&["restore", "--undo"]), "no restore was interrupted");

    interrupt_restore(&database, directory.path()).await;
    refuse(command(&["serve"]), "a restore was interrupted");
    refuse(command(&["restore", "b.zip"]), "a restore was interrupted");
    let (code, told) = outcome(command(&["doctor"]));
    assert!(code == Some(1) && told.contains("platform restore --undo"), "{told}");
    until_it_ends(&["restore", "--undo"]).await;
    assert_eq!(later().await, 1, "the previous content is back");

    interrupt_restore(&database, directory.path()).await;
    until_it_ends(&["restore", "b.zip", "--replace"]).await;
    assert_eq!(later().await, 0, "the backup is restored");
    let server = Program::serve_with(command(&[]));
    assert_eq!(Caller::new(server.base(), None).get("/health/ready").await.status, 200);
    assert!(!directory.path().join("secret.key.before_restore").exists());
}

#[tokio::test]
async fn positions_that_were_used_after_a_backup_are_reported_and_not_used_again() {
    let (directory, elsewhere) = (scratch_with_data(), scratch());
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
    succeed(Program::command(directory.path(), &[&mia[..], &["--role", "ROLE_INVENTORY_READ"]].concat()));
    let caller = |program: &Program| Caller::new(program.base(), Some(("main/mia", "first-secret")));
    let mia = caller(&program);
    let consumers = "/notification/consumers";
    mia.create(consumers, &json!({"name": "reader", "channels": ["/managedobjects/*"]})).await;
    let poll = async |mia: &Caller, query: &str| {
        mia.read(&format!("{consumers}/reader/notifications?{query}")).await
    };
    mia.create(OBJECTS, &json!({"name": "before"})).await;
    let before = poll(&mia, "wait=5").await["position"].as_i64().unwrap();
    poll(&mia, &format!("wait=0&acknowledge={before}")).await;
    succeed(Program::command(directory.path(), &["backup", "b.zip"]));
    mia.create(OBJECTS, &json!({"name": "after"})).await;
    let after = poll(&mia, &format!("wait=5&acknowledge={before}")).await["position"].as_i64().unwrap();
    assert_eq!(after, before + 1);

    let backup = directory.path().join("b.zip");
    succeed(Program::command(elsewhere.path(), &["restore", backup.to_str().unwrap()]));
    let restored = Program::serve(elsewhere.path());
    let mia = caller(&restored);
    let gap = poll(&mia, &format!("wait=0&acknowledge={after}")).await;
    assert_eq!((&gap["recovered"], &gap["missed"]["from"]), (&json!(false), &json!(after)), "{gap}");
    mia.create(OBJECTS, &json!({"name": "again"})).await;
    let next = poll(&mia, &format!("wait=5&acknowledge={}", gap["position"])).await;
    assert_eq!(
        (&next["recovered"], &next["notifications"][0]["data"]["data"]["name"]),
        (&json!(true), &json!("again"))
    );
    assert!(next["position"].as_i64().unwrap() > after);
}
