//! The metrics of requests: their number by route, their duration by interface, and their total time by route.
//!
//! Histograms are by interface and not by route, because with more than a hundred routes and all their buckets, a
//! scrape would have a megabyte.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::http::StatusCode;
use metrics::{Counter, Histogram};

/// The number of requests, by route and class of status.
pub(super) const REQUESTS: &str = "platform_http_requests_total";
/// The time in seconds from a request's head to its response, by interface. For a held poll it ends when the poll is
/// held.
pub(super) const REQUEST_DURATION: &str = "platform_http_request_seconds";
/// The sum of these times, by route.
pub(super) const ROUTE_SECONDS: &str = "platform_http_route_seconds_total";

const SECOND: u64 = 1_000_000;
/// The message types that Bayeux clients append to a path. Such a path counts as the path without them.
const APPENDED: [&str; 3] = ["/connect", "/handshake", "/disconnect"];

/// Describes these metrics to the installed recorder.
pub(super) fn describe() {
    metrics::describe_counter!(REQUESTS, "requests, by route and class of status");
    metrics::describe_histogram!(
        REQUEST_DURATION,
        "seconds from a request's head to its response, by interface; for a held poll until it is held"
    );
    metrics::describe_counter!(
        ROUTE_SECONDS,
        "seconds that all requests of a route took, in whole seconds: what costs most"
    );
}

/// The metrics of the requests of one route. Metric handles are looked up once for each route and class, so that a
/// request costs three additions. Paths with ids of devices create no metrics of their own, and unused routes create
/// none.
pub struct RouteDurations {
    route: String,
    interface: &'static str,
    classes: [OnceLock<Counter>; 5],
    durations: OnceLock<Histogram>,
    seconds: OnceLock<Counter>,
    /// The microseconds of less than a whole second, which are not counted yet.
    rest: AtomicU64,
}

impl RouteDurations {
    /// Creates the metrics of a route. `path` is the pattern, e.g. `/alarm/alarms/{id}`.
    pub fn new(path: &str) -> Self {
        let route = APPENDED.iter().find_map(|word| path.strip_suffix(word)).unwrap_or(path);
        Self {
            route: route.to_owned(),
            interface: interface_of(route),
            classes: Default::default(),
            durations: OnceLock::new(),
            seconds: OnceLock::new(),
            rest: AtomicU64::new(0),
        }
    }

    /// Records a completed request.
    pub fn record(&self, status: StatusCode, duration: Duration) {
        const NAMES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
        let class = usize::from((status.as_u16() / 100).clamp(1, 5) - 1);
        let count = || metrics::counter!(REQUESTS, "route" => self.route.clone(), "status" => NAMES[class]);
        self.classes[class].get_or_init(count).increment(1);
        let durations = || metrics::histogram!(REQUEST_DURATION, "interface" => self.interface);
        self.durations.get_or_init(durations).record(duration);
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let spent = self.rest.fetch_add(micros, Ordering::Relaxed).saturating_add(micros);
        if spent >= SECOND {
            self.count_seconds();
        }
    }

    #[cold]
    fn count_seconds(&self) {
        let whole = self.rest.load(Ordering::Relaxed) / SECOND;
        let taken = |rest: u64| rest.checked_sub(whole * SECOND);
        // If this fails, another thread has taken the seconds and counts them.
        if whole > 0 && self.rest.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok() {
            let seconds = || metrics::counter!(ROUTE_SECONDS, "route" => self.route.clone());
            self.seconds.get_or_init(seconds).increment(whole);
        }
    }
}

/// Returns the name of the interface of a route: the first part of its path.
fn interface_of(route: &str) -> &'static str {
    const NAMED_ALIKE: [&str; 14] = [
        "alarm",
        "application",
        "apps",
        "audit",
        "cep",
        "devicecontrol",
        "event",
        "identity",
        "inventory",
        "measurement",
        "notification",
        "service",
        "tenant",
        "user",
    ];
    let first = route.trim_start_matches('/').split('/').next().unwrap_or_default();
    match first {
        "s" => "csv",
        "v1" | "v2" => "tokens",
        "retention" => "retention",
        _ => NAMED_ALIKE.into_iter().find(|name| *name == first).unwrap_or("server"),
    }
}

#[cfg(test)]
mod tests {
    use platform_front::telemetry;

    use super::*;

    #[test]
    fn route_belongs_to_the_interface_that_its_path_names() {
        for (route, interface) in [
            ("/alarm/alarms/{id}", "alarm"),
            ("/notification/realtime/connect", "notification"),
            ("/s", "csv"),
            ("/v1/oauth/accesstokens", "tokens"),
            ("/health/live", "server"),
            ("/", "server"),
            ("unknown", "server"),
        ] {
            assert_eq!(RouteDurations::new(route).interface, interface, "{route}");
        }
    }

    #[test]
    fn paths_with_types_of_messages_count_as_those_without() {
        assert_eq!(RouteDurations::new("/cep/realtime/handshake").route, "/cep/realtime");
        assert_eq!(RouteDurations::new("/cep/realtime").route, "/cep/realtime");
    }

    #[test]
    fn seconds_are_counted_whole_and_the_rest_later() {
        let route = RouteDurations::new("/alarm/alarms");
        for millis in [400, 700, 2100] {
            route.record(StatusCode::OK, Duration::from_millis(millis));
        }
        assert_eq!(route.rest.load(Ordering::Relaxed), 200_000);
    }

    /// The metrics of all routes may use four fifths of a scrape's size limit; the other metrics have the rest.
    #[test]
    fn metrics_of_all_routes_are_bounded() {
        crate::requests::start_metrics();
        for (path, _) in crate::routes::listed() {
            let route = RouteDurations::new(&path);
            for status in [StatusCode::OK, StatusCode::NOT_FOUND, StatusCode::SERVICE_UNAVAILABLE] {
                route.record(status, Duration::from_secs(1));
            }
        }

        let text = telemetry::render();

        assert!(text.contains("route=\"/inventory/managedObjects/{id}\",status=\"5xx\"} 1"), "{text}");
        assert!(
            text.contains("platform_http_route_seconds_total{route=\"/alarm/alarms/count\"} 3"),
            "{text}"
        );
        assert!(text.len() < 80_000, "{} bytes", text.len());
    }
}
