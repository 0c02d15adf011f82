//! The process of a server and its connections, before a request has a meaning: settings, secrets, TLS, connections,
//! logs and metrics. The server (`platform-web`) and the programs of operators (`platform-operator`) use it.

pub mod archive;
pub mod config;
pub mod connection;
pub mod csv_table;
pub mod directory;
#[cfg(test)]
mod fuzzing;
pub mod jobs;
pub mod prerequisites;
pub mod secrets;
pub mod self_request;
pub mod start_error;
pub mod stop;
pub mod telemetry;
pub mod terminal;
pub mod tls;
