//! Requests of clients, including frequent mistakes: both transports send the same response, byte for byte.

mod bodies;
mod credentials;
mod fields;
mod held;
mod hosts;
mod methods;
mod origins;
mod paths;

use super::*;

/// Returns all paths for Bayeux messages.
pub(super) fn every_path() -> impl Iterator<Item = String> {
    let paths = [
        "/notification/realtime",
        "/notification/operations",
        "/cep/realtime",
        "/cep/notifications",
        "/devicecontrol/notifications",
    ];
    let words = ["", "/handshake", "/connect", "/disconnect"];
    paths.into_iter().flat_map(move |path| words.map(|word| format!("{path}{word}")))
}

/// A clientId that belongs to no session.
const NOBODY: &str = "0123456789abcdef0123456789abcdef";
