//! Tests of when the files are loaded again, and a pair of connected streams for tests of connections.

use std::fs::write;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;
use tokio::net::TcpListener;
use tokio_rustls::TlsConnector;
use tokio_rustls::client;

use super::*;

fn pair() -> (String, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    (cert.pem(), signing_key.serialize_pem())
}

/// Returns files that contain a pair, and the configuration loaded from them.
fn loaded() -> (tempfile::TempDir, TlsSettings, Arc<Tls>) {
    let directory = tempfile::tempdir().expect("a directory");
    let [cert, key] = ["chain.pem", "key.pem"].map(|name| Some(directory.path().join(name)));
    let settings = TlsSettings {
        cert,
        key,
        client_certificates: ClientCertificates::Off,
        check: Duration::from_secs(5),
        handshake: Duration::from_secs(10),
    };
    let (cert, key) = pair();
    put(&settings, &cert, &key);
    let tls = Tls::load(&settings).expect("a pair that matches").expect("both are set");
    (directory, settings, tls)
}

/// Returns both ends of an encrypted connection.
pub(crate) async fn connected() -> (Box<TlsStream<Socket>>, client::TlsStream<TcpStream>) {
    let (_directory, settings, tls) = loaded();
    let own = std::fs::read(settings.cert.as_ref().expect("a file")).expect("a file");
    let mut roots = RootCertStore::empty();
    roots.add(certificates(&own).expect("a chain").remove(0)).expect("a certificate");
    let offer = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let connecting = async {
        let tcp = TcpStream::connect(address).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(offer)).connect(name, tcp).await
    };
    let accepting = async { tls.accept(listener.accept().await?.0).await };
    match tokio::try_join!(accepting, connecting).expect("a handshake") {
        (Accepted::Encrypted(server), client) => (server, client),
        (Accepted::Plain(_), _) => panic!("the client spoke TLS"),
    }
}

fn put(settings: &TlsSettings, cert: &str, key: &str) {
    write(settings.cert.as_ref().expect("a file"), cert).expect("room");
    write(settings.key.as_ref().expect("a file"), key).expect("room");
}

/// Checks the files once, and returns whether the certificate changed.
async fn renews(tls: &Tls) -> bool {
    let before = tls.config.read().clone();
    tls.check_files().await;
    !Arc::ptr_eq(&before, &tls.config.read())
}

#[tokio::test]
async fn files_that_did_not_change_are_not_loaded_again() {
    let (_directory, settings, tls) = loaded();
    let (cert, key) = (settings.cert.clone().expect("a file"), settings.key.clone().expect("a file"));

    assert!(!renews(&tls).await);
    // The same contents are written again, as a daily renewal job does.
    for file in [cert, key] {
        let same = std::fs::read(&file).expect("a file");
        write(&file, same).expect("room");
    }
    assert!(!renews(&tls).await);
}

#[tokio::test]
async fn renewed_pair_is_loaded_once() {
    let (_directory, settings, tls) = loaded();

    let (cert, key) = pair();
    put(&settings, &cert, &key);

    assert!(renews(&tls).await);
    assert!(!renews(&tls).await);
}

#[tokio::test]
async fn unusable_files_change_nothing_and_are_loaded_once_each() {
    let (_directory, settings, tls) = loaded();
    let ((old_cert, old_key), (cert, key)) = (pair(), pair());
    let half = cert[..cert.len() / 2].to_owned();
    let states = [
        (cert.clone(), old_key),
        (old_cert, key.clone()),
        (half, key.clone()),
        (cert.clone(), String::new()),
    ];

    for (cert, key) in &states {
        put(&settings, cert, key);
        let before = tls.seen.read().clone();
        assert!(!renews(&tls).await);
        assert_ne!(*tls.seen.read(), before, "the state is remembered, so it is logged once");
    }
    put(&settings, &cert, &key);
    assert!(renews(&tls).await);
}

#[tokio::test]
async fn file_that_is_missing_for_a_while_changes_nothing() {
    let (_directory, settings, tls) = loaded();
    let file = settings.cert.clone().expect("a file");
    let contents = std::fs::read(&file).expect("a file");

    std::fs::remove_file(&file).expect("a file");
    assert!(!renews(&tls).await);
    assert!(matches!(&*tls.seen.read(), Seen::Unreadable(error) if error.contains("chain.pem")));
    write(&file, contents).expect("room");

    // The same pair again causes no more than a line in the log.
    tls.check_files().await;
    assert!(matches!(&*tls.seen.read(), Seen::Contents(_)));
}

#[test]
fn fingerprint_is_written_as_other_tools_write_it() {
    assert_eq!(
        fingerprint(b""),
        "E3:B0:C4:42:98:FC:1C:14:9A:FB:F4:C8:99:6F:B9:24:27:AE:41:E4:64:9B:93:4C:A4:95:99:1B:78:52:B8:55"
    );
}
