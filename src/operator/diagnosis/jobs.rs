//! The background jobs of the server on this machine, as its readiness describes them.

use platform_front::self_request::Answer;
use serde_json::Value;

use super::Finding;

/// Returns whether the background jobs work; `None` if the response does not have them.
pub(super) fn finding(answer: &Answer) -> Option<Finding> {
    let Answer::Response { body, .. } = answer else { return None };
    let body: Value = serde_json::from_slice(body).ok()?;
    let jobs = body["jobs"].as_array()?;
    let failing: Vec<String> = jobs.iter().filter(|job| job["failures"] != 0).map(described).collect();
    if failing.is_empty() {
        return Some(Finding::good("jobs", format!("all {} background jobs work", jobs.len())));
    }
    let remedy = "the log of the server has the errors; a panic is a bug to report";
    Some(Finding::warning("jobs", failing.join(", "), remedy))
}

fn described(job: &Value) -> String {
    let member = |name: &str| job[name].as_str().unwrap_or_default();
    let (name, result, last) = (member("name"), member("lastResult").to_lowercase(), member("lastRun"));
    match job["failures"].as_u64() {
        Some(1) | None => format!("{name} {result} at {last}"),
        Some(failures) => format!("{name} {result} at {last}, {failures} times in a row"),
    }
}
