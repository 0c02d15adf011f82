//! Tests of the findings that need no database: files, addresses, certificates. Findings about the database are tested
//! in tests/api/process.

use std::net::TcpListener;

use platform_front::self_request::Answer;

use super::*;

fn settings(change: impl FnOnce(&mut Settings)) -> (Settings, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.store.data_dir = directory.path().join("data");
    settings.listen = "127.0.0.1:0".parse().unwrap();
    change(&mut settings);
    (settings, directory)
}

fn found(settings: &Settings, subject: &str) -> Finding {
    let findings = machine::check(settings);
    findings
        .iter()
        .find(|finding| finding.subject == subject)
        .unwrap_or_else(|| panic!("{findings:?}"))
        .clone()
}

#[tokio::test]
async fn address_of_another_program_is_a_fault_with_its_remedy() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap();
    std::thread::spawn(move || stranger.accept().map(|(connection, _)| drop(connection)));
    let (settings, _directory) = settings(|settings| settings.listen = address);

    let finding = address::check(&settings).await.remove(0);

    assert_eq!(finding.state, State::Fault, "{finding:?}");
    assert!(finding.remedy.unwrap().contains(&address.port().to_string()));
}

#[tokio::test]
async fn address_of_another_machine_is_a_fault() {
    let (settings, _directory) = settings(|settings| settings.listen = "192.0.2.1:80".parse().unwrap());
    assert_eq!(address::check(&settings).await[0].state, State::Fault);
}

#[test]
fn full_disk_is_a_fault() {
    let (mut settings, _directory) = settings(|settings| settings.store.least_free = 0);
    assert_eq!(found(&settings, "disk").state, State::Good);
    settings.store.least_free = 1 << 60;
    assert_eq!(found(&settings, "disk").state, State::Fault);
}

#[test]
fn key_that_others_may_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let (settings, _directory) = settings(|_| {});
    std::fs::create_dir(&settings.store.data_dir).unwrap();
    assert_eq!(found(&settings, "secret key").state, State::Good, "none yet");
    platform_front::secrets::password::SecretKey::create(&settings.store.secret_key_file()).unwrap();
    assert_eq!(found(&settings, "secret key").state, State::Good);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(settings.store.secret_key_file(), open).unwrap();

    let finding = found(&settings, "secret key");

    assert_eq!(finding.state, State::Warning, "{finding:?}");
    assert!(finding.remedy.unwrap().starts_with("chmod 600 "));
}

#[test]
fn certificate_is_judged_by_its_last_day() {
    let key = rcgen::KeyPair::generate().unwrap();
    for (days, state) in [(-1, State::Fault), (3, State::Warning), (60, State::Good)] {
        let (settings, directory) = settings(|_| {});
        let mut settings = settings;
        let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.not_before = time::OffsetDateTime::now_utc() - time::Duration::days(100);
        params.not_after = time::OffsetDateTime::now_utc() + time::Duration::days(days);
        let certificate = params.self_signed(&key).unwrap();
        let files = ["cert.pem", "key.pem"].map(|name| directory.path().join(name));
        std::fs::write(&files[0], certificate.pem()).unwrap();
        std::fs::write(&files[1], key.serialize_pem()).unwrap();
        [settings.tls.cert, settings.tls.key] = files.map(Some);

        assert_eq!(found(&settings, "certificate").state, state, "{days} days");
    }
    let (settings, _directory) = settings(|settings| settings.tls.cert = Some("/nowhere.pem".into()));
    assert_eq!(found(&settings, "certificate").state, State::Fault);
}

#[test]
fn files_that_others_may_use_are_reported_with_a_remedy() {
    use std::os::unix::fs::PermissionsExt;
    let (mut settings, directory) = settings(|_| {});
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let (data, key) = (settings.store.data_dir.clone(), directory.path().join("key.pem"));
    let file = directory.path().join("platform.toml");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(&key, "").unwrap();
    std::fs::write(&file, "admin-password = \"secret-1\"\n").unwrap();
    (settings.tls.key, settings.store.config) = (Some(key.clone()), Some(file.clone()));
    for path in [&data, &key, &file] {
        set(path, 0o750);
    }

    assert_eq!(files::check(&settings)[0].state, State::Good);
    for (path, mode, state) in
        [(&data, 0o777, State::Fault), (&key, 0o644, State::Warning), (&file, 0o644, State::Warning)]
    {
        set(path, mode);
        let [finding]: [Finding; 1] = files::check(&settings).try_into().unwrap();
        set(path, 0o750);
        assert_eq!(finding.state, state, "{finding:?}");
        assert!(finding.remedy.unwrap().ends_with(path.to_str().unwrap()));
    }
    std::fs::write(&file, "listen = \"127.0.0.1:0\"\n").unwrap();
    set(&file, 0o644);
    assert_eq!(files::check(&settings)[0].state, State::Good, "a file without secrets may be read");
}

#[test]
fn connection_to_another_machine_should_be_encrypted_and_checked() {
    let postgres = |over_network, encrypted| platform_store::schema::description::Postgres {
        version: "17".into(),
        major: 17,
        fsync: true,
        full_page_writes: true,
        synchronous_commit: "on".into(),
        max_connections: 100,
        connections: 1,
        is_standby: false,
        over_network,
        encrypted,
        everybody_connects: false,
        name: "platform".into(),
        notification_queue: 0.0,
        now: time::OffsetDateTime::UNIX_EPOCH,
        bytes: 0,
    };
    for (over_network, encrypted, mode, state) in [
        (false, false, "", None),
        (true, false, "prefer", Some(State::Warning)),
        (true, true, "require", Some(State::Warning)),
        (true, true, "verify-full", Some(State::Good)),
    ] {
        let finding = database::encryption(&postgres(over_network, encrypted), mode);
        assert_eq!(finding.map(|finding| finding.state), state, "{over_network} {encrypted} {mode}");
    }
}

#[test]
fn program_for_backups_must_not_be_older_than_the_database() {
    use std::os::unix::fs::PermissionsExt;
    let (mut settings, directory) = settings(|_| {});
    let program = directory.path().join("pg_dump");
    std::fs::write(&program, "#!/bin/sh\necho 'pg_dump (PostgreSQL) 15.8'\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    settings.store.postgres_bin_dir = Some(directory.path().to_owned());
    for (version, state) in [(14, None), (15, None), (16, Some(State::Warning))] {
        let finding = database::backups(&settings, version);
        assert_eq!(finding.map(|finding| finding.state), state, "{version}");
    }
}

#[test]
fn queue_of_notifications_is_judged_by_its_fill() {
    for (share, state) in
        [(0.0, State::Good), (0.09, State::Good), (0.1, State::Warning), (0.5, State::Fault)]
    {
        let finding = bus::queue(share);
        assert_eq!(finding.state, state, "{share}");
        assert_eq!(finding.remedy.is_some(), state != State::Good, "{share}");
    }
}

#[test]
fn long_transaction_of_a_server_is_named_with_its_process() {
    assert_eq!(bus::transactions(&[]), None);
    let long =
        platform_store::schema::description::LongTransaction { pid: 4711, server: "web1".into(), age: 12.3 };

    let finding = bus::transactions(&[long]).unwrap();

    assert_eq!(finding.state, State::Warning);
    assert!(finding.told.contains("web1 (pid 4711) for 12 s"), "{finding:?}");
    assert!(finding.remedy.unwrap().contains("pg_terminate_backend(4711)"));
}

fn answer(body: &serde_json::Value) -> Answer {
    Answer::Response { status: 200, body: body.to_string().into_bytes() }
}

#[test]
fn failing_jobs_are_a_warning_and_the_number_of_working_ones_is_named() {
    let job = |name: &str, result: &str, failures: u32| {
        json!({"name": name, "lease": false, "lastRun": "2026-01-01T02:03:04.000Z", "lastResult": result,
            "failures": failures, "panics": 0})
    };
    let good = jobs::finding(&answer(&json!({"status": "UP", "jobs": [job("usage", "DONE", 0)]}))).unwrap();
    assert_eq!((good.state, &*good.told), (State::Good, "all 1 background jobs work"));

    let some = [job("usage", "DONE", 0), job("retention", "FAILED", 3), job("silence", "PANICKED", 1)];
    let bad = jobs::finding(&answer(&json!({"status": "UP", "jobs": some}))).unwrap();
    let told = "retention failed at 2026-01-01T02:03:04.000Z, 3 times in a row, \
        silence panicked at 2026-01-01T02:03:04.000Z";
    assert_eq!((bad.state, &*bad.told), (State::Warning, told));
}

#[test]
fn response_without_details_says_nothing_about_jobs() {
    assert_eq!(jobs::finding(&answer(&json!({"status": "UP"}))), None);
    assert_eq!(jobs::finding(&Answer::Stranger), None);
}
