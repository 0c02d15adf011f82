//! The warning about more connections than the database accepts.

use rustix::process::Signal;
use tempfile::TempDir;

use super::*;

const WARNING: &str = "the servers may open more connections than the database accepts";

/// Starts a server with many connections; the test database accepts only two such servers.
fn start(database: &TestDatabase, directory: &TempDir) -> Program {
    let mut command = Program::command_on(database, directory.path());
    command.env("PLATFORM_READ_CONNECTIONS", "150");
    Program::serve_with(command)
}

#[tokio::test]
async fn server_warns_of_too_many_connections_and_does_not_count_those_that_have_ended() {
    let (database, directories) = (TestDatabase::create().await, [(); 4].map(|()| scratch()));
    let mut killed = start(&database, &directories[0]);
    let second = start(&database, &directories[1]);
    killed.signal(Signal::KILL);
    killed.ended_within(Duration::from_secs(10)).await;
    let third = start(&database, &directories[2]);
    for server in [&killed, &second, &third] {
        assert!(!server.log().contains(WARNING), "{}", server.log());
    }

    let one_too_many = start(&database, &directories[3]);
    one_too_many.line_with(WARNING).await;
}
