//! Log lines and metrics about TLS.

use std::sync::Arc;

use rustix::process::Signal;

use super::*;
use crate::harness::certificates::Certificates;

fn command(database: &Arc<TestDatabase>, variables: &[(&str, &str)]) -> std::process::Command {
    let mut command = Program::command_on(database, database.data_dir());
    command.envs(variables.iter().copied());
    command
}

const EXPOSED: &str = "plain http on a network";

#[tokio::test]
async fn ready_line_and_certificate_are_printed() {
    let certificates = Certificates::new();
    certificates.renew();
    let (chain, key) = (certificates.chain(), certificates.key());
    let database = TestDatabase::create().await;
    let files = [("PLATFORM_TLS_CERT", chain.to_str().unwrap()), ("PLATFORM_TLS_KEY", key.to_str().unwrap())];

    let program = Program::serve_with(command(&database, &files));

    assert!(program.base().starts_with("https://127.0.0.1:"), "{:?}", program.printed);
    assert!(program.printed[0].ends_with(program.base()), "{:?}", program.printed);
    let line = program.line_with("tls certificate loaded").await;
    assert!(line.contains("certificate.sha256"), "{line}");
}

#[tokio::test]
async fn listening_to_a_network_in_clear_is_said_loudly() {
    let database = TestDatabase::create().await;

    let program = Program::serve_with(command(&database, &[("PLATFORM_LISTEN", "0.0.0.0:0")]));

    let line = program.line_with(EXPOSED).await;
    for part in ["WARN", "--tls-cert", "--trusted-proxies", "0.0.0.0:0"] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
}

#[tokio::test]
async fn loopback_and_trusted_proxies_are_not_an_exposure() {
    let database = TestDatabase::create().await;
    for variables in [
        &[][..],
        &[("PLATFORM_LISTEN", "[::1]:0")],
        &[("PLATFORM_LISTEN", "0.0.0.0:0"), ("PLATFORM_TRUSTED_PROXIES", "10.0.0.0/8")],
    ] {
        let program = Program::serve_with(command(&database, variables));
        program.signal(Signal::TERM);
        // The lines that were logged before this one have been read.
        program.line_with("stopping").await;
        assert!(!program.log().contains(EXPOSED), "{variables:?}: {}", program.log());
    }
}
