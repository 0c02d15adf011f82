//! The texts that a demo prints for people.

use std::io::{self, Write, stdout};

use super::world::TENANT;

/// The password of a demo, and what decides how it is shown.
pub(super) struct Greeting {
    pub(super) password: String,
    /// Whether the password was generated and has not been printed yet.
    pub(super) generated: bool,
    /// Whether the server was started for the first time, so that all its users have this password.
    pub(super) has_new_server: bool,
    /// The arguments of the command that deletes this demo.
    pub(super) removal: String,
}

impl Greeting {
    /// Prints the users of a new server and their password, once.
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

    /// Prints the address of the console and commands to try. Scripts can wait for the last line, which says that the
    /// fleet runs.
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
            "\nCtrl-C ends it. `{program} {}` deletes the tenant {TENANT} with all its data.\n",
            self.removal
        )?;
        writeln!(out, "ready {base}")?;
        out.flush()
    }

    fn once(&self) -> &'static str {
        if self.generated { " (shown once)" } else { "" }
    }

    /// Returns the password if it was generated. A password chosen by the user is never printed.
    fn shown(&self) -> &str {
        if self.generated { &self.password } else { "(as chosen)" }
    }
}
