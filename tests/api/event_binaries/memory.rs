//! Memory use does not grow with the size of a file.

use super::*;

/// Bytes of the file.
const LENGTH: usize = 50 << 20;
/// Bytes of a chunk.
const CHUNK: usize = 5 << 20;

#[tokio::test]
async fn file_of_50_megabytes_costs_a_fraction_of_its_length_whole_and_in_chunks() {
    let directory = scratch_with_data();
    let mut command = Program::command(directory.path(), &[]);
    command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
    let program = Program::serve_with(command);
    let admin = Caller::new(program.base(), Some(("admin", "admin-secret")));
    let device = admin.create_device("door").await;
    let path = format!("{}/binaries", path_of(&admin.create_event(&device, "whole").await));
    let in_chunks = format!("{}/binaries", path_of(&admin.create_event(&device, "in chunks").await));
    let content = bytes(LENGTH);
    assert_eq!(send(&admin, "POST", &path, "x").await.status, 201);
    let before = program.peak_memory();

    assert_eq!(send(&admin, "PUT", &path, content.clone()).await.status, 201);
    assert!(download(&admin, &path).await == content);
    for (n, part) in content.chunks(CHUNK).enumerate() {
        let total = if n + 1 == LENGTH / CHUNK { LENGTH.to_string() } else { "*".into() };
        let range = format!("bytes {}-{}/{total}", n * CHUNK, (n + 1) * CHUNK - 1);
        let answer = chunk(&admin, &in_chunks, &range, part).await;
        assert_eq!(answer.status, if total == "*" { 200 } else { 201 }, "{}", answer.text);
    }
    assert!(download(&admin, &in_chunks).await == content);

    let (Some(before), Some(after)) = (before, program.peak_memory()) else { return };
    let grown = after.saturating_sub(before);
    assert!(grown < 16_000, "{grown} kB");
}
