//! The fast lane: a transport of its own for what this server is for, polls that are held.
//!
//! It stands in front of actix-http, on the same port. A connection begins here. As long as its requests are plain POSTs to a
//! Bayeux path (`request`), they are answered here, by the same [`Caller`](crate::auth::Caller) and the same
//! `long_polling::answer` as everywhere. The first that is anything else goes, with every byte that was read, to actix-http, and
//! the connection stays there: nothing is refused here, and nothing comes back.
//!
//! A connection that waits, for a request or for something to tell, owns no buffer: requests are read into one that all
//! connections of a worker share, and what is told is shared with everybody who is told the same.

mod answer;
mod connection;
#[cfg(test)]
mod fuzz;
mod request;

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use actix_http::ServiceConfig;
use actix_web::web;
use platform_actors::bayeux::channel::Endpoint;

use crate::connection::{Clock, Stream};
use crate::routes;
use crate::server::Edge;
use crate::telemetry::RouteDurations;
use connection::Connection;

/// Bytes of a connection that are read at once.
const READ: usize = 16 << 10;

/// The lane of one worker.
pub(crate) struct Lane {
    edge: web::Data<Edge>,
    paths: Box<[Path]>,
    /// Knows the date.
    config: ServiceConfig,
    /// Where all connections read into.
    buffer: RefCell<Box<[u8]>>,
    clock: Rc<Clock>,
}

/// A path that long polls may be sent to.
struct Path {
    name: String,
    endpoint: Endpoint,
    durations: RouteDurations,
}

impl Lane {
    /// Of a worker with this clock.
    pub(crate) fn new(edge: web::Data<Edge>, clock: Rc<Clock>) -> Rc<Self> {
        let path = |(name, endpoint): (String, _)| {
            let durations = RouteDurations::new(&name);
            Path { name, endpoint, durations }
        };
        Rc::new(Self {
            edge,
            paths: routes::of_long_polls().map(path).collect(),
            config: ServiceConfig::default(),
            buffer: RefCell::new(vec![0; READ].into()),
            clock,
        })
    }

    /// Serves a connection for as long as its requests are the lane's. Gives it back, with what came and was not served, at the
    /// first that is not.
    ///
    /// # Errors
    /// The peer is gone.
    pub(crate) fn serve(
        self: Rc<Self>,
        stream: Stream,
        peer: Option<SocketAddr>,
    ) -> impl Future<Output = io::Result<Option<(Stream, Vec<u8>)>>> {
        Connection::new(self, stream, peer)
    }

    /// Where a path stands among those of the lane.
    fn find(&self, path: &str) -> Option<usize> {
        self.paths.iter().position(|known| known.name == path)
    }
}
