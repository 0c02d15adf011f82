//! Memory use does not grow with the size of a file.

use super::*;

/// Bytes of the file.
const LENGTH: usize = 50 << 20;

#[tokio::test]
async fn file_of_50_megabytes_costs_a_fraction_of_its_length() {
    let directory = scratch_with_data();
    let mut command = Program::command(directory.path(), &[]);
    command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
    let program = Program::serve_with(command);
    let admin = Caller::new(program.base(), Some(("admin", "admin-secret")));
    let content = bytes(LENGTH);
    upload(&admin, &named("small"), b"x").await;
    let before = program.peak_memory();

    let object = upload(&admin, &named("large"), &content).await;
    let read = download(&admin, &content_of(&object)).await;

    assert!(read == content);
    let (Some(before), Some(after)) = (before, program.peak_memory()) else { return };
    let grown = after.saturating_sub(before);
    assert!(grown < 16_000, "{grown} kB");
}
