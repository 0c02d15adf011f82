//! Thresholds that end a run early: a table instead of a sentence, `{ that = "failed = 0", abort = true, after =
//! "10s" }`.

use std::time::Duration;

use toml::de::DeValue;

use super::fields::{self, Fields, Found, yes_or_no};
use super::mistakes::Mistakes;
use super::threshold::Threshold;

/// The time in a phase before a miss ends the run, because the first seconds say little.
const AFTER: Duration = Duration::from_secs(5);

/// Reads the thresholds of a phase with their positions.
pub(super) fn thresholds(
    fields: &Fields<'_>,
    lasts: Option<Duration>,
    mistakes: &Mistakes<'_>,
) -> Vec<(usize, Threshold)> {
    let Some(value) = fields.value("thresholds") else { return Vec::new() };
    let Some(all) = value.get_ref().as_array() else {
        fields.refuse_value("thresholds", value, "allowed is a list such as [\"lost = 0\", \"failed = 0\"]");
        return Vec::new();
    };
    all.iter().filter_map(|one| Some((one.span().start, threshold(one, lasts, mistakes)?))).collect()
}

fn threshold(one: &Found<'_>, lasts: Option<Duration>, mistakes: &Mistakes<'_>) -> Option<Threshold> {
    let at = one.span().start;
    let refuse = |reason: String| mistakes.add(at, reason);
    match one.get_ref() {
        DeValue::String(sentence) => Threshold::parse(sentence).map_err(refuse).ok(),
        DeValue::Table(table) => {
            let fields = Fields::new("threshold", at, table, mistakes);
            let that = fields.required("that", "`that = \"failed = 0\"`", |value| {
                Threshold::parse(value.as_str().unwrap_or_default())
            });
            let aborts = fields.read("abort", yes_or_no).unwrap_or_default();
            let after = fields.read("after", fields::time);
            if fields.value("after").is_some() && !aborts {
                fields.refuse("after", "`after` needs `abort = true`");
            }
            let after = after.unwrap_or(AFTER);
            if let (true, Some(lasts)) = (aborts, lasts.filter(|lasts| after >= *lasts)) {
                let seconds = lasts.as_secs_f64();
                fields.refuse(
                    "abort",
                    &format!("it would never end a phase of {seconds} s; write a shorter `after`"),
                );
            }
            let mut that = that?;
            that.aborts_after = aborts.then_some(after);
            if aborts {
                check(&that).unwrap_or_else(|reason| fields.refuse("abort", &reason));
            }
            fields.end();
            Some(that)
        }
        _ => {
            refuse(
                "thresholds: each is a text such as \"lost = 0\", or a table such as { that = \"failed = 0\", abort = \
                 true }"
                    .to_owned(),
            );
            None
        }
    }
}

/// Checks that a threshold can be judged while its phase runs.
fn check(threshold: &Threshold) -> Result<(), String> {
    let name = |name: &String| {
        format!(
            "a figure of {name:?} alone is known only at the end, so it cannot end the run; leave out the name"
        )
    };
    threshold.of.as_ref().map_or(Ok(()), |of| Err(name(of)))?;
    threshold.figure.check_live()
}
