//! How far a restore is, for the operator who waits.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use platform_front::terminal::say;

/// The interval of lines.
const INTERVAL: Duration = Duration::from_secs(5);
const MEGABYTE: u64 = 1_000_000;

/// Copies the dump of `bytes` to pg_restore, and says on standard error how far it is.
///
/// # Errors
/// The dump cannot be read, or pg_restore has ended.
pub(super) fn copy(mut dump: impl Read, mut input: impl Write, bytes: u64) -> io::Result<()> {
    let (mut buffer, mut copied, mut last) = (vec![0; 1 << 16], 0, Instant::now());
    say(format_args!(
        "restoring {} MB in one transaction; nothing has changed if it ends early",
        megabytes(bytes)
    ));
    loop {
        let count = dump.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        input.write_all(&buffer[..count])?;
        copied += count as u64;
        if last.elapsed() >= INTERVAL {
            say(format_args!("restored {} of {} MB", megabytes(copied), megabytes(bytes)));
            last = Instant::now();
        }
    }
    say("all data is read; PostgreSQL builds the indexes");
    Ok(())
}

/// Returns the megabytes, rounded up.
fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(MEGABYTE)
}
