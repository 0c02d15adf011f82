//! Metrics of the busiest tenants (`--metrics-tenants`). They are rendered here and not by the recorder, because the
//! recorder would keep the metrics of every tenant that was ever among the busiest.

use std::fmt::Write;

use platform_actors::Platform;
use platform_store::statistics::activity::ActivityHere;

/// The name for the sum of all other tenants. It cannot be a tenant, because ids of tenants contain no dot.
const OTHERS: &str = "other.tenants";

/// A metric and its description.
struct Metric {
    name: &'static str,
    help: &'static str,
    of: fn(&ActivityHere) -> f64,
}

const METRICS: [Metric; 5] = [
    Metric {
        name: "platform_tenant_requests_per_second",
        help: "requests of a tenant at this server in the last seconds",
        of: |here| here.requests,
    },
    Metric {
        name: "platform_tenant_writes_per_second",
        help: "objects of a tenant created and changed at this server in the last seconds",
        of: |here| here.writes,
    },
    Metric {
        name: "platform_tenant_deliveries_per_second",
        help: "notifications of a tenant delivered by this server in the last seconds",
        of: |here| here.deliveries,
    },
    Metric {
        name: "platform_tenant_sessions",
        help: "sessions of a tenant at this server",
        of: |here| here.sessions as f64,
    },
    Metric {
        name: "platform_tenant_queued_notifications",
        help: "notifications in the queues of a tenant's sessions at this server",
        of: |here| here.queued as f64,
    },
];

/// Adds the metrics of the busiest tenants in Prometheus' text format.
pub(super) fn render(platform: &Platform, text: &mut String) {
    let Some(most) = platform.limits().metrics_tenants else { return };
    let (busiest, others) = platform.busiest(most);
    let all = busiest.iter().map(|(tenant, here)| (tenant.as_str(), here)).chain([(OTHERS, &others)]);
    for Metric { name, help, of } in METRICS {
        writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge").expect("memory grows");
        for (tenant, here) in all.clone() {
            writeln!(text, "{name}{{tenant=\"{tenant}\"}} {}", of(here)).expect("memory grows");
        }
    }
}
