//! The end of a command beside running servers: what it changed is in force when it returns.

use std::io::{self, Write};

use platform_store::Database;

/// Waits until every living server has applied what this command announced, and warns of those that have not. A command
/// that changed nothing that servers remember has announced nothing, and does not wait.
pub async fn wait_if_announced(database: &Database) {
    if database.bus().has_announced() {
        wait(database).await;
    }
}

/// Waits until every living server has applied what this command changed, and warns of those that have not.
pub(crate) async fn wait(database: &Database) {
    let warning = match database.wait_until_applied().await {
        Ok(missing) if missing.is_empty() => return,
        Ok(missing) => {
            let servers: Vec<_> =
                missing.iter().map(|(slot, name)| format!("{name} (slot {slot})")).collect();
            format!(
                "these servers do not respond and may not have applied the change yet: {}",
                servers.join(", ")
            )
        }
        Err(error) => format!("it is unknown whether the running servers have applied the change: {error}"),
    };
    // The change itself succeeded, so nothing is left to do if nobody reads this.
    writeln!(io::stderr(), "warning: the change is stored, but {warning}").ok();
}
