//! The values of constants in the code.

use crate::quantity::Quantity;
use crate::rust::{Source, sources};
use crate::tree::line_of;

/// The table of limits. Its rows count as constants, with times in milliseconds.
const LIMITS: &str = "actors/model/src/limits/mod.rs";

/// Returns the value of a constant of a file, or of an expression of its constants, and the line of the constant.
///
/// # Errors
/// A sentence that says why there is no value.
pub(crate) fn value(path: &str, name: &str) -> Result<(Quantity, usize), String> {
    let source = sources().iter().find(|source| source.file.path == path);
    let source = source.ok_or_else(|| format!("{path} does not exist"))?;
    if name.contains(['(', '+', '*']) {
        let value =
            Evaluation::of(source, name).ok_or_else(|| format!("{name:?} cannot be computed in {path}"))?;
        return Ok((value, 1));
    }
    let (kind, expression, line) =
        definition(source, name).ok_or_else(|| format!("{path} has no constant {name}"))?;
    let of_limit = path == LIMITS && kind.contains("Duration") && !expression.contains("Duration");
    match Evaluation::of(source, expression) {
        Some(Quantity::Number(milliseconds)) if of_limit => {
            Ok((Quantity::Seconds(milliseconds / 1000.0), line))
        }
        Some(quantity) => Ok((quantity, line)),
        None => {
            Err(format!("{path}:{line} defines {name} as `{}`, which cannot be computed", expression.trim()))
        }
    }
}

/// Returns the type, the expression and the line of a constant or of a row of the limits.
fn definition<'a>(source: &'a Source, name: &str) -> Option<(&'a str, &'a str, usize)> {
    let code = &source.code;
    let is_limit = source.file.path == LIMITS && name.starts_with(|c: char| c.is_ascii_lowercase());
    let prefixes: &[&str] = if is_limit { &["\n    "] } else { &["const ", "static "] };
    let find = |prefix: &&str| code.find(&format!("{prefix}{name}: ")).map(|at| at + prefix.len());
    let at = prefixes.iter().find_map(find)?;
    let (kind, rest) = code[at..].split_once(" = ").or_else(|| code[at..].split_once(" =\n"))?;
    let end = if is_limit { rest.find([',', ';'])? } else { rest.find(';')? };
    Some((kind, &rest[..end], line_of(code, at)))
}

/// The evaluation of an expression of numbers, durations and other constants.
struct Evaluation<'a> {
    source: &'a Source,
    tokens: Vec<&'a str>,
    at: usize,
}

impl<'a> Evaluation<'a> {
    fn of(source: &'a Source, expression: &'a str) -> Option<Quantity> {
        let mut evaluation = Self { source, tokens: tokens(expression), at: 0 };
        let quantity = evaluation.sum()?;
        (evaluation.at == evaluation.tokens.len()).then_some(quantity)
    }

    fn next(&mut self, wanted: &[&str]) -> Option<&'a str> {
        let token = self.tokens.get(self.at).copied().filter(|token| wanted.contains(token))?;
        self.at += 1;
        Some(token)
    }

    /// Evaluates shifts, sums and differences; constants use parentheses where their order matters.
    fn sum(&mut self) -> Option<Quantity> {
        let mut left = self.product()?;
        while let Some(sign) = self.next(&["+", "-", "<<"]) {
            let right = self.product()?;
            left = combine(left, right, |a, b| match sign {
                "+" => a + b,
                "-" => a - b,
                _ => a * b.exp2(),
            })?;
        }
        Some(left)
    }

    fn product(&mut self) -> Option<Quantity> {
        let mut left = self.atom()?;
        while let Some(sign) = self.next(&["*", "/"]) {
            let right = self.atom()?;
            left = combine(left, right, |a, b| if sign == "*" { a * b } else { a / b })?;
        }
        Some(left)
    }

    fn atom(&mut self) -> Option<Quantity> {
        if self.next(&["("]).is_some() {
            let inner = self.sum()?;
            return self.next(&[")"]).map(|_| inner);
        }
        let token = *self.tokens.get(self.at)?;
        self.at += 1;
        let quantity = match token.strip_prefix("from_") {
            Some(unit) => {
                let factor = match unit {
                    "nanos" => 1e-9,
                    "micros" => 1e-6,
                    "millis" => 1e-3,
                    "secs" | "secs_f64" => 1.0,
                    "mins" => 60.0,
                    "hours" => 3600.0,
                    _ => return None,
                };
                match self.atom()? {
                    Quantity::Number(number) => Quantity::Seconds(number * factor),
                    Quantity::Seconds(_) => return None,
                }
            }
            None if token == "Some" => self.atom()?,
            None if token.starts_with(|c: char| c.is_ascii_digit()) => Quantity::Number(number(token)?),
            None => self.named(token)?,
        };
        if self.next(&["as"]).is_some() {
            self.at += 1;
        }
        Some(quantity)
    }

    /// Returns the value of another constant, of this file or of its neighbours.
    fn named(&self, name: &str) -> Option<Quantity> {
        let folder = |path: &'a str| path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let here = &self.source.file.path;
        let beside = sources().iter().filter(|source| folder(&source.file.path) == folder(here));
        let source =
            [self.source].into_iter().chain(beside).find(|source| definition(source, name).is_some())?;
        let (_, expression, _) = definition(source, name)?;
        Evaluation::of(source, expression)
    }
}

fn combine(left: Quantity, right: Quantity, with: impl Fn(f64, f64) -> f64) -> Option<Quantity> {
    match (left, right) {
        (Quantity::Number(a), Quantity::Number(b)) => Some(Quantity::Number(with(a, b))),
        (Quantity::Seconds(a), Quantity::Number(b) | Quantity::Seconds(b))
        | (Quantity::Number(a), Quantity::Seconds(b)) => Some(Quantity::Seconds(with(a, b))),
    }
}

/// Parses a number such as `10_000`, `0x10`, `2.5` or `64u64`.
fn number(token: &str) -> Option<f64> {
    let plain = token.replace('_', "");
    if let Some(digits) = plain.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|number| number as f64);
    }
    let end = plain.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(plain.len());
    plain[..end].parse().ok()
}

/// Splits an expression into words, numbers and signs. The types before `::` are left out.
fn tokens(expression: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = expression.trim_start();
    while !rest.is_empty() {
        let word =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len());
        let length = match word {
            0 if rest.starts_with("<<") || rest.starts_with("::") => 2,
            0 => rest.chars().next().map_or(1, char::len_utf8),
            word => word,
        };
        match &rest[..length] {
            "::" => drop(tokens.pop()),
            token => tokens.push(token),
        }
        rest = rest[length..].trim_start();
    }
    tokens
}
