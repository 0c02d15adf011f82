//! A renewed certificate is served without a restart.

use std::fs::write;

use super::client::{Encrypted, admin};
use super::*;

#[tokio::test]
async fn renewed_certificate_is_served_while_a_held_poll_continues() {
    let (server, certificates) = serving().await;
    let admin = admin(&server, &certificates).await;
    let device = admin.create_device("pump").await;
    let session = admin.listen("/alarms/*").await;
    let held = session.hold().await;
    let before = Encrypted::open(&server, &certificates).await.certificate();

    let renewed = certificates.renew();

    assert_ne!(before, renewed);
    until("the renewed certificate", async || {
        Encrypted::open(&server, &certificates).await.certificate() == renewed
    })
    .await;
    admin.raise_alarm(&device, "hot").await;
    assert_eq!(notifications(&held.answer().await).len(), 1);
}

#[tokio::test]
async fn connections_succeed_at_every_moment_of_a_renewal() {
    let (server, certificates) = serving().await;
    let before = Encrypted::open(&server, &certificates).await.certificate();
    let fresh = certificates.fresh();

    // The files are half a file, then a pair that does not match, then no key.
    let half = &fresh.chain[..fresh.chain.len() / 3];
    let key = std::fs::read_to_string(certificates.key()).unwrap();
    for (chain, key) in [(half, &*key), (&fresh.chain, &key), (&fresh.chain, "")] {
        write(certificates.chain(), chain).unwrap();
        write(certificates.key(), key).unwrap();
        for _ in 0..10 {
            assert_eq!(Encrypted::open(&server, &certificates).await.certificate(), before);
        }
    }
    write(certificates.key(), &fresh.key).unwrap();

    until("the renewed certificate", async || {
        let served = Encrypted::open(&server, &certificates).await.certificate();
        assert!(served == before || served == fresh.certificate);
        served == fresh.certificate
    })
    .await;
}
