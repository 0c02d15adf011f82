//! A row of the matrix, and how it finds its route.

use std::fmt;

/// `METHOD path | body | stranger other-tenant without-role device owner admin`.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) method: String,
    /// The path, with names of fixtures in angle brackets.
    pub(super) path: String,
    pub(super) body: Option<String>,
    pub(super) expected: [u16; 6],
}

impl Row {
    /// Reads the rows of a text; empty lines and those that start with `#` are for people.
    pub(super) fn parse_all(text: &str) -> Vec<Self> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(Self::parse).collect()
    }

    fn parse(line: &str) -> Self {
        let parts: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let [request, body, statuses] = parts[..] else { panic!("not three parts: {line}") };
        let (method, path) = request.split_once(' ').unwrap_or_else(|| panic!("no path: {line}"));
        let statuses: Vec<u16> = statuses
            .split_whitespace()
            .map(|status| status.parse().unwrap_or_else(|_| panic!("no status: {line}")))
            .collect();
        Self {
            method: method.to_owned(),
            path: path.trim().to_owned(),
            body: (body != "-").then(|| body.to_owned()),
            expected: statuses.try_into().unwrap_or_else(|_| panic!("not six statuses: {line}")),
        }
    }

    /// Returns whether a route's pattern matches the path of this row.
    pub(super) fn matches(&self, pattern: &str) -> bool {
        let path = self.path.split('?').next().unwrap_or_default();
        let (own, of_route): (Vec<_>, Vec<_>) = (path.split('/').collect(), pattern.split('/').collect());
        own.len() == of_route.len()
            && own.iter().zip(of_route).all(|(own, of_route)| match placeholder(of_route) {
                None => *own == of_route,
                Some((_, None)) => true,
                Some((_, Some(words))) => words == ".*" || words.split('|').any(|word| word == *own),
            })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// A path that a pattern takes.
pub(super) fn example(pattern: &str) -> String {
    let segment = |segment: &str| match placeholder(segment) {
        None => segment.to_owned(),
        Some((_, None)) => "1".to_owned(),
        Some((_, Some(words))) => words.split('|').next().unwrap_or_default().to_owned(),
    };
    pattern.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// Name and allowed words of `{name}` or `{name:a|b}`.
fn placeholder(segment: &str) -> Option<(&str, Option<&str>)> {
    let inner = segment.strip_prefix('{')?.strip_suffix('}')?;
    Some(match inner.split_once(':') {
        Some((name, words)) => (name, Some(words)),
        None => (inner, None),
    })
}
