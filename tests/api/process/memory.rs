//! Memory stays bounded beside clients that do not read.

use super::*;

const ADMIN: Option<(&str, &str)> = Some(("admin", "admin-secret"));
/// The number of sockets whose client does not read.
const SLOW: usize = 20;
/// The number of alarms, each of 60 kB.
const ALARMS: usize = 300;

/// Returns the resident memory of a process in kB; `None` where the system does not report it.
fn resident(program: &Program) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.pid())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[tokio::test]
async fn clients_that_do_not_read_cost_no_memory_of_their_own() {
    let directory = scratch_with_data();
    let mut command = Program::command(directory.path(), &["--session-queue-bytes", "1000000"]);
    command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
    let program = Program::serve_with(command);
    let admin = Caller::new(program.base(), ADMIN);
    let device = admin.create_device("pump").await;
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        slow.push(Socket::listen(&admin, "/alarms/*").await);
    }
    let before = resident(&program);

    for n in 0..ALARMS {
        let mut alarm = alarm_of(&device, &format!("type {n}"));
        alarm["text"] = json!("x".repeat(60_000));
        admin.create("/alarm/alarms", &alarm).await;
    }

    let (Some(before), Some(after)) = (before, resident(&program)) else { return };
    let grown = after.saturating_sub(before);
    // If each queue had its own copy of all notifications, they would take 360 MB.
    assert!(grown < 80_000, "{grown} kB for {SLOW} clients");
    for (_, client) in &slow {
        assert!(!admin.resume(client).is_known().await, "its session ended");
    }
}
