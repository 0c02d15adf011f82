//! The limit of open files of this process. Each connection is an open file.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of this process to its hard limit, and returns how many files it may open then; `None` is
/// without a limit. The usual soft limit of 1024 is there for programs that call `select`, which cannot handle more.
pub(crate) fn raise_limit() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // Some systems refuse an unlimited soft limit.
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).map_or(current, |()| maximum)
}
