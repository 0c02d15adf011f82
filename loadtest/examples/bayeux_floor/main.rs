//! The floors for notifications: the minimum that a program must do to hold Bayeux polls and broadcast.
//!
//! Notifications are kept in process memory. There is no authentication, no tenant, no database, and no expiry except
//! that silent sessions are dropped. `loadtest fanout` and `reconnect` run against them as against the
//! server, so a figure of the server can be read as a multiple of a floor. There are three, by `--holds`:
//!
//! - `handler`: an actix-web handler that awaits the notification and responds with its length;
//! - `body`: an actix-web handler that responds at once with a body that is completed later;
//! - `bare`: a loop over the socket without actix-web, on one thread; no WebSocket.
//!
//! ```sh
//! taskset -c 0 cargo run --release -p loadtest --example bayeux_floor -- --holds handler --listen 127.0.0.1:18081
//! taskset -c 1 cargo run --release -p loadtest -- fanout --url http://127.0.0.1:18081
//! taskset -c 1 cargo run --release -p loadtest -- fanout --channel own --kind measurement --url http://127.0.0.1:18081
//! taskset -c 1 cargo run --release -p loadtest -- reconnect --without-users --url http://127.0.0.1:18081
//! ```

mod actix_floor;
mod bare_floor;
mod hub;

use actix_web::web;
use clap::{Parser, ValueEnum};

use crate::hub::{Hub, SILENCE};

/// The number of connections that may wait to be accepted, because a fleet connects at once.
const BACKLOG: u32 = 4096;

/// Holds Bayeux polls and broadcasts, as lean as can be.
#[derive(Debug, Parser)]
struct Settings {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:18080")]
    listen: String,
    /// Worker threads of actix-web
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// The code that holds a poll
    #[arg(long, value_enum, default_value_t = Holds::Body)]
    holds: Holds,
}

/// The code that holds a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Holds {
    /// A handler of actix-web
    Handler,
    /// The body of a response of actix-web
    Body,
    /// A loop over the socket
    Bare,
}

#[actix::main]
async fn main() -> std::io::Result<()> {
    let settings = Settings::parse();
    let hub = web::Data::new(Hub::default());
    let swept = hub.clone();
    actix_web::rt::spawn(async move {
        loop {
            tokio::time::sleep(SILENCE).await;
            swept.sweep();
        }
    });
    match settings.holds {
        Holds::Bare => bare_floor::serve(&settings.listen, hub.into_inner()).await,
        Holds::Handler | Holds::Body => actix_floor::serve(settings, hub).await,
    }
}
