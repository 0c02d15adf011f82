//! The HTTP layer of the platform: status codes, headers, URLs. State and rules are in `platform_actors`.
//!
//! # Reading order
//!
//! [`routes`] is the table of contents: method, path, handler. From there each request goes one way:
//! [`requests::middleware`] → [`auth`] → [`api`], [`realtime`] or [`csv`] → `platform_actors` → [`http::reply`]; calls
//! of microservices leave by [`service`], those of event-processing modules by [`outbound_requests`]. [`server`] puts
//! the parts together.

pub mod api;
pub mod applications;
pub mod auth;
mod certificates;
pub mod console;
pub mod csv;
#[cfg(test)]
#[path = "../front/fuzzing.rs"]
mod fuzzing;
pub mod health;
pub mod http;
pub mod lane;
pub mod long_polling;
pub mod outbound_requests;
pub mod realtime;
pub mod requests;
pub mod routes;
pub mod server;
pub mod service;
