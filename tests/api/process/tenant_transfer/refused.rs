//! The commands refuse damaged files, tenants that exist, and outputs that they cannot use, and write nothing then.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use super::every_table::{empty, filled};
use super::*;

#[tokio::test]
async fn files_that_are_damaged_or_do_not_fit_are_refused_before_anything_is_written() {
    let (scratch, source, target) = (scratch(), filled().await, empty().await);
    let directory = scratch.path();
    let file = export(&source, directory, "t7", "t7.tenant");
    let content = fs::read(&file).unwrap();
    let written = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mut altered = content.clone();
    altered[content.len() / 2] ^= 1;
    let with = |name: &str, change: &dyn Fn(&mut Value)| with_manifest(&file, name, change);
    let without_rows = changed(&file, "lines", "alarms.copy", |_| Vec::new());
    let other_rows = changed(&file, "rows", "alarms.copy", |rows| {
        String::from_utf8(rows).unwrap().replace("MAJOR", "MINOR").into_bytes()
    });

    for (file, expected) in [
        (written("text", b"text"), "not the file of a tenant"),
        (written("truncated", &content[..content.len() - 100]), "it is damaged"),
        (written("altered", &altered), "it is damaged"),
        (without_rows, "the table alarms has 0 rows instead of 1"),
        (other_rows, "the table alarms has 1 rows with the digest"),
        (with("format", &|m| m["format"] = json!(2)), "it has format 2"),
        (with("schema", &|m| m["schema"] = json!(49)), "it has schema 49"),
        (
            with("key", &|m| m["keys"]["sealing"] = json!("00")),
            "name the secret.key of its deployment with --source",
        ),
        (with("hash", &|m| m["keys"]["hashingKey"] = json!("00")), "did not seal the hashing keys"),
        (
            with("foreign", &|m| m["keys"]["foreign"] = json!([["hashing key of 00", "00"]])),
            "did not seal the",
        ),
        (
            with("partition", &|m| m["content"]["partitions"][0] = json!("users")),
            "\"users\", which is no partition",
        ),
        (with("table", &|m| m["content"]["tables"][0]["table"] = json!("secrets")), "it has no"),
        (
            with("column", &|m| m["content"]["tables"][0]["columns"][0] = json!("x")),
            "other tables or columns",
        ),
        (
            with("application", &|m| m["content"]["applications"][0]["name"] = json!("gone")),
            "applications that are not here: gone of tenant management",
        ),
    ] {
        refuse(on(&target, directory, &IMPORT, &[&file]), expected);
        assert_eq!(target.count("tenants WHERE id = 't7'").await, 0, "{file}");
        assert_eq!(target.count("managed_objects WHERE tenant = 't7'").await, 0, "{file}");
    }
}

#[tokio::test]
async fn tenants_domains_and_rows_that_are_there_already_are_refused() {
    let (scratch, source) = (scratch(), filled().await);
    let directory = scratch.path();
    export(&source, directory, "t7", "t7.tenant");
    let import = |more: &[&str]| on(&source, directory, &IMPORT, &[&["t7.tenant"], more].concat());

    refuse(import(&[]), "t7");
    refuse(import(&["--as", "t9"]), "--domain gives the imported tenant another one");
    // An application, a client of access tokens and the key of an authority are there once in a deployment.
    let beside = ["--as", "t9", "--domain", "plant9.example.com"];
    refuse(import(&beside), "may be there only once");

    assert_eq!(source.count("tenants WHERE id = 't9'").await, 0);
}

#[tokio::test]
async fn ids_of_the_future_are_refused_because_new_rows_could_get_them() {
    let (scratch, database) = (scratch(), TestDatabase::create().await);
    let tomorrow = "INSERT INTO audit_records (tenant, id, type, activity, time, text, source, user_name, severity, \
        changes, created_at) \
        VALUES ('main', first_id(now() + interval '1 hour'), '', '', now(), '', '', '', 'warning', '[]', now())";
    database.execute(tomorrow, &[]).await;
    export(&database, scratch.path(), "main", "main.tenant");

    let arguments = ["main.tenant", "--as", "t9", "--domain", "plant9.example.com"];
    refuse(on(&database, scratch.path(), &IMPORT, &arguments), "s ahead of the clock of this database");
    assert_eq!(database.count("tenants WHERE id = 't9'").await, 0);
}

#[tokio::test]
async fn export_writes_a_private_file_and_never_over_another() {
    let (scratch, source) = (scratch(), TestDatabase::create().await);
    let directory = scratch.path();
    let to = |tenant: &str, file: &str| on(&source, directory, &EXPORT, &[tenant, "--output", file]);

    let file = export(&source, directory, "main", "main.tenant");

    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    refuse(to("main", "main.tenant"), "exists already");
    refuse(to("main", "-"), "not written to the standard output");
    refuse(to("main", "absent/main.tenant"), "cannot be written");
    refuse(to("unknown", "unknown.tenant"), "unknown");
    refuse(to("management", "management.tenant"), "belongs to its deployment");
    let left: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["main.tenant"]);
}

#[tokio::test]
async fn write_during_an_export_is_not_in_it() {
    let (scratch, source) = (scratch(), TestDatabase::create().await);
    let (mut client, connection) =
        tokio_postgres::connect(source.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    // The export reads audit records before, and users after this table.
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE links IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let mut running = on(&source, scratch.path(), &EXPORT, &["main", "--output", "main.tenant"]);
    let mut running = running.stdout(Stdio::null()).spawn().unwrap();
    let waiting = "SELECT 1 FROM pg_locks WHERE relation = 'links'::regclass AND NOT granted";
    until("the export at the locked table", async || !source.query(waiting, &[]).await.is_empty()).await;
    source
        .run_script(
            "BEGIN;
            INSERT INTO audit_records (tenant, id, type, activity, time, text, source, user_name, severity, changes,
                created_at) VALUES ('main', 1, 'x', 'x', now(), '', '1', 'mia', 'warning', '[]', now());
            INSERT INTO users (tenant, name, enabled, roles, created_at) VALUES ('main', 'later', true, '{}', now());
            COMMIT",
        )
        .await;

    lock.rollback().await.unwrap();

    assert!(running.wait().unwrap().success());
    let file = scratch.path().join("main.tenant");
    let users = String::from_utf8(entry_of(&file, "users.copy")).unwrap();
    assert!(users.contains("admin") && !users.contains("later"), "{users}");
    let tables = manifest_of(&file)["content"]["tables"].clone();
    let rows =
        tables.as_array().unwrap().iter().find(|table| table["table"] == "users").unwrap()["rows"].clone();
    assert_eq!(rows, users.lines().count());
}
