//! The fast lane: an HTTP server for the most frequent requests, held polls and data of devices.
//!
//! The lane runs in front of actix-http, on the same port, and every connection starts here. As long as the requests of
//! a connection are plain POSTs to a Bayeux path, or of measurements, alarms or events, or polls of consumers
//! (`request`), the lane serves them, with the same [`Caller`](crate::auth::Caller), the same `long_polling::answer` and
//! the same handlers (`data`, `consumer`) as the other transports. The first other request is passed to actix-http together with all bytes read so far, and
//! the connection stays there. The lane rejects no request that actix-http might accept, and no connection returns to
//! it.
//!
//! The session of a held poll writes the response within its call (`direct`); the task of the connection runs only when
//! the next request arrives.
//!
//! A waiting connection, whether it waits for a request or for notifications, owns no buffer. Requests are read into a
//! buffer that all connections of a worker share, and notifications are shared among all their recipients.

mod components;
mod connection;
mod consumer;
mod data;
mod direct;
#[cfg(test)]
mod fuzz;
mod incoming;
mod request;
mod response;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use actix_http::ServiceConfig;
use platform_front::connection::{Clock, Stream};
use platform_model::limits::Limits;
use platform_model::realtime::bayeux::channel::Endpoint;

use crate::requests::RouteDurations;
pub(crate) use components::Components;
pub(crate) use direct::Connected;
use request::Verb;

/// The maximum number of bytes that one read returns.
const READ: usize = 16 << 10;

/// The fast lane of one worker.
pub(crate) struct Lane {
    components: Components,
    paths: Box<[Path]>,
    /// Provides the `Date` header.
    config: ServiceConfig,
    /// The read buffer that all connections of the worker share.
    buffer: RefCell<Box<[u8]>>,
    clock: Rc<Clock>,
}

/// A path of the lane.
struct Path {
    name: String,
    resource: Resource,
    durations: RouteDurations,
}

/// The purpose of a path of POST, or of the polls of consumers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Resource {
    /// Bayeux messages.
    Polls(Endpoint),
    /// Data of a device.
    Data(NewData),
    /// A poll of a named consumer. The name of its path is a pattern.
    Consumer,
}

/// The kind of data that a path creates.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NewData {
    Measurements,
    Alarm,
    Event,
}

impl Lane {
    /// Creates the lane of the worker to which this clock belongs. The most frequent paths come first.
    pub(crate) fn new(
        components: Components,
        paths: impl Iterator<Item = (String, Resource)>,
        clock: Rc<Clock>,
    ) -> Rc<Self> {
        let path = |(name, resource): (String, _)| {
            let durations = RouteDurations::new(&name);
            Path { name, resource, durations }
        };
        Rc::new(Self {
            components,
            paths: paths.map(path).collect(),
            config: ServiceConfig::default(),
            buffer: RefCell::new(vec![0; READ].into()),
            clock,
        })
    }

    /// Serves a connection as long as its requests are ones that the lane supports. At the first other request, returns
    /// the connection and the bytes that were read but not processed.
    ///
    /// # Errors
    /// The peer is gone.
    pub(crate) fn serve(self: Rc<Self>, stream: Stream, peer: Option<SocketAddr>) -> Connected {
        Connected::new(self, stream, peer)
    }

    fn limits(&self) -> &Limits {
        self.components.platform.limits()
    }

    /// Returns the index of a path among the paths of the lane.
    fn find(&self, verb: Verb, target: &str) -> Option<usize> {
        let is_poll = |path: &Path| matches!(path.resource, Resource::Consumer);
        match verb {
            Verb::Post => self.paths.iter().position(|known| known.name == target),
            Verb::Get if consumer::is_poll(target) => self.paths.iter().position(is_poll),
            Verb::Get => None,
        }
    }
}
