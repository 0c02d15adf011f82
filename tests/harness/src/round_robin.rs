//! Two servers of one test behind a balancer without sticky sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::postgres::TestDatabase;

/// Servers that are used in turn, as by a balancer without sticky sessions.
#[derive(Debug)]
pub(super) struct RoundRobin {
    bases: Vec<String>,
    next: AtomicUsize,
    /// The database of several servers.
    common: Option<Arc<TestDatabase>>,
}

impl RoundRobin {
    /// `base` is scheme and authority of the only server.
    pub(super) fn only(base: &str) -> Arc<Self> {
        Arc::new(Self { bases: vec![base.to_owned()], next: AtomicUsize::new(0), common: None })
    }

    /// `bases` are scheme and authority of each server on the database.
    pub(super) fn over(bases: Vec<String>, database: &Arc<TestDatabase>) -> Arc<Self> {
        let common = (bases.len() > 1).then(|| database.clone());
        Arc::new(Self { bases, next: AtomicUsize::new(0), common })
    }

    /// Returns scheme and authority of the next server.
    pub(super) fn next(&self) -> &str {
        &self.bases[self.next.fetch_add(1, Ordering::Relaxed) % self.bases.len()]
    }

    /// Returns the database of several servers if a request may change what each of them remembers, such as rights. The
    /// change is in force at the server that responds, and moments later at the others (B-18b).
    pub(super) fn database_to_ask(&self, method: &str, path: &str) -> Option<Arc<TestDatabase>> {
        const REMEMBERED: [&str; 4] = ["/user/", "/tenant/", "/application/", "/notification/consumers"];
        let is_remembered = match method {
            "GET" => false,
            "PUT" | "DELETE" if path.starts_with("/inventory/") => true,
            _ => REMEMBERED.iter().any(|prefix| path.starts_with(prefix)),
        };
        self.common.clone().filter(|_| is_remembered)
    }
}
