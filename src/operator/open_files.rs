//! The limit of open files of this process. Each connection is an open file.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of this process to its hard limit and returns the new number of allowed open files; `None`
/// means unlimited. The usual soft limit of 1024 protects programs that call `select`, which cannot handle more.
pub fn raise_limit() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // Some systems reject an unlimited soft limit.
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).map_or(current, |()| maximum)
}
