//! The reference implementation of the rules of patterns.

use super::{Came, Fate, Live, Pattern, Reading, Tags, Told};

impl Reading {
    pub(super) fn start(&mut self, pattern: &Pattern, tags: &Tags) -> (Option<Live>, Came) {
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
                // Only `not`s can be true at once, alone or at the end of a chain, each one time.
                if found.iter().all(|found| !found.is_empty()) {
                    came.found = combinations(&found, usize::MAX, std::slice::from_ref(tags));
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

    pub(super) fn tell(&mut self, pattern: &Pattern, live: &mut Live, told: Told<'_>) -> Came {
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
