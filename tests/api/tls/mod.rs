//! HTTPS and WSS: what clients see of the certificate and of the encryption.

mod client;
mod early_refusals;
mod handshakes;
mod held_polls;
#[path = "held_polls.rs"]
mod held_polls_without_lane;
mod lane;
mod operating;
mod refused;
mod reload;
mod serving;

use crate::harness::certificates::Certificates;
use platform_front::config::Settings;

use crate::harness::prelude::*;

/// A server with a certificate, and the files of the certificate.
async fn serving() -> (TestServer, Certificates) {
    let certificates = Certificates::new();
    (server(&certificates).await, certificates)
}

/// A server with a certificate of these files.
async fn server(certificates: &Certificates) -> TestServer {
    server_with(certificates, |_| {}).await
}

async fn server_with(certificates: &Certificates, change: impl FnOnce(&mut Settings)) -> TestServer {
    certificates.renew();
    TestServer::start_on(&TestDatabase::create().await, |settings| {
        settings.tls.cert = Some(certificates.chain());
        settings.tls.key = Some(certificates.key());
        settings.tls.check = Duration::from_millis(20);
        change(settings);
    })
    .await
}
