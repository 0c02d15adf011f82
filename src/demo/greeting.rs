//! What a demo prints for people.

use std::io::{self, Write, stdout};

use super::world::TENANT;

/// What is to be said about the password of a demo.
pub(super) struct Greeting {
    pub(super) password: String,
    /// Whether nobody has seen the password yet.
    pub(super) generated: bool,
    /// Whether the server was started for the first time, so that all its users have this password.
    pub(super) has_new_server: bool,
}

impl Greeting {
    /// Prints the password of a new server, once.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if self.has_new_server {
            return Ok(());
        }
        self.has_new_server = true;
        let mut out = stdout().lock();
        writeln!(out, "\nThis is a new demo. Its users have one password{}:", self.once())?;
        for user in ["demo/admin", "management/admin", "management/devicebootstrap", "main/admin"] {
            writeln!(out, "  {user:<30} {}", self.shown())?;
        }
        out.flush()
    }

    /// Prints where to look, what to try, and that the fleet lives. The last line is for scripts that wait for it.
    pub(super) fn end(&self, base: &str, is_new: bool) -> io::Result<()> {
        let program = std::env::args().next().unwrap_or_else(|| "platform".into());
        let mut out = stdout().lock();
        writeln!(out, "\nOpen the console, and log in as {TENANT}/admin:\n  {base}/")?;
        let shown = if !self.has_new_server && is_new && self.generated {
            writeln!(out, "  password {}{}", self.password, self.once())?;
            self.shown()
        } else if !is_new && self.generated {
            writeln!(out, "  The password was printed at the first start; `--password` sets another one.")?;
            "…"
        } else {
            self.shown()
        };
        writeln!(out, "\nTry it in a second terminal: the next alarms, and a pump that restarts.")?;
        writeln!(out, "  echo \"{shown}\" | {program} login {base} --user {TENANT}/admin")?;
        writeln!(out, "  {program} alarm watch --count 3")?;
        writeln!(
            out,
            "  {program} device list -q \"name eq 'pump A01'\" -o id | {program} operation create --restart"
        )?;
        writeln!(
            out,
            "\nCtrl-C ends it. `{program} demo --remove` deletes the tenant {TENANT} with all its data.\n"
        )?;
        writeln!(out, "ready {base}")?;
        out.flush()
    }

    fn once(&self) -> &'static str {
        if self.generated { " (shown once)" } else { "" }
    }

    /// Returns the password, or that it is the chosen one, which is never printed.
    fn shown(&self) -> &str {
        if self.generated { &self.password } else { "(as chosen)" }
    }
}
