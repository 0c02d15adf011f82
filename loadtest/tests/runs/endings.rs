//! Runs that end early: by a signal in a phase or while devices are registered, by SIGKILL, or because the server is
//! gone. That one mostly waits, and it starts before the tests of the file above, because names decide about the order.

use platform_test_harness::{Caller, TestServer, eventually};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

use super::{FLEET, Outcome, PHASE, Scenario, Worker, devices, has_alarms, loadtest};

fn send(signal: Signal, running: &Child) {
    let process = Pid::from_raw(running.id().expect("it runs").cast_signed()).expect("a process");
    kill_process(process, signal).expect("it runs");
}

/// Returns the number of users of devices that runs create.
async fn users(admin: &Caller) -> usize {
    let list = admin.read("/user/main/users?username=device_loadtest&onlyDevices=true&pageSize=100").await;
    list["users"].as_array().expect("a list").len()
}

#[tokio::test]
async fn interrupted_run_reports_its_figures_and_removes_its_devices() {
    let server = TestServer::start().await;
    let before = devices(&server.admin()).await;
    let (_workers, addresses) = Worker::start_two().await;
    let scenario = Scenario::new(&["name = \"Fleet\"\n", FLEET, &PHASE.replace("2s", "60s")]);
    let junit = scenario.file().with_extension("xml");
    for (signal, more) in [(Signal::INT, vec![]), (Signal::TERM, vec!["--workers", addresses.as_str()])] {
        let mut command = scenario.command(server.base());
        let running = command.arg("--junit").arg(&junit).args(more).spawn().expect("the program starts");
        eventually("posts", async || has_alarms(&server.admin()).await.then_some(())).await;

        send(signal, &running);

        let outcome = Outcome::of(running.wait_with_output().await.expect("it ends"));
        outcome.expect(2, &["Phase steady", "lost silently 0", "ended early: interrupted"]);
        // 14 devices with as many users, and two template sets.
        outcome.expect(2, &["interrupted; 30 devices, users or tenants removed, 0 could not be removed"]);
        assert_eq!(devices(&server.admin()).await, before);
        let junit = std::fs::read_to_string(&junit).expect("the result is written");
        assert!(junit.contains("<error>ended early: interrupted</error>"), "{junit}");
    }
}

#[tokio::test]
async fn run_interrupted_while_devices_are_registered_leaves_nothing() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let before = devices(&admin).await;
    let fleet = FLEET.replace("count = 12", "count = 1000");
    let scenario = Scenario::new(&["name = \"Fleet\"\n", &fleet, PHASE]);
    let running = scenario.command(server.base()).spawn().expect("the program starts");
    eventually("devices", async || (devices(&admin).await > before).then_some(())).await;

    send(Signal::TERM, &running);

    let outcome = Outcome::of(running.wait_with_output().await.expect("it ends"));
    outcome.expect(2, &["interrupted; ", "0 could not be removed"]);
    assert!(!outcome.text.contains("interrupted; 0 "), "{}", outcome.text);
    assert_eq!((devices(&admin).await, users(&admin).await), (before, 0), "{}", outcome.text);
}

#[tokio::test]
async fn killed_run_is_cleaned_up_by_a_command() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let before = devices(&admin).await;
    let scenario = Scenario::new(&["name = \"Fleet\"\n", FLEET, &PHASE.replace("2s", "60s")]);
    let running = scenario.command(server.base()).spawn().expect("the program starts");
    eventually("posts", async || has_alarms(&server.admin()).await.then_some(())).await;
    send(Signal::KILL, &running);
    running.wait_with_output().await.expect("it ends");

    let clean = async |more: &[&str]| {
        let mut command = loadtest();
        let output = command.args(["clean", "--url", server.base()]).args(more).output().await;
        Outcome::of(output.expect("the program runs"))
    };
    // Two of them are template sets.
    clean(&["--yes"]).await.expect(0, &["0 objects and 0 users"]);
    clean(&["--older-than", "0"]).await.expect(0, &["16 objects and 14 users", "--yes removes them"]);
    assert_eq!(users(&admin).await, 14);
    clean(&["--older-than", "0", "--yes"])
        .await
        .expect(0, &["16 objects and 14 users", "0 could not be removed"]);
    assert_eq!((devices(&admin).await, users(&admin).await), (before, 0));
}

#[tokio::test]
async fn run_whose_server_is_gone_reports_the_figures_until_then() {
    let server = TestServer::start().await;
    let scenario = Scenario::new(&["name = \"Fleet\"\n", FLEET, &PHASE.replace("2s", "60s")]);
    let files = ["json", "junit", "report"].map(|name| scenario.directory.path().join(name));
    let mut command = scenario.command(server.base());
    for (flag, file) in ["--json", "--junit", "--report"].into_iter().zip(&files) {
        command.arg(flag).arg(file);
    }
    let running = command.spawn().expect("the program starts");
    eventually("posts", async || has_alarms(&server.admin()).await.then_some(())).await;

    server.stop().await;

    let outcome = Outcome::of(running.wait_with_output().await.expect("it ends"));
    outcome.expect(2, &["Phase steady", "lost silently", "ended early: 127.0.0.1:", "accepts no connection"]);
    outcome.expect(2, &["the stored data could not be read back"]);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the result is written");
        assert!(text.contains("steady") && !text.contains("inf\""), "{}: {text}", file.display());
    }
}
