//! The HTTP layer of the platform: status codes, headers, URLs. State and rules are in `platform_actors`.
//!
//! # Reading order
//!
//! [`routes`] is the table of contents: method, path, handler. From there each request goes one way: [`middleware`] →
//! [`auth`] → [`api`], [`realtime`] or [`csv`] → `platform_actors` → [`http::reply`]; calls of microservices leave by
//! [`service`], those of event-processing modules by [`outbound_requests`]. [`server`] puts the parts together;
//! [`program`] adds [`cli`], [`config`], [`embedded_postgres`] and [`administration`], [`client`]: commands over REST,
//! and `demo`: a simulated fleet.

pub mod administration;
pub mod api;
pub mod application_paths;
pub mod archive;
pub mod auth;
pub mod backup;
pub mod cli;
pub mod client;
pub mod config;
pub mod connection;
pub mod console;
pub mod csv;
mod demo;
pub mod diagnosis;
mod directory;
pub mod embedded_postgres;
#[cfg(test)]
mod fuzzing;
pub mod health;
pub mod hosted_files;
pub mod http;
pub mod jobs;
pub mod lane;
pub mod long_polling;
pub mod middleware;
mod open_files;
pub mod outbound_requests;
pub mod prerequisites;
pub mod program;
pub mod realtime;
mod request_counts;
pub mod request_log;
pub mod routes;
pub mod secret_key;
mod self_request;
pub mod server;
pub mod service;
mod settings_check;
mod shown_settings;
pub mod start_error;
pub mod stop;
mod systemd;
pub mod telemetry;
mod terminal;
pub mod tls;
