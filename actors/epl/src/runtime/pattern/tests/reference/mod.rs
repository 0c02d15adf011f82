//! Compares patterns over random events with a slow reference implementation of their rules: trees that are copied and
//! walked, without lists of waiting nodes and without reused slots.

use proptest::prelude::*;

use super::harness::run;

mod reading;

/// A pattern over the streams A to C, with intervals in whole seconds.
#[derive(Debug, Clone)]
enum Pattern {
    Every(Box<Pattern>),
    Not(Box<Pattern>),
    And(Vec<Pattern>),
    Or(Vec<Pattern>),
    Then(Vec<Pattern>),
    /// The repeated part, and the part that ends it.
    Until(Box<Pattern>, Box<Pattern>),
    /// The stream, and the number of the tag.
    Event(char, usize),
    Interval(u32),
}

/// A live node.
#[derive(Debug, Clone)]
enum Live {
    Every {
        begun: Vec<Live>,
        tags: Tags,
    },
    Not(Option<Box<Live>>),
    And {
        sides: Vec<Option<Live>>,
        found: Vec<Vec<Tags>>,
    },
    Or(Vec<Option<Live>>),
    /// The children, each with its position in the chain.
    Then(Vec<(usize, Live)>),
    Until {
        end: Box<Live>,
        repeated: Box<Live>,
        begun_with: Tags,
        found: Vec<Tags>,
    },
    Event {
        order: usize,
        tags: Tags,
    },
    Interval {
        order: usize,
        due: u32,
        tags: Tags,
    },
}

/// The matched events, by the number of the tag.
type Tags = Vec<Option<String>>;

/// The result of a node: its matches, and whether it is still live.
#[derive(Debug, Default)]
struct StepResult {
    found: Vec<Tags>,
    fate: Fate,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Fate {
    #[default]
    Lives,
    True,
    False,
}

struct Reading {
    now: u32,
    /// Counts the nodes that begin to wait.
    order: usize,
}

/// The input of one step: it is meant for one node, identified by the order in which nodes began to wait.
#[derive(Clone, Copy)]
struct Signal<'a> {
    order: usize,
    event: Option<&'a str>,
}

/// Collects the nodes that wait for an event, or for a time that has come, as their order and (for times) the time.
fn waiting(pattern: &Pattern, live: &Live, stream: Option<char>, all: &mut Vec<(u32, usize)>) {
    match (pattern, live) {
        (Pattern::Event(of, _), Live::Event { order, .. }) if stream == Some(*of) => all.push((0, *order)),
        (Pattern::Interval(_), Live::Interval { order, due, .. }) if stream.is_none() => {
            all.push((*due, *order))
        }
        (Pattern::Every(inner), Live::Every { begun, .. }) => {
            begun.iter().for_each(|live| waiting(inner, live, stream, all));
        }
        (Pattern::Not(inner), Live::Not(Some(live))) => waiting(inner, live, stream, all),
        (Pattern::And(inner), Live::And { sides, .. }) | (Pattern::Or(inner), Live::Or(sides)) => {
            for (inner, live) in inner.iter().zip(sides) {
                live.iter().for_each(|live| waiting(inner, live, stream, all));
            }
        }
        (Pattern::Until(of_repeated, of_end), Live::Until { end, repeated, .. }) => {
            waiting(of_end, end, stream, all);
            waiting(of_repeated, repeated, stream, all);
        }
        (Pattern::Then(inner), Live::Then(parts)) => {
            parts.iter().for_each(|(place, live)| waiting(&inner[*place], live, stream, all));
        }
        _ => {}
    }
}

/// Runs a script of `A1` and `+1s` and returns it with the matches.
fn read(pattern: &Pattern, tags: usize, script: &[String]) -> String {
    let mut reading = Reading { now: 0, order: 0 };
    let (mut live, result) = reading.start(pattern, &vec![None; tags]);
    let mut written = result.found.iter().map(shown).collect::<String>();
    for word in script {
        let mut found = Vec::new();
        if let Some(seconds) = word.strip_prefix('+') {
            let until = reading.now + seconds.trim_end_matches('s').parse::<u32>().unwrap();
            while let Some(mut inner) = live.take() {
                let mut due = Vec::new();
                waiting(pattern, &inner, None, &mut due);
                let first = due.into_iter().min().filter(|(due, _)| *due <= until);
                let Some((due, order)) = first else {
                    live = Some(inner);
                    break;
                };
                reading.now = due;
                let result = reading.advance(pattern, &mut inner, Signal { order, event: None });
                found.extend(result.found);
                live = (result.fate == Fate::Lives).then_some(inner);
            }
            reading.now = until;
        } else {
            let mut met = Vec::new();
            live.iter().for_each(|live| waiting(pattern, live, word.chars().next(), &mut met));
            met.sort_unstable();
            for (_, order) in met {
                let Some(mut inner) = live.take() else { break };
                let result = reading.advance(pattern, &mut inner, Signal { order, event: Some(word) });
                found.extend(result.found);
                live = (result.fate == Fate::Lives).then_some(inner);
            }
        }
        let blank = if written.is_empty() { "" } else { " " };
        written = format!("{written}{blank}{word}{}", found.iter().map(shown).collect::<String>());
    }
    written
}

fn shown(tags: &Tags) -> String {
    format!("{{{}}}", tags.iter().flatten().cloned().collect::<Vec<_>>().join(","))
}

fn text(pattern: &Pattern) -> String {
    let all = |all: &[Pattern], word: &str| {
        let all: Vec<_> = all.iter().map(text).collect();
        format!("({})", all.join(word))
    };
    match pattern {
        Pattern::Every(inner) => format!("(every {})", text(inner)),
        Pattern::Not(inner) => format!("(not {})", text(inner)),
        Pattern::And(inner) => all(inner, " and "),
        Pattern::Or(inner) => all(inner, " or "),
        Pattern::Then(inner) => all(inner, " -> "),
        Pattern::Until(repeated, end) => format!("({} until {})", text(repeated), text(end)),
        Pattern::Event(stream, tag) => format!("t{tag}={stream}"),
        Pattern::Interval(seconds) => format!("timer:interval({seconds} sec)"),
    }
}

/// Numbers the tags from left to right.
fn numbered(pattern: &mut Pattern, next: &mut usize) {
    match pattern {
        Pattern::Every(inner) | Pattern::Not(inner) => numbered(inner, next),
        Pattern::And(all) | Pattern::Or(all) | Pattern::Then(all) => {
            all.iter_mut().for_each(|inner| numbered(inner, next))
        }
        Pattern::Until(repeated, end) => {
            numbered(repeated, next);
            numbered(end, next);
        }
        Pattern::Event(_, tag) => {
            *tag = *next;
            *next += 1;
        }
        Pattern::Interval(_) => {}
    }
}

fn leaf() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        4 => prop_oneof![Just('A'), Just('B'), Just('C')].prop_map(|stream| Pattern::Event(stream, 0)),
        1 => (1..4_u32).prop_map(Pattern::Interval),
    ]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    leaf().prop_recursive(3, 8, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 2..4);
        // A `not` is placed as it is meant to be used: beside a part that takes time.
        let guarded = (leaf(), inner.clone())
            .prop_map(|(one, other)| Pattern::And(vec![one, Pattern::Not(Box::new(other))]));
        prop_oneof![
            2 => inner.clone().prop_map(|inner| Pattern::Every(Box::new(inner))),
            1 => several.clone().prop_map(Pattern::And),
            1 => several.clone().prop_map(Pattern::Or),
            2 => several.prop_map(Pattern::Then),
            1 => guarded,
            2 => (inner.clone().prop_filter("no other until", |part| !repeats(part)), inner)
                .prop_map(|(repeated, end)| Pattern::Until(Box::new(repeated), Box::new(end))),
        ]
    })
}

fn repeats(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Every(inner) | Pattern::Not(inner) => repeats(inner),
        Pattern::And(all) | Pattern::Or(all) | Pattern::Then(all) => all.iter().any(repeats),
        Pattern::Until(..) => true,
        Pattern::Event(..) | Pattern::Interval(_) => false,
    }
}

/// Returns the numbers of the tags of a pattern.
fn tags_of(pattern: &Pattern) -> Vec<usize> {
    match pattern {
        Pattern::Every(inner) | Pattern::Not(inner) => tags_of(inner),
        Pattern::And(all) | Pattern::Or(all) | Pattern::Then(all) => all.iter().flat_map(tags_of).collect(),
        Pattern::Until(repeated, end) => [tags_of(repeated), tags_of(end)].concat(),
        Pattern::Event(_, tag) => vec![*tag],
        Pattern::Interval(_) => Vec::new(),
    }
}

fn script() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        4 => (prop_oneof![Just('A'), Just('B'), Just('C')], 1..100_u32).prop_map(|(stream, n)| format!("{stream}{n}")),
        1 => (1..5_u32).prop_map(|seconds| format!("+{seconds}s")),
    ];
    prop::collection::vec(word, 0..10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_pattern_does_what_a_slow_reading_of_its_rules_does(mut pattern in pattern(), script in script()) {
        let mut tags = 0;
        numbered(&mut pattern, &mut tags);
        let mut text = text(&pattern);
        if tags == 0 {
            text = format!("({text} or t0=A)");
            pattern = Pattern::Or(vec![pattern, Pattern::Event('A', 0)]);
            tags = 1;
        }
        prop_assert_eq!(run(&text, &script.join(" ")), read(&pattern, tags, &script), "{}", text);
    }
}
