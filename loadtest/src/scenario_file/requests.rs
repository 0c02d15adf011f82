//! The keys of a file that describe own requests: feeders, the bodies of posts, and the reads of a group.

use std::path::Path;

use toml::de::DeValue;

use super::fields::{self, Fields, meaning, whole};
use super::mistakes::Mistakes;
use crate::ledger::mark;
use crate::population::feeder::{Feeder, is_name};
use crate::population::plan::{ACTS, Act, Query, Reader};
use crate::population::template::{Form, Template};

/// The reads of a group that names none: its own lists.
const OWN_LISTS: [&str; 3] = [
    "/alarm/alarms?source={{source}}&pageSize=20",
    "/event/events?source={{source}}&pageSize=20",
    "/measurement/measurements?source={{source}}&revert=true&pageSize=20",
];
/// The members of a body that the run adds.
const ADDED: [&str; 4] = ["source", "deviceId", "id", mark::FRAGMENT];

/// Reads a feeder, whose file is looked up beside the scenario file.
pub(super) fn feeder(fields: Fields<'_>, scenario: &Path, known: &[Feeder]) -> Option<Feeder> {
    let name = fields.required("name", "a name in quotes", |value| {
        let name = fields::text(value)?;
        match known.iter().any(|feeder| feeder.name == name) {
            _ if !is_name(&name) => Err("allowed are letters, digits, - and _".to_owned()),
            true => Err("there are two feeders of this name".to_owned()),
            false => Ok(name),
        }
    });
    let file = fields.required("file", "the name of a file of CSV", fields::text);
    let directory = scenario.parent().unwrap_or(Path::new("."));
    let read = name.zip(file.as_ref()).map(|(name, file)| Feeder::read(&name, &directory.join(file)));
    let feeder = read.and_then(|read| read.map_err(|reason| fields.refuse("file", &reason)).ok());
    fields.end();
    feeder
}

/// Reads the own bodies of a group.
pub(super) fn bodies(
    fields: &Fields<'_>,
    feeders: &[Feeder],
    mistakes: &Mistakes<'_>,
) -> Vec<(Act, Template)> {
    let Some((at, table)) = fields.table("bodies") else { return Vec::new() };
    let own = Fields::new("bodies", at, table, mistakes);
    let mut bodies = Vec::new();
    for (key, act) in ACTS.into_iter().filter(|(_, act)| act.posts()) {
        bodies.extend(own.read(key, |value| body(value, act, feeders)).map(|body| (act, body)));
    }
    own.end();
    bodies
}

fn body(value: &DeValue<'_>, act: Act, feeders: &[Feeder]) -> Result<Template, String> {
    let template = Template::parse(&fields::text(value)?, Form::Json, feeders)?;
    let example = serde_json::from_str::<serde_json::Value>(&template.example(feeders));
    let example = example.map_err(|error| format!("not JSON with its placeholders filled in: {error}"))?;
    let members = example.as_object().ok_or("allowed is a JSON object")?;
    if let Some(member) = ADDED.iter().find(|member| members.contains_key(**member)) {
        return Err(format!("the run adds or chooses {member:?} itself; leave it out"));
    }
    if act == Act::Post(crate::protocol::object_kind::ObjectKind::Alarm) && !template.has_sequence() {
        return Err(
            "alarms of one type count as repetitions of one alarm; write {{seq}} into its `type`".to_owned()
        );
    }
    Ok(template)
}

/// Reads the queries of a group: those of the file, or its own lists.
pub(super) fn queries(fields: &Fields<'_>, feeders: &[Feeder], mistakes: &Mistakes<'_>) -> Vec<Query> {
    let tables = fields.tables("query", "[[group.query]]");
    let named: Vec<Query> = tables
        .into_iter()
        .filter_map(|(at, table)| query(Fields::new("query", at, table, mistakes), feeders))
        .collect();
    if !named.is_empty() {
        return named;
    }
    let own = |path: &str| {
        let path = Template::parse(path, Form::Path, &[]).ok()?;
        Some(Query { path, weight: 1, follow: 0, by: Reader::Device })
    };
    OWN_LISTS.into_iter().filter_map(own).collect()
}

fn query(fields: Fields<'_>, feeders: &[Feeder]) -> Option<Query> {
    let by = [("device", Reader::Device), ("administrator", Reader::Administrator)];
    let path = fields.required("path", "a path that begins with /", |value| {
        let text = fields::text(value)?;
        let is_path = text.starts_with('/') && !text.contains(|c: char| c.is_whitespace() && c != ' ');
        let template = Template::parse(&text, Form::Path, feeders)?;
        let has_blank = template.example(feeders).contains(|c: char| !c.is_ascii_graphic());
        if is_path && !has_blank {
            Ok(template)
        } else {
            Err("allowed is a path that begins with / and has no blanks; write %20".to_owned())
        }
    });
    let query = Query {
        path: path?,
        weight: fields.read("weight", whole(1..=1_000_000)).unwrap_or(1) as u32,
        follow: fields.read("follow", whole(0..=100_000)).unwrap_or_default() as u32,
        by: fields.read("by", |value| meaning(value.as_str(), &by)).unwrap_or(Reader::Device),
    };
    fields.end();
    Some(query)
}

#[cfg(test)]
mod tests {
    use super::super::ScenarioFile;
    use super::super::scenario_file_tests::common;
    use super::*;

    /// Reads a file beside a feeder, with these lines after line 4, which name a group.
    fn parse(lines: &str) -> Result<ScenarioFile, String> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("orders.csv"), "kind,size\na,1\nb,2\n").unwrap();
        let text = format!(
            "name = \"x\"\n[[feeder]]\nname = \"orders\"\nfile = \"orders.csv\"\n[[group]]\nname = \"g\"\ncount = \
             1\nreads = 2\nalarms = 1\n{lines}\n[[phase]]\nname = \"p\"\nlasts = \"9s\"\nthresholds = [\"p99 of \
             reads of \
             \\\"g\\\" <= 1s\", \"failed reads = 0\"]\n"
        );
        let file = directory.path().join("x.toml");
        let parsed = ScenarioFile::parse(&file, &text, &common());
        parsed.map_err(|error| error.to_string().replace(&file.display().to_string(), "x.toml"))
    }

    #[test]
    fn group_has_its_bodies_and_queries() {
        let file = parse(
            "[group.bodies]\nalarms = '{\"type\":\"a{{seq}}\",\"text\":\"{{orders.kind}}\"}'\n[[group.query]]\npath = \
             \"/alarm/alarms?type={{orders.kind}}\"\nweight = 3\nby = \"administrator\"\n[[group.query]]\npath = \
             \"/event/events\"\nfollow = 2\n",
        );
        let group = &file.unwrap().plan.unwrap().groups[0];
        assert_eq!(group.bodies[0].0, ACTS[0].1);
        let queries: Vec<_> =
            group.queries.iter().map(|query| (query.weight, query.follow, query.by)).collect();
        assert_eq!(queries, [(3, 0, Reader::Administrator), (1, 2, Reader::Device)]);
        // Without queries, a group reads its own lists.
        assert_eq!(parse("").unwrap().plan.unwrap().groups[0].queries.len(), OWN_LISTS.len());
    }

    #[test]
    fn mistakes_of_bodies_queries_and_feeders_name_the_line_and_the_allowed_values() {
        for (lines, error) in [
            (
                "bodies = { alarms = '{\"type\":\"a\"}' }",
                "x.toml:10: bodies: alarms = '{\"type\":\"a\"}': alarms of one type",
            ),
            ("bodies = { events = '{\"x\":{{seq}' }", "a placeholder has no end; write }}"),
            (
                "bodies = { events = '{\"x\":{{colour}}}' }",
                "{{colour}} is not a placeholder; there are {{seq}}",
            ),
            ("bodies = { events = '[{{seq}}]' }", "allowed is a JSON object"),
            ("bodies = { events = '{\"x\":}' }", "not JSON with its placeholders filled in"),
            ("bodies = { events = '{\"source\":{}}' }", "the run adds or chooses \"source\" itself"),
            (
                "bodies = { reads = '{}' }",
                "\"reads\" is not a key here; allowed are alarms, events, measurements, operations",
            ),
            (
                "transport = \"csv-poll\"\nbodies = { events = '{}' }",
                "x.toml:11: group \"g\": devices of transport csv-poll",
            ),
            (
                "per-post = 2\nbodies = { measurements = '{}' }",
                "x.toml:10: group \"g\": an own body of measurements",
            ),
            (
                "[[group.query]]\npath = \"alarms\"",
                "x.toml:11: query: path = \"alarms\": allowed is a path that begins with /",
            ),
            ("[[group.query]]\npath = \"/a b\"", "write %20"),
            (
                "[[group.query]]\nweight = 1",
                "x.toml:10: query: `path` is missing; write a path that begins with /",
            ),
            (
                "[[group.query]]\npath = \"/a\"\nby = \"me\"",
                "by = \"me\": allowed are \"device\", \"administrator\"",
            ),
            ("[[feeder]]\nname = \"orders\"\nfile = \"orders.csv\"", "there are two feeders of this name"),
            ("[[feeder]]\nname = \"a.b\"\nfile = \"orders.csv\"", "allowed are letters, digits, - and _"),
            ("[[feeder]]\nname = \"b\"\nfile = \"none.csv\"", "none.csv: No such file"),
        ] {
            let found = parse(lines).map(drop).expect_err(lines);
            assert!(found.contains("x.toml:1") && found.contains(error), "{lines}: {found}");
        }
    }
}
