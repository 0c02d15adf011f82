//! Parses paths into JSON: `plat_Position.lat`, `items[0]['odd name']`. A leading `$` is ignored.

/// One step of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'p> {
    Member(&'p str),
    /// The index of an element, counted from 0.
    Element(usize),
}

/// Returns the steps of a path, in order; an item is `None` where the path is invalid.
pub(super) fn steps(path: &str) -> Steps<'_> {
    let path = path.strip_prefix('$').map_or(path, |rest| rest.strip_prefix('.').unwrap_or(rest));
    Steps { rest: path, is_first: true }
}

pub(super) struct Steps<'p> {
    rest: &'p str,
    is_first: bool,
}

impl<'p> Iterator for Steps<'p> {
    type Item = Option<Step<'p>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let step = self.step();
        self.is_first = false;
        if step.is_none() {
            self.rest = "";
        }
        Some(step)
    }
}

impl<'p> Steps<'p> {
    fn step(&mut self) -> Option<Step<'p>> {
        if let Some(inner) = self.rest.strip_prefix('[') {
            return self.bracket(inner);
        }
        let name = if self.is_first { self.rest } else { self.rest.strip_prefix('.')? };
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (name, rest) = name.split_at(end);
        self.rest = rest;
        (!name.is_empty()).then_some(Step::Member(name))
    }

    fn bracket(&mut self, inner: &'p str) -> Option<Step<'p>> {
        if let Some(quote) = inner.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            let (name, rest) = inner[1..].split_once(quote)?;
            self.rest = rest.strip_prefix(']')?;
            return Some(Step::Member(name));
        }
        let (digits, rest) = inner.split_once(']')?;
        self.rest = rest;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok().map(Step::Element)).flatten()
    }
}
