//! The real binary on a disk with fewer free bytes than `--least-free-bytes`.

use super::*;

/// Starts a server that must leave this many bytes free on the disk of a data directory.
fn leaving_free(directory: &std::path::Path, bytes: &str) -> Program {
    let mut command = Program::command(directory, &["--least-free-bytes", bytes]);
    command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
    Program::serve_with(command)
}

#[tokio::test]
async fn program_refuses_writes_on_a_full_disk_and_says_so_and_takes_them_again_with_room() {
    let directory = scratch_with_data();
    let reserve = directory.path().join("data/reserve");
    let of = |program: &Program| Caller::new(program.base(), Some(("admin", "admin-secret")));
    let link = {
        let mut program = leaving_free(directory.path(), "4194304");
        let created = of(&program).create(OBJECTS, &json!({"name": "pump"})).await;
        assert_eq!(std::fs::metadata(&reserve).unwrap().len(), 1 << 20, "a quarter lies ready");
        let metrics = of(&program).get("/metrics").await.text;
        assert!(metrics.lines().any(|line| line.starts_with("platform_disk_free_bytes ")), "{metrics}");
        program.signal(rustix::process::Signal::TERM);
        program.ended_within(std::time::Duration::from_secs(25)).await;
        created["self"].as_str().unwrap().split_once("/inventory").unwrap().1.to_owned()
    };
    let link = format!("/inventory{link}");

    // This is more than any disk has.
    let mut program = leaving_free(directory.path(), "1152921504606846976");
    let admin = of(&program);
    until("a refusal", async || admin.post(OBJECTS, &json!({"name": "motor"})).await.status == 503).await;
    assert_eq!(admin.read(&link).await["name"], "pump");
    assert_eq!(admin.delete(&link).await.status, 204);
    assert_eq!(admin.read("/health/ready").await["writes"], "REFUSED");
    assert!(admin.get("/metrics").await.text.contains("\nplatform_disk_writes_refused 1\n"));
    program.line_with("the disk of the data directory is nearly full").await;
    assert!(!reserve.exists(), "it was given away");
    program.signal(rustix::process::Signal::TERM);
    program.ended_within(std::time::Duration::from_secs(25)).await;

    let program = leaving_free(directory.path(), "0");
    of(&program).create(OBJECTS, &json!({"name": "motor"})).await;
    assert!(!reserve.exists());
}
