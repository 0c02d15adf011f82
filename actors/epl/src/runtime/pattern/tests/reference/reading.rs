//! The reference implementation of the rules of patterns.

use super::{Fate, Live, Pattern, Reading, Signal, StepResult, Tags, tags_of};

impl Reading {
    pub(super) fn start(&mut self, pattern: &Pattern, tags: &Tags) -> (Option<Live>, StepResult) {
        match pattern {
            Pattern::Event(..) => {
                self.order += 1;
                (Some(Live::Event { order: self.order, tags: tags.clone() }), StepResult::default())
            }
            Pattern::Interval(seconds) => {
                self.order += 1;
                let live = Live::Interval { order: self.order, due: self.now + seconds, tags: tags.clone() };
                (Some(live), StepResult::default())
            }
            Pattern::Every(inner) => {
                let mut begun = Vec::new();
                self.begin_anew(inner, tags, &mut begun);
                (Some(Live::Every { begun, tags: tags.clone() }), StepResult::default())
            }
            Pattern::Not(inner) => {
                let (live, result) = self.start(inner, tags);
                assert_eq!(result.fate, Fate::Lives, "nothing that is begun here ends at once");
                (
                    live.map(|live| Live::Not(Some(Box::new(live)))),
                    StepResult { found: vec![tags.clone()], fate: Fate::Lives },
                )
            }
            Pattern::And(all) => {
                let mut sides = Vec::new();
                let mut found = Vec::new();
                let mut result = StepResult::default();
                for inner in all {
                    let (live, of_side) = self.start(inner, tags);
                    sides.push(live);
                    found.push(of_side.found);
                }
                // Only `not`s can be true at once, alone or at the end of a chain, each one time.
                if found.iter().all(|found| !found.is_empty()) {
                    result.found = combinations(&found, usize::MAX, std::slice::from_ref(tags));
                    if all.iter().all(|inner| matches!(inner, Pattern::Not(_))) {
                        return (None, StepResult { fate: Fate::True, ..result });
                    }
                }
                (Some(Live::And { sides, found }), result)
            }
            Pattern::Or(all) => {
                let mut result = StepResult::default();
                let mut sides = Vec::new();
                for inner in all {
                    let (live, of_side) = self.start(inner, tags);
                    result.found.extend(of_side.found);
                    sides.push(live);
                    if of_side.fate == Fate::True {
                        return (None, StepResult { fate: Fate::True, ..result });
                    }
                }
                (Some(Live::Or(sides)), result)
            }
            Pattern::Until(of_repeated, of_end) => {
                let at_once = "nothing that is begun here ends at once";
                let end = Box::new(self.start(of_end, tags).0.expect(at_once));
                let repeated = Box::new(self.start(of_repeated, tags).0.expect(at_once));
                let live = Live::Until { end, repeated, begun_with: tags.clone(), found: Vec::new() };
                (Some(live), StepResult::default())
            }
            Pattern::Then(all) => {
                let mut parts = Vec::new();
                let mut result = StepResult::default();
                self.begin_part(all, 0, tags, &mut parts, &mut result);
                result.fate = if parts.is_empty() { Fate::True } else { Fate::Lives };
                ((!parts.is_empty()).then_some(Live::Then(parts)), result)
            }
        }
    }

    fn begin_anew(&mut self, inner: &Pattern, tags: &Tags, begun: &mut Vec<Live>) {
        let (live, result) = self.start(inner, tags);
        if result.found.is_empty() {
            begun.extend(live);
        }
    }

    fn begin_part(
        &mut self,
        all: &[Pattern],
        place: usize,
        tags: &Tags,
        parts: &mut Vec<(usize, Live)>,
        result: &mut StepResult,
    ) {
        let Some(part) = all.get(place) else {
            result.found.push(tags.clone());
            return;
        };
        let (live, of_part) = self.start(part, tags);
        parts.extend(live.map(|live| (place, live)));
        for tags in &of_part.found {
            self.begin_part(all, place + 1, tags, parts, result);
        }
    }

    pub(super) fn advance(&mut self, pattern: &Pattern, live: &mut Live, signal: Signal<'_>) -> StepResult {
        match (pattern, live) {
            (Pattern::Event(_, tag), Live::Event { order, tags }) if *order == signal.order => {
                let mut tags = tags.clone();
                tags[*tag] = signal.event.map(str::to_owned);
                StepResult { found: vec![tags], fate: Fate::True }
            }
            (Pattern::Interval(_), Live::Interval { order, tags, .. }) if *order == signal.order => {
                StepResult { found: vec![tags.clone()], fate: Fate::True }
            }
            (Pattern::Every(inner), Live::Every { begun, tags }) => {
                self.advance_every(inner, begun, tags, signal)
            }
            (Pattern::Not(inner), Live::Not(live)) => {
                let fate = live.as_mut().map_or(Fate::Lives, |live| self.advance(inner, live, signal).fate);
                match fate {
                    Fate::Lives => {}
                    Fate::True => return StepResult { found: Vec::new(), fate: Fate::False },
                    Fate::False => *live = None,
                }
                StepResult::default()
            }
            (Pattern::And(all), Live::And { sides, found }) => self.advance_and(all, sides, found, signal),
            (Pattern::Or(all), Live::Or(sides)) => {
                for (inner, side) in all.iter().zip(sides.iter_mut()) {
                    let Some(live) = side else { continue };
                    let result = self.advance(inner, live, signal);
                    match result.fate {
                        Fate::Lives if result.found.is_empty() => continue,
                        Fate::Lives | Fate::True => return result,
                        Fate::False => *side = None,
                    }
                    let fate = if sides.iter().all(Option::is_none) { Fate::False } else { Fate::Lives };
                    return StepResult { found: Vec::new(), fate };
                }
                StepResult::default()
            }
            (Pattern::Until(of_repeated, of_end), Live::Until { end, repeated, begun_with, found }) => {
                let ended = self.advance(of_end, end, signal);
                if let Some(tags) = ended.found.first() {
                    let tags = collected(of_repeated, found, tags.clone());
                    return StepResult { found: vec![tags], fate: Fate::True };
                }
                if ended.fate == Fate::False {
                    return ended;
                }
                let result = self.advance(of_repeated, repeated, signal);
                found.extend(result.found);
                if result.fate == Fate::True {
                    let anew = self.start(of_repeated, begun_with).0;
                    **repeated = anew.expect("nothing that is begun here ends at once");
                }
                let fate = if result.fate == Fate::False { Fate::False } else { Fate::Lives };
                StepResult { found: Vec::new(), fate }
            }
            (Pattern::Then(all), Live::Then(parts)) => self.advance_chain(all, parts, signal),
            _ => StepResult::default(),
        }
    }

    fn advance_every(
        &mut self,
        inner: &Pattern,
        begun: &mut Vec<Live>,
        tags: &Tags,
        signal: Signal<'_>,
    ) -> StepResult {
        for number in 0..begun.len() {
            let result = self.advance(inner, &mut begun[number], signal);
            if result.found.is_empty() && result.fate == Fate::Lives {
                continue;
            }
            if matches!(inner, Pattern::Event(..)) {
                return StepResult { fate: Fate::Lives, ..result };
            }
            if result.fate != Fate::Lives {
                begun.remove(number);
            }
            let times = if result.fate == Fate::False { 1 } else { result.found.len() };
            for _ in 0..times {
                self.begin_anew(inner, tags, begun);
            }
            return StepResult { found: result.found, fate: Fate::Lives };
        }
        StepResult::default()
    }

    fn advance_and(
        &mut self,
        all: &[Pattern],
        sides: &mut [Option<Live>],
        found: &mut [Vec<Tags>],
        signal: Signal<'_>,
    ) -> StepResult {
        for place in 0..all.len() {
            let Some(live) = &mut sides[place] else { continue };
            let result = self.advance(&all[place], live, signal);
            match result.fate {
                Fate::Lives if result.found.is_empty() => continue,
                Fate::False => return StepResult { found: Vec::new(), fate: Fate::False },
                Fate::Lives => {}
                Fate::True => sides[place] = None,
            }
            let complete = (0..all.len()).all(|other| other == place || !found[other].is_empty());
            let mut all_found = Vec::new();
            if complete {
                for tags in &result.found {
                    all_found.extend(combinations(found, place, std::slice::from_ref(tags)));
                }
            }
            found[place].extend(result.found);
            let left = all.iter().zip(sides.iter()).filter(|(_, side)| side.is_some());
            let ends = left.clone().all(|(inner, _)| matches!(inner, Pattern::Not(_)));
            let fate = if complete && ends { Fate::True } else { Fate::Lives };
            return StepResult { found: all_found, fate };
        }
        StepResult::default()
    }

    fn advance_chain(
        &mut self,
        all: &[Pattern],
        parts: &mut Vec<(usize, Live)>,
        signal: Signal<'_>,
    ) -> StepResult {
        for number in 0..parts.len() {
            let (place, live) = &mut parts[number];
            let place = *place;
            let of_part = self.advance(&all[place], live, signal);
            if of_part.found.is_empty() && of_part.fate == Fate::Lives {
                continue;
            }
            if of_part.fate != Fate::Lives {
                parts.remove(number);
            }
            let mut result = StepResult::default();
            for tags in &of_part.found {
                self.begin_part(all, place + 1, tags, parts, &mut result);
            }
            result.fate = match (parts.is_empty(), result.found.is_empty()) {
                (false, _) => Fate::Lives,
                (true, true) => Fate::False,
                (true, false) => Fate::True,
            };
            return result;
        }
        StepResult::default()
    }
}

/// Adds to a match the lists of the events that the repeated part found.
fn collected(repeated: &Pattern, found: &[Tags], mut tags: Tags) -> Tags {
    for tag in tags_of(repeated) {
        let all: Vec<_> = found.iter().filter_map(|tags| tags[tag].clone()).collect();
        tags[tag] = Some(format!("[{}]", all.join(",")));
    }
    tags
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
