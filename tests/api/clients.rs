//! Unmodified third-party Bayeux clients against the real server; see tests/clients/README.md.
//!
//! The suite is a program for Node. Where Node or npm is missing, this test prints that and passes, unless
//! `PLATFORM_CLIENT_SUITE=required` is set, as in CI.

use std::path::Path;
use std::process::Command;

use crate::harness::prelude::*;
use crate::harness::{node, python};

const PYTHON_PACKAGES: &str = include_str!("../clients/requirements.txt");

#[test]
fn unmodified_clients_receive_everything_once() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    if let Err(missing) = node::find_node().and_then(|()| node::install_packages(&suite)) {
        assert!(!other_programs_are_required(), "the client suite cannot run: {missing}");
        eprintln!("SKIPPED the suite of third-party clients: {missing}");
        return;
    }
    let mut command = Command::new("node");
    command.arg(suite.join("run.mjs")).args(["--server", env!("CARGO_BIN_EXE_platform")]);
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aiocometd");
    match python::install_packages(&environment, PYTHON_PACKAGES) {
        Ok(programs) => drop(command.arg("--python").arg(programs.join("python"))),
        Err(missing) => {
            assert!(!other_programs_are_required(), "aiocometd cannot run: {missing}");
            eprintln!("SKIPPED aiocometd in the suite of third-party clients: {missing}");
        }
    }
    // The suite writes to the terminal directly, because its output should be visible while it runs for minutes.
    let status = command.status().expect("node was found a moment ago");
    assert!(status.success(), "the client suite failed ({status}); its table stands above");
}

#[tokio::test]
async fn default_client_of_java_keeps_its_connections() {
    if Command::new("javac").arg("-version").output().is_err() {
        assert!(!other_programs_are_required(), "no Java development kit is installed");
        eprintln!("SKIPPED the HTTP client of Java: no Java development kit is installed");
        return;
    }
    let (server, _admin, device) = TestServer::start().await.with_device("pump").await;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/java/Requests.java");
    let mut command = Command::new("java");
    // The compiler of a single file and a small heap start quickly.
    command.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xmx64m"]).arg(program);
    command.args([server.base(), ADMIN_PASSWORD, &device, "300"]);

    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();

    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", told(&output.stdout), told(&output.stderr));
}
