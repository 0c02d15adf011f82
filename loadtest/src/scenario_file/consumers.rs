//! The tables of a file that describe named consumers.

use toml::de::DeValue;

use super::fields::{self, Fields, one_or_more, whole};
use super::groups::{Described, tenant};
use super::mistakes::Mistakes;
use crate::population::plan::{Away, Consumers, Plan, WATCHED, WAYS};
use crate::protocol::consumer::reader::Way;

/// The bounds of what the server accepts.
const BATCH: std::ops::RangeInclusive<u64> = 1..=1000;
const LONGEST_WAIT: u64 = 50;
const BYTES: std::ops::RangeInclusive<u64> = 65_536..=1_073_741_824;
const SECONDS: std::ops::RangeInclusive<u64> = 60..=604_800;

impl Described {
    /// Reads consumers of a name.
    pub(super) fn add_consumers(&mut self, fields: Fields<'_>, mistakes: &Mistakes<'_>) {
        let name = if fields.value("name").is_some() {
            fields.read("name", fields::text)
        } else {
            Some("consumers".to_owned())
        };
        let name = self.name(&fields, name);
        let ways = fields.read("way", |value| one_or_more(value, &WAYS));
        let watches = fields.read("watches", |value| one_or_more(value, &WATCHED));
        let consumers = Consumers {
            name,
            tenant: tenant(&fields, &self.plan.tenants),
            count: fields.read("count", whole(1..=10_000)).unwrap_or(1) as u32,
            ways: ways.unwrap_or_else(|| vec![Way::LongPoll]),
            watches: watches.unwrap_or_else(|| WATCHED.map(|(_, watched)| watched).into()),
            batch: fields.read("batch", whole(BATCH)).unwrap_or(100) as u32,
            wait: fields.read("wait", wait).unwrap_or(std::time::Duration::from_secs(30)),
            away: away(&fields, mistakes),
            max_bytes: fields.read("max-bytes", whole(BYTES)),
            max_age: fields.read("max-age", whole(SECONDS)),
        };
        self.add_online(&fields, &consumers.name, Some(consumers.count));
        self.has_doubts |= fields.has_doubts(&["watches", "tenant"]);
        self.plan.consumers.push(consumers);
        fields.end();
    }
}

fn wait(value: &DeValue<'_>) -> Result<std::time::Duration, String> {
    let wait = fields::time(value).ok().filter(|wait| wait.as_secs() <= LONGEST_WAIT);
    let wait = wait.filter(|wait| wait.subsec_nanos() == 0);
    wait.ok_or_else(|| format!("allowed are whole seconds such as \"30s\", at most {LONGEST_WAIT}"))
}

/// Reads the pauses of readers.
fn away(fields: &Fields<'_>, mistakes: &Mistakes<'_>) -> Option<Away> {
    let (at, table) = fields.table("away")?;
    let own = Fields::new("away", at, table, mistakes);
    let every = own.required("every", "the time between two pauses, such as \"20s\"", fields::between);
    let lasts = own.required("lasts", "the length of a pause, such as \"5s..10s\"", fields::between);
    own.end();
    Some(Away { every: every?, lasts: lasts? })
}

/// Returns the explanation of the consumers of a name.
pub(super) fn explained(plan: &Plan, consumers: &Consumers) -> String {
    fn names<T: PartialEq>(all: &[(&'static str, T)], of: &[T]) -> String {
        let named = all.iter().filter(|(_, one)| of.contains(one)).map(|(name, _)| *name);
        named.collect::<Vec<_>>().join(", ")
    }
    let tenant =
        consumers.tenant.map_or(String::new(), |tenant| format!(" of tenant {}", plan.tenants[tenant]));
    let away = consumers.away.map_or(String::new(), |Away { every, lasts }| {
        format!("; each is away for {lasts} after every {every}")
    });
    let dense = if consumers.is_dense() { " and must see every position" } else { "" };
    format!(
        "  {}: {} named consumers{tenant}, which receive {}{dense}, by {}, {} at a time{away}\n",
        consumers.name,
        consumers.count,
        names(&WATCHED, &consumers.watches),
        names(&WAYS, &consumers.ways),
        consumers.batch
    )
}

#[cfg(test)]
mod tests {
    use super::super::scenario_file_tests::parse;
    use super::*;

    fn with_consumer(lines: &str) -> Result<Consumers, String> {
        let groups = "[[group]]\nname = \"g\"\ncount = 2\ntransport = \"rest\"\nevents = 5\n";
        let phase = "[[phase]]\nname = \"p\"\nlasts = \"10s\"\nthresholds = ['gaps = 0']\n";
        let file = parse(&format!("name = \"x\"\n{groups}[[consumer]]\n{lines}\n{phase}"))?;
        Ok(file.plan.expect("it has groups").consumers.remove(0))
    }

    #[test]
    fn consumer_of_a_file_has_defaults() {
        let consumers = with_consumer("").unwrap();
        assert_eq!((consumers.count, consumers.batch, consumers.wait.as_secs()), (1, 100, 30));
        assert!(consumers.is_dense() && consumers.away.is_none() && consumers.ways == [Way::LongPoll]);
        let consumers = with_consumer(
            "name = \"b\"\ncount = 4\nway = [\"long-poll\", \"events\"]\nwatches = \"alarms\"\nbatch = 7\n\
             away = { every = \"5s\", lasts = \"1s..2s\" }\nmax-bytes = 65536",
        )
        .unwrap();
        assert!(!consumers.is_dense() && consumers.away.is_some());
        assert_eq!((consumers.ways.len(), consumers.max_bytes, consumers.max_age), (2, Some(65_536), None));
    }

    #[test]
    fn mistakes_of_a_consumer_name_the_allowed_values() {
        for (lines, found) in [
            ("way = \"pigeon\"", "allowed are \"long-poll\", \"events\""),
            ("watches = []", "allowed are \"alarms\""),
            ("batch = 1001", "allowed are whole numbers from 1 to 1000"),
            ("wait = \"51s\"", "at most 50"),
            ("wait = \"1500ms\"", "whole seconds"),
            ("max-bytes = 5", "from 65536 to 1073741824"),
            ("away = { every = \"5s\" }", "`lasts` is missing"),
            ("name = \"g\"", "there are two groups, [[dashboard]]s or [[consumer]]s \"g\""),
            ("pause = 1", "allowed are name, way, watches, tenant, count"),
        ] {
            let error = with_consumer(lines).unwrap_err();
            assert!(error.contains(found), "{lines}: {error}");
        }
    }

    #[test]
    fn consumers_are_explained() {
        let text = "name = \"x\"\n[[group]]\nname = \"g\"\ncount = 2\n[[consumer]]\nway = \"events\"\n\
                    away = { every = \"9s\", lasts = \"1s..2s\" }\n[[phase]]\nname = \"p\"\nlasts = \"10s\"\n";
        let text = super::super::explanation(&parse(text).unwrap());
        let found = "consumers: 1 named consumers, which receive alarms, events, measurements, operations, inventory \
                     and must see every position, by events, 100 at a time; each is away for 1 to 2 s, at random after \
                     every 9 s";
        assert!(text.contains(found), "{text}");
    }
}
