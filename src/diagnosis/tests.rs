//! Tests of findings that need no database: files, addresses, certificates. Those with one are among the tests of the
//! program.

use std::net::TcpListener;

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

#[test]
fn address_of_another_program_is_a_fault_with_its_remedy() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap();
    std::thread::spawn(move || stranger.accept().map(|(connection, _)| drop(connection)));
    let (settings, _directory) = settings(|settings| settings.listen = address);

    let finding = found(&settings, "address");

    assert_eq!(finding.state, State::Fault, "{finding:?}");
    assert!(finding.remedy.unwrap().contains(&address.port().to_string()));
}

#[test]
fn address_of_another_machine_is_a_fault() {
    let (settings, _directory) = settings(|settings| settings.listen = "192.0.2.1:80".parse().unwrap());
    assert_eq!(found(&settings, "address").state, State::Fault);
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
    crate::auth::password::SecretKey::create(&settings.store.secret_key_file()).unwrap();
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
