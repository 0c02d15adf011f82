//! The server seen from outside, through `/proc`: its memory and the CPU time it used.
//!
//! Only the server process itself is read, never its children: a private PostgreSQL is not the server.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// A process on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pid: u32,
}

impl Process {
    /// Returns the process with this id.
    pub(crate) fn with_pid(pid: u32) -> Self {
        Self { pid }
    }

    /// Returns the generator itself.
    pub(crate) fn own() -> Self {
        Self { pid: std::process::id() }
    }

    /// Returns the process that listens on a TCP port of this machine; the oldest when several hold the
    /// socket. `None` when there is none or its files may not be read.
    pub(crate) fn listening_on(port: u16) -> Option<Self> {
        let tables =
            ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
        let sockets: HashSet<String> = tables
            .iter()
            .flat_map(|table| listening_inodes(table, port))
            .map(|inode| format!("socket:[{inode}]"))
            .collect();
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| holds_one_of(*pid, &sockets)).min().map(Self::with_pid)
    }

    /// Returns the proportional set size in bytes: private memory plus the process's share of shared memory.
    pub(crate) fn memory(self) -> Option<u64> {
        parse_pss(&fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid)).ok()?)
    }

    /// Returns how many files and sockets it has open.
    pub(crate) fn open_files(self) -> Option<u64> {
        Some(fs::read_dir(format!("/proc/{}/fd", self.pid)).ok()?.count() as u64)
    }

    /// Returns the processes of PostgreSQL that these started, directly or not.
    pub(crate) fn postgres_below(roots: &[Self]) -> Vec<Self> {
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let stat = |pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")).ok();
        let children: Vec<(u32, u32)> = pids
            .filter_map(|pid| {
                Some((pid, parse_parent(&stat(pid).filter(|stat| stat.contains("(postgres)"))?)?))
            })
            .collect();
        let mut found: Vec<u32> = roots.iter().map(|process| process.pid).collect();
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            found.extend(children.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| pid));
            next += 1;
        }
        found.split_off(roots.len()).into_iter().map(Self::with_pid).collect()
    }

    /// Returns the CPU seconds used so far, user and system.
    pub(crate) fn cpu_seconds(self) -> Option<f64> {
        let ticks = parse_cpu_ticks(&fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?)?;
        Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }
}

fn holds_one_of(pid: u32, sockets: &HashSet<String>) -> bool {
    let Ok(files) = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")) else { return false };
    let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|link| link.to_str().is_some_and(|link| sockets.contains(link)))
}

/// Returns the inodes of the sockets in state LISTEN (0A) on a port, from `/proc/net/tcp`.
fn listening_inodes(table: &str, port: u16) -> impl Iterator<Item = &str> {
    let suffix = format!(":{port:04X}");
    table.lines().skip(1).filter_map(move |line| {
        let mut columns = line.split_ascii_whitespace();
        let local = columns.nth(1)?;
        let state = columns.nth(1)?;
        (local.ends_with(&suffix) && state == "0A").then(|| columns.nth(5))?
    })
}

fn parse_pss(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Returns the sum of fields 14 and 15 (utime, stime), counted after the command name, which may contain
/// blanks.
fn parse_cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(") ")?.1.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// Returns field 4, the parent, counted after the command name, which may contain blanks.
pub(crate) fn parse_parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(") ")?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listener_is_found_by_port_and_state() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 x\n\
             1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 x\n\
             2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 x\n";
        assert_eq!(listening_inodes(table, 8080).collect::<Vec<_>>(), ["4711"]);
    }

    #[test]
    fn memory_is_the_pss_line() {
        assert_eq!(parse_pss("Rss:  9 kB\nPss:       120 kB\nPss_Dirty: 1 kB\n"), Some(120 * 1024));
    }

    #[test]
    fn cpu_is_user_plus_system_also_when_the_name_has_blanks() {
        let stat = "7 (a) b c) S 1 7 7 0 -1 4194304 1 0 0 0 250 50 0 0 20 0 1 0 1 1";
        assert_eq!(parse_cpu_ticks(stat), Some(300));
    }

    #[test]
    fn own_listener_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let process = Process::listening_on(listener.local_addr().unwrap().port()).unwrap();
        assert_eq!(process.pid, std::process::id());
        assert!(process.memory().unwrap() > 0);
        assert!(process.cpu_seconds().is_some() && process.open_files() > Some(2));
        assert_eq!(Process::postgres_below(&[process]), []);
    }

    #[test]
    fn parent_is_found_behind_a_name_with_blanks() {
        assert_eq!(parse_parent("7 (a) b c) S 41 7 7 0 -1"), Some(41));
        assert_eq!(parse_parent("nonsense"), None);
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        assert_eq!(parse_parent(&own), Some(std::os::unix::process::parent_id()));
    }
}
