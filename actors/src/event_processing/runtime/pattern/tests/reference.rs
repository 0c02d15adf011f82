//! Patterns over random events do the same as a slow reading of their rules: trees that are copied and walked, without lists of who
//! waits, without slots that are used again.

use proptest::prelude::*;

use super::harness::run;

/// A pattern over the streams A to C, and intervals in whole seconds.
#[derive(Debug, Clone)]
enum Pattern {
    Every(Box<Pattern>),
    Not(Box<Pattern>),
    And(Vec<Pattern>),
    Or(Vec<Pattern>),
    Then(Vec<Pattern>),
    /// The stream, and the number of the tag.
    Event(char, usize),
    Interval(u32),
}

/// A node that lives.
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
    /// Each with its place in the chain.
    Then(Vec<(usize, Live)>),
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

/// By the number of the tag.
type Tags = Vec<Option<String>>;

/// What came of a node: what it found, and whether it still lives.
#[derive(Debug, Default)]
struct Came {
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
    /// Counts what begins to wait.
    order: usize,
}

/// What one node is told: it alone, by when it began to wait.
#[derive(Clone, Copy)]
struct Told<'a> {
    order: usize,
    event: Option<&'a str>,
}

impl Reading {
    fn start(&mut self, pattern: &Pattern, tags: &Tags) -> (Option<Live>, Came) {
        match pattern {
            Pattern::Event(..) => {
                self.order += 1;
                (Some(Live::Event { order: self.order, tags: tags.clone() }), Came::default())
            }
            Pattern::Interval(seconds) => {
                self.order += 1;
                let live = Live::Interval { order: self.order, due: self.now + seconds, tags: tags.clone() };
                (Some(live), Came::default())
            }
            Pattern::Every(inner) => {
                let mut begun = Vec::new();
                self.begin_anew(inner, tags, &mut begun);
                (Some(Live::Every { begun, tags: tags.clone() }), Came::default())
            }
            Pattern::Not(inner) => {
                let (live, came) = self.start(inner, tags);
                assert_eq!(came.fate, Fate::Lives, "nothing that is begun here ends at once");
                (
                    live.map(|live| Live::Not(Some(Box::new(live)))),
                    Came { found: vec![tags.clone()], fate: Fate::Lives },
                )
            }
            Pattern::And(all) => {
                let mut sides = Vec::new();
                let mut found = Vec::new();
                let mut came = Came::default();
                for inner in all {
                    let (live, of_side) = self.start(inner, tags);
                    sides.push(live);
                    found.push(of_side.found);
                }
                // All that can be true at once are `not`s, alone or at the end of a chain, each once.
                if found.iter().all(|found| !found.is_empty()) {
                    came.found = combinations(&found, usize::MAX, &[tags.clone()]);
                    if all.iter().all(|inner| matches!(inner, Pattern::Not(_))) {
                        return (None, Came { fate: Fate::True, ..came });
                    }
                }
                (Some(Live::And { sides, found }), came)
            }
            Pattern::Or(all) => {
                let mut came = Came::default();
                let mut sides = Vec::new();
                for inner in all {
                    let (live, of_side) = self.start(inner, tags);
                    came.found.extend(of_side.found);
                    sides.push(live);
                    if of_side.fate == Fate::True {
                        return (None, Came { fate: Fate::True, ..came });
                    }
                }
                (Some(Live::Or(sides)), came)
            }
            Pattern::Then(all) => {
                let mut parts = Vec::new();
                let mut came = Came::default();
                self.begin_part(all, 0, tags, &mut parts, &mut came);
                came.fate = if parts.is_empty() { Fate::True } else { Fate::Lives };
                ((!parts.is_empty()).then_some(Live::Then(parts)), came)
            }
        }
    }

    fn begin_anew(&mut self, inner: &Pattern, tags: &Tags, begun: &mut Vec<Live>) {
        let (live, came) = self.start(inner, tags);
        if came.found.is_empty() {
            begun.extend(live);
        }
    }

    fn begin_part(
        &mut self,
        all: &[Pattern],
        place: usize,
        tags: &Tags,
        parts: &mut Vec<(usize, Live)>,
        came: &mut Came,
    ) {
        let Some(part) = all.get(place) else {
            came.found.push(tags.clone());
            return;
        };
        let (live, of_part) = self.start(part, tags);
        parts.extend(live.map(|live| (place, live)));
        for tags in &of_part.found {
            self.begin_part(all, place + 1, tags, parts, came);
        }
    }

    fn tell(&mut self, pattern: &Pattern, live: &mut Live, told: Told<'_>) -> Came {
        match (pattern, live) {
            (Pattern::Event(_, tag), Live::Event { order, tags }) if *order == told.order => {
                let mut tags = tags.clone();
                tags[*tag] = told.event.map(str::to_owned);
                Came { found: vec![tags], fate: Fate::True }
            }
            (Pattern::Interval(_), Live::Interval { order, tags, .. }) if *order == told.order => {
                Came { found: vec![tags.clone()], fate: Fate::True }
            }
            (Pattern::Every(inner), Live::Every { begun, tags }) => self.tell_every(inner, begun, tags, told),
            (Pattern::Not(inner), Live::Not(live)) => {
                let fate = live.as_mut().map_or(Fate::Lives, |live| self.tell(inner, live, told).fate);
                match fate {
                    Fate::Lives => {}
                    Fate::True => return Came { found: Vec::new(), fate: Fate::False },
                    Fate::False => *live = None,
                }
                Came::default()
            }
            (Pattern::And(all), Live::And { sides, found }) => self.tell_and(all, sides, found, told),
            (Pattern::Or(all), Live::Or(sides)) => {
                for (inner, side) in all.iter().zip(sides.iter_mut()) {
                    let Some(live) = side else { continue };
                    let came = self.tell(inner, live, told);
                    match came.fate {
                        Fate::Lives if came.found.is_empty() => continue,
                        Fate::Lives | Fate::True => return came,
                        Fate::False => *side = None,
                    }
                    let fate = if sides.iter().all(Option::is_none) { Fate::False } else { Fate::Lives };
                    return Came { found: Vec::new(), fate };
                }
                Came::default()
            }
            (Pattern::Then(all), Live::Then(parts)) => self.tell_chain(all, parts, told),
            _ => Came::default(),
        }
    }

    fn tell_every(&mut self, inner: &Pattern, begun: &mut Vec<Live>, tags: &Tags, told: Told<'_>) -> Came {
        for number in 0..begun.len() {
            let came = self.tell(inner, &mut begun[number], told);
            if came.found.is_empty() && came.fate == Fate::Lives {
                continue;
            }
            if matches!(inner, Pattern::Event(..)) {
                return Came { fate: Fate::Lives, ..came };
            }
            if came.fate != Fate::Lives {
                begun.remove(number);
            }
            let times = if came.fate == Fate::False { 1 } else { came.found.len() };
            for _ in 0..times {
                self.begin_anew(inner, tags, begun);
            }
            return Came { found: came.found, fate: Fate::Lives };
        }
        Came::default()
    }

    fn tell_and(
        &mut self,
        all: &[Pattern],
        sides: &mut [Option<Live>],
        found: &mut [Vec<Tags>],
        told: Told<'_>,
    ) -> Came {
        for place in 0..all.len() {
            let Some(live) = &mut sides[place] else { continue };
            let came = self.tell(&all[place], live, told);
            match came.fate {
                Fate::Lives if came.found.is_empty() => continue,
                Fate::False => return Came { found: Vec::new(), fate: Fate::False },
                Fate::Lives => {}
                Fate::True => sides[place] = None,
            }
            let complete = (0..all.len()).all(|other| other == place || !found[other].is_empty());
            let mut all_found = Vec::new();
            if complete {
                for tags in &came.found {
                    all_found.extend(combinations(found, place, std::slice::from_ref(tags)));
                }
            }
            found[place].extend(came.found);
            let left = all.iter().zip(sides.iter()).filter(|(_, side)| side.is_some());
            let ends = left.clone().all(|(inner, _)| matches!(inner, Pattern::Not(_)));
            let fate = if complete && ends { Fate::True } else { Fate::Lives };
            return Came { found: all_found, fate };
        }
        Came::default()
    }

    fn tell_chain(&mut self, all: &[Pattern], parts: &mut Vec<(usize, Live)>, told: Told<'_>) -> Came {
        for number in 0..parts.len() {
            let (place, live) = &mut parts[number];
            let place = *place;
            let of_part = self.tell(&all[place], live, told);
            if of_part.found.is_empty() && of_part.fate == Fate::Lives {
                continue;
            }
            if of_part.fate != Fate::Lives {
                parts.remove(number);
            }
            let mut came = Came::default();
            for tags in &of_part.found {
                self.begin_part(all, place + 1, tags, parts, &mut came);
            }
            came.fate = match (parts.is_empty(), came.found.is_empty()) {
                (false, _) => Fate::Lives,
                (true, true) => Fate::False,
                (true, false) => Fate::True,
            };
            return came;
        }
        Came::default()
    }
}

fn combinations(found: &[Vec<Tags>], but: usize, begun: &[Tags]) -> Vec<Tags> {
    let mut all = begun.to_vec();
    for (_, found) in found.iter().enumerate().filter(|(place, _)| *place != but) {
        all = all.iter().flat_map(|tags| found.iter().map(|other| merged(tags, other))).collect();
    }
    all
}

fn merged(tags: &Tags, other: &Tags) -> Tags {
    tags.iter().zip(other).map(|(one, other)| other.clone().or_else(|| one.clone())).collect()
}

/// Who waits for an event, or for a time that has come, as order and (for times) when.
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
        (Pattern::Then(inner), Live::Then(parts)) => {
            parts.iter().for_each(|(place, live)| waiting(&inner[*place], live, stream, all));
        }
        _ => {}
    }
}

/// Reads a script of `A1` and `+1s` and writes it with what came out.
fn read(pattern: &Pattern, tags: usize, script: &[String]) -> String {
    let mut reading = Reading { now: 0, order: 0 };
    let (mut live, came) = reading.start(pattern, &vec![None; tags]);
    let mut written = came.found.iter().map(shown).collect::<String>();
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
                let came = reading.tell(pattern, &mut inner, Told { order, event: None });
                found.extend(came.found);
                live = (came.fate == Fate::Lives).then_some(inner);
            }
            reading.now = until;
        } else {
            let mut met = Vec::new();
            live.iter().for_each(|live| waiting(pattern, live, word.chars().next(), &mut met));
            met.sort_unstable();
            for (_, order) in met {
                let Some(mut inner) = live.take() else { break };
                let came = reading.tell(pattern, &mut inner, Told { order, event: Some(word) });
                found.extend(came.found);
                live = (came.fate == Fate::Lives).then_some(inner);
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
        Pattern::Event(stream, tag) => format!("t{tag}={stream}"),
        Pattern::Interval(seconds) => format!("timer:interval({seconds} sec)"),
    }
}

/// Numbers the tags from left to right, and takes a `not` out of where it could end something as it begins: such are in the tables.
fn numbered(pattern: &mut Pattern, next: &mut usize) {
    match pattern {
        Pattern::Every(inner) | Pattern::Not(inner) => numbered(inner, next),
        Pattern::And(all) | Pattern::Or(all) | Pattern::Then(all) => {
            all.iter_mut().for_each(|inner| numbered(inner, next))
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
        // A `not` is put where it is meant to be: beside something that takes its time.
        let guarded = (leaf(), inner.clone())
            .prop_map(|(one, other)| Pattern::And(vec![one, Pattern::Not(Box::new(other))]));
        prop_oneof![
            2 => inner.prop_map(|inner| Pattern::Every(Box::new(inner))),
            1 => several.clone().prop_map(Pattern::And),
            1 => several.clone().prop_map(Pattern::Or),
            2 => several.prop_map(Pattern::Then),
            1 => guarded,
        ]
    })
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
