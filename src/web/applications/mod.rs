//! The applications that this server hosts or forwards requests to: which application is at a path, and its files.

pub mod files;
pub mod paths;
