//! Requests that schemathesis generates from the API reference: no response of the real server has a 5xx status, a
//! status or media type that the reference does not name, or a body that violates its schema.
//!
//! The suite is a program for Python. Where Python or its module `venv` is missing, this test prints that and passes,
//! unless `PLATFORM_CLIENT_SUITE=required` is set, as in CI.
//!
//! The requests are the same in each run, so that CI fails because of a change and not by chance. With
//! `PLATFORM_FUZZ_SECONDS` each run makes requests at random for so long.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::prelude::*;
use crate::harness::python;

/// The file with exceptions from the default checks.
const CONFIGURATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schemathesis/schemathesis.toml");
const REQUIREMENTS: &str = include_str!("../schemathesis/requirements.txt");
const PASSWORD: &str = "admin-secret";

/// The checks of each response.
const CHECKS: &str =
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

/// A run over some operations.
struct Run {
    user: &'static str,
    /// The arguments that select the operations.
    operations: &'static [&'static str],
    /// The time after which no further examples are generated. The cases that follow from the reference are all tried.
    seconds: u32,
}

const ONE_OPERATION: [&str; 4] =
    ["--include-operation-id", "updateCurrentUser", "--phases", "examples,coverage,fuzzing"];

const RUNS: [Run; 3] = [
    Run { user: "main/admin", operations: &["--exclude-operation-id", "updateCurrentUser"], seconds: 35 },
    // Only this tenant may create, change and delete tenants.
    Run { user: "management/admin", operations: &["--include-tag", "Tenants"], seconds: 10 },
    // This run is the last, because it changes the password of the user. No link leads to its operation, so the phases
    // are named.
    Run { user: "main/admin", operations: &ONE_OPERATION, seconds: 5 },
];

#[test]
fn requests_made_from_the_reference_get_what_it_says() {
    let suite = match install() {
        Ok(suite) => suite,
        Err(missing) => {
            assert!(!other_programs_are_required(), "schemathesis cannot run: {missing}");
            eprintln!("SKIPPED schemathesis: {missing}");
            return;
        }
    };
    let directory = scratch_with_data();
    let mut command = Program::command(directory.path(), &[]);
    command.env("PLATFORM_ADMIN_PASSWORD", PASSWORD);
    let server = Program::serve_with(command);

    for run in RUNS {
        run.go(&suite, &server, directory.path());
    }

    let log = server.log();
    assert!(!log.contains("panicked"), "the server panicked:\n{log}");
}

impl Run {
    fn go(&self, suite: &Path, server: &Program, directory: &Path) {
        let mut command = Command::new(suite);
        command.args(["--config-file", CONFIGURATION]);
        command.arg("run").arg(format!("{}/openapi.json", server.base()));
        command.args(["--auth", &format!("{}:{PASSWORD}", self.user), "--checks", CHECKS]);
        match std::env::var("PLATFORM_FUZZ_SECONDS") {
            Ok(seconds) => command.args(["--max-time", &seconds, "--max-examples", "1000"]),
            Err(_) => command
                .args(["--max-time", &self.seconds.to_string(), "--max-examples", "15"])
                .arg("--generation-deterministic"),
        };
        command.args(["--workers", "1", "--request-timeout", "30", "--warnings", "off"]);
        command.args(["--continue-on-failure", "--no-shrink"]);
        // The suite writes to the terminal directly, because its output should be visible while it runs for a minute.
        let status = command.args(self.operations).current_dir(directory).status();
        let status = status.expect("it was installed a moment ago");
        assert!(
            status.success(),
            "schemathesis failed ({status}) as {}; what it found stands above",
            self.user
        );
    }
}

/// Installs schemathesis, unless it is installed already. Returns the program.
fn install() -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schemathesis");
    Ok(python::install_packages(&directory, REQUIREMENTS)?.join("schemathesis"))
}
