//! TLS settings with which the server does not start, and their error messages.

use std::fs::{create_dir, write};
use std::path::PathBuf;

use super::*;
use crate::harness::certificates::Certificates;

#[tokio::test]
async fn start_is_refused_with_the_file_and_what_is_wrong() {
    let certificates = Certificates::new();
    certificates.renew();
    let database = TestDatabase::create().await;
    let other = certificates.fresh();
    let directory = certificates.chain().parent().unwrap().to_owned();
    let file = |name: &str, contents: &str| {
        let path = directory.join(name);
        write(&path, contents).unwrap();
        path
    };
    create_dir(directory.join("folder")).unwrap();
    let (chain, key) = (certificates.chain(), certificates.key());
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let odd_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let odd_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let cut = other.chain.split_at(other.chain.len() / 4).0;

    let cases: [(Option<PathBuf>, Option<PathBuf>, &[&str]); 16] = [
        (Some(chain.clone()), None, &["--tls-cert needs --tls-key"]),
        (None, Some(key.clone()), &["--tls-key needs --tls-cert"]),
        (
            Some(directory.join("absent.pem")),
            Some(key.clone()),
            &["--tls-cert", "absent.pem", "cannot be read"],
        ),
        (
            Some(chain.clone()),
            Some(directory.join("absent.pem")),
            &["--tls-key", "absent.pem", "cannot be read"],
        ),
        (
            Some(directory.join("folder")),
            Some(key.clone()),
            &["--tls-cert", "folder", "is not a regular file"],
        ),
        (Some(file("empty.pem", "")), Some(key.clone()), &["--tls-cert", "empty.pem", "is empty"]),
        (Some(chain.clone()), Some(file("empty.pem", "")), &["--tls-key", "empty.pem", "is empty"]),
        (
            Some(file("text.pem", "hello\n")),
            Some(key.clone()),
            &["text.pem", "contains no certificate in PEM"],
        ),
        (Some(key.clone()), Some(key.clone()), &["--tls-cert", "key.pem", "contains no certificate in PEM"]),
        (
            Some(chain.clone()),
            Some(chain.clone()),
            &["--tls-key", "chain.pem", "contains no private key in PEM"],
        ),
        (Some(chain.clone()), Some(file("sealed.pem", encrypted)), &["sealed.pem", "encrypted"]),
        (Some(chain.clone()), Some(file("odd.pem", odd_key)), &["--tls-key", "odd.pem", "cannot be used"]),
        (
            Some(file("odd2.pem", odd_certificate)),
            Some(key.clone()),
            &["--tls-cert", "odd2.pem", "cannot be used"],
        ),
        (Some(file("cut.pem", cut)), Some(key.clone()), &["--tls-cert", "cut.pem", "END line is missing"]),
        (
            Some(chain.clone()),
            Some(file("other.pem", &other.key)),
            &["--tls-key", "other.pem", "does not belong"],
        ),
        (Some(file("huge.pem", &"x".repeat(2 << 20))), Some(key.clone()), &["huge.pem", "is larger than"]),
    ];
    for (cert, key, parts) in cases {
        let started = TestServer::try_start_on(&database, |settings| {
            (settings.tls.cert, settings.tls.key) = (cert.clone(), key.clone());
        });
        let said = started.err().unwrap_or_else(|| panic!("{cert:?} and {key:?} were taken"));

        for part in parts {
            assert!(said.contains(part), "{part:?} is not in {said:?}");
        }
        assert_eq!(said.lines().count(), 1, "{said}");
        let secret = other.key.lines().nth(1).unwrap();
        assert!(!said.contains(secret) && !said.contains("AAAA"), "{said}");
    }
}

#[tokio::test]
async fn certificate_and_key_may_stand_in_one_file() {
    let certificates = Certificates::new();
    let fresh = certificates.fresh();
    write(certificates.chain(), format!("{}{}", fresh.key, fresh.chain)).unwrap();
    let database = TestDatabase::create().await;

    let started = TestServer::try_start_on(&database, |settings| {
        (settings.tls.cert, settings.tls.key) = (Some(certificates.chain()), Some(certificates.chain()));
    });

    assert!(started.is_ok(), "{:?}", started.err());
}
