//! Reads the log of requests: `… platform::requests: request id="…" method=POST path="/alarm/alarms" status=201 … user=
//! "main/device_1" …`, as text or as JSON. Only time, method, path and user of a line are used.

use std::collections::BTreeSet;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Counts, KINDS, REQUESTS};

/// The beginning of the names of the users of devices.
const DEVICE: &str = "device_";
/// The words of the line that says that lines were left out.
const LEFT_OUT: &str = "log lines were omitted";

/// The requests of a tenant.
#[derive(Debug)]
pub(super) struct Log {
    /// The beginning of the names of the users of the tenant.
    users: String,
    /// The seconds since 1970 and the number of the kind of each request.
    requests: Vec<(f64, usize)>,
    devices: BTreeSet<String>,
    is_partial: bool,
}

impl Log {
    pub(super) fn new(tenant: &str) -> Self {
        let users = format!("{tenant}/");
        Self { users, requests: Vec::new(), devices: BTreeSet::new(), is_partial: false }
    }

    /// Adds the lines of a file. Other lines are skipped.
    pub(super) fn add(&mut self, text: &str) {
        for line in text.lines() {
            self.is_partial |= line.contains(LEFT_OUT);
            self.add_line(line);
        }
    }

    fn add_line(&mut self, line: &str) -> Option<()> {
        let user = value(line, "user")?;
        let name = user.strip_prefix(&self.users)?;
        let (method, path) = (value(line, "method")?, value(line, "path")?);
        if let Some(device) = name.strip_prefix(DEVICE) {
            self.devices.insert(device.to_owned());
        }
        let kind = REQUESTS.iter().position(|(_, of, at, _)| *of == method && *at == path)?;
        self.requests.push((time_of(line)?, kind));
        Some(())
    }

    /// Returns the number of different devices.
    pub(super) fn devices(&self) -> usize {
        self.devices.len()
    }

    /// Returns whether the log says that it left lines out.
    pub(super) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Returns the requests in equal parts of the time from the first to the last one, and the seconds of a part;
    /// `None`
    /// without any requests.
    pub(super) fn parts(&self, count: usize) -> Option<(Vec<Counts>, f64)> {
        let times = || self.requests.iter().map(|(time, _)| *time);
        let (first, last) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
        let seconds = ((last - first) / count as f64).max(1.0);
        let mut parts = vec![[0; KINDS]; count];
        for (time, kind) in &self.requests {
            let part = ((time - first) / seconds) as usize;
            parts[part.min(count - 1)][*kind] += 1;
        }
        Some((parts, seconds))
    }
}

/// Returns the value of a field of a line, in either form of the log.
fn value<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let text = line.split_once(&format!(" {name}=")).map(|(_, rest)| rest);
    let json = || line.split_once(&format!("\"{name}\":")).map(|(_, rest)| rest.trim_start());
    let rest = text.or_else(json)?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split([' ', ',', '}']).next(),
    }
}

/// Returns the time of a line in seconds since 1970.
fn time_of(line: &str) -> Option<f64> {
    let text = value(line, "timestamp").or_else(|| line.split_whitespace().next())?;
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    Some(time.unix_timestamp_nanos() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(second: u32, method: &str, path: &str, user: &str) -> String {
        format!(
            "2026-11-27T10:00:{second:02}.250000Z  INFO platform::requests: request id=\"a1\" method={method} \
             path=\"{path}\" status=201 took=1.2ms user=\"{user}\" client=127.0.0.1\n"
        )
    }

    #[test]
    fn requests_of_the_tenant_are_counted_by_kind_and_time() {
        let mut log = Log::new("main");
        for second in [0, 1, 2, 30, 59] {
            log.add(&line(second, "POST", "/alarm/alarms", "main/device_1"));
        }
        log.add(&line(40, "GET", "/event/events", "main/anna"));
        // Another tenant, another path, and a line that is none of a request.
        log.add(&line(41, "POST", "/alarm/alarms", "other/device_2"));
        log.add(&line(42, "POST", "/user/main/users", "main/anna"));
        log.add("2026-11-27T10:00:00Z  WARN platform: log lines were omitted, because … left_out=7\n");
        let json = r#"{"timestamp":"2026-11-27T10:00:45Z","target":"platform::requests","fields":{"method":"POST","path":"/event/events","user":"main/device_3"}}"#;
        log.add(json);
        let (parts, seconds) = log.parts(2).unwrap();
        assert_eq!(parts, [[3, 0, 0, 0, 0, 0], [2, 1, 0, 0, 1, 0]]);
        assert!((seconds - 29.5).abs() < 1e-6, "{seconds}");
        assert_eq!((log.devices(), log.is_partial()), (2, true));
        assert_eq!(Log::new("main").parts(2), None);
    }

    #[test]
    fn lines_that_are_cut_or_alien_are_skipped() {
        let mut log = Log::new("main");
        let whole = line(1, "POST", "/alarm/alarms", "main/device_1");
        (0..whole.len()).filter(|end| whole.is_char_boundary(*end)).for_each(|end| log.add(&whole[..end]));
        assert!(log.requests.len() <= 30, "only the lines with a whole user count: {}", log.requests.len());
        log.add("\u{0}\u{fffd} user=\"main/\" method= path= \"\n\n{}");
    }
}
