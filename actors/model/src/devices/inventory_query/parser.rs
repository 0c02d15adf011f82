//! Parses the untrusted text of a query. Each error names the position, the expected syntax and the text that was
//! found.

use super::words::{is_number, lacks_dollar};
use super::{
    Condition, Direction, FragmentPath, InventoryQuery, MAX_DEPTH, MAX_ORDER, MAX_SEGMENTS, MAX_TERMS,
    MAX_WILDCARDS, Operator, Path, SortKey, Subject, Value, paths,
};
use crate::error::{Error, Result};
use crate::id::ManagedObjectId;
use crate::timestamp::Timestamp;

pub(super) const FILTER: &str = "$filter=";
pub(super) const ORDER_BY: &str = "$orderby=";
/// The operators that can follow a path.
const OPERATORS: [(&str, Operator); 6] = [
    ("eq", Operator::Equal),
    ("ne", Operator::NotEqual),
    ("gt", Operator::Greater),
    ("ge", Operator::GreaterOrEqual),
    ("lt", Operator::Less),
    ("le", Operator::LessOrEqual),
];

/// Parses a query of managed objects.
pub(super) fn parse(text: &str) -> Result<InventoryQuery> {
    let mut parser = Parser::begin(text, Subject::ManagedObjects)?;
    let query = parser.query()?;
    parser.skip_blanks();
    if parser.rest().is_empty() { Ok(query) } else { Err(parser.expected("and, or, $orderby= or the end")) }
}

/// Parses a condition without an order.
pub(super) fn parse_condition(text: &str, subject: Subject) -> Result<Condition> {
    let mut parser = Parser::begin(text, subject)?;
    parser.take(FILTER);
    let condition = parser.any()?;
    parser.skip_blanks();
    if parser.rest().is_empty() { Ok(condition) } else { Err(parser.expected("and, or or the end")) }
}

struct Parser<'a> {
    text: &'a str,
    subject: Subject,
    /// The position of the parser in bytes, always at the boundary of a character.
    at: usize,
    depth: usize,
    terms: usize,
}

impl<'a> Parser<'a> {
    fn begin(text: &'a str, subject: Subject) -> Result<Self> {
        let (member, most) = (subject.member(), subject.max_length());
        if text.len() > most {
            let given = format!("{} bytes", text.len());
            return Err(Error::invalid_value(member, given, &format!("at most {most} bytes")));
        }
        Ok(Self { text, subject, at: 0, depth: 0, terms: 0 })
    }

    fn query(&mut self) -> Result<InventoryQuery> {
        let mut query = InventoryQuery::default();
        self.skip_blanks();
        if self.rest().is_empty() {
            return Err(self.expected("a condition, $filter= or $orderby="));
        }
        if !self.rest().starts_with(FILTER) && !self.rest().starts_with(ORDER_BY) {
            query.condition = Some(self.any()?);
        }
        loop {
            if query.condition.is_none() && self.take(FILTER) {
                query.condition = Some(self.any()?);
            } else if query.order.is_empty() && self.take(ORDER_BY) {
                query.order = self.order()?;
            } else {
                return Ok(query);
            }
        }
    }

    fn order(&mut self) -> Result<Vec<SortKey>> {
        let mut keys = Vec::new();
        loop {
            let start = self.at;
            let path = self.path()?;
            let direction = match self.word() {
                "desc" => Direction::Descending,
                _ => Direction::Ascending,
            };
            if matches!(self.word(), "asc" | "desc") {
                self.take_word();
            }
            keys.push(SortKey { path, direction });
            if keys.len() > MAX_ORDER {
                return Err(self.refused(start, &format!("at most {MAX_ORDER} paths to sort by")));
            }
            if !self.take(",") {
                return Ok(keys);
            }
        }
    }

    fn any(&mut self) -> Result<Condition> {
        self.sequence("or", Self::all, Condition::Any)
    }

    fn all(&mut self) -> Result<Condition> {
        self.sequence("and", Self::term, Condition::All)
    }

    /// Parses one or more parts of the same kind, separated by a keyword. A single part is not wrapped.
    fn sequence(
        &mut self,
        keyword: &str,
        part: fn(&mut Self) -> Result<Condition>,
        join: fn(Vec<Condition>) -> Condition,
    ) -> Result<Condition> {
        let first = part(self)?;
        if self.word() != keyword {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.word() == keyword {
            self.take_word();
            parts.push(part(self)?);
        }
        Ok(join(parts))
    }

    fn term(&mut self) -> Result<Condition> {
        self.skip_blanks();
        let start = self.at;
        self.terms += 1;
        self.depth += 1;
        if self.terms > MAX_TERMS {
            return Err(self.refused(start, &format!("at most {MAX_TERMS} conditions")));
        }
        if self.depth > MAX_DEPTH {
            return Err(self.refused(start, &format!("at most {MAX_DEPTH} levels of parentheses and not")));
        }
        let term = match self.word() {
            _ if self.take("(") => {
                let inner = self.any()?;
                self.require(")")?;
                inner
            }
            "not" => {
                self.take_word();
                Condition::Not(Box::new(self.term()?))
            }
            "has" if self.calls("has") => {
                let exists = self.existence()?;
                self.require(")")?;
                exists
            }
            "bygroupid" if self.subject.has_groups() && self.calls("bygroupid") => {
                let digits = self.take_word();
                if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(self.expected_at(self.at - digits.len(), "the digits of an id"));
                }
                self.require(")")?;
                Condition::InGroup(ManagedObjectId::parse(digits).ok())
            }
            _ => self.comparison()?,
        };
        self.depth -= 1;
        Ok(term)
    }

    /// Consumes the opening parenthesis of a function, if there is one.
    fn calls(&mut self, name: &str) -> bool {
        let start = self.at;
        self.skip_blanks();
        self.at += name.len();
        let called = self.take("(");
        if !called {
            self.at = start;
        }
        called
    }

    fn comparison(&mut self) -> Result<Condition> {
        let path = self.path()?;
        let word = self.word();
        let Some((_, operator)) = OPERATORS.iter().find(|(name, _)| *name == word) else {
            return Err(self.expected("eq, ne, gt, ge, lt or le"));
        };
        self.take_word();
        self.skip_blanks();
        let start = self.at;
        let value = self.value()?;
        let value = match (&path, value) {
            (Path::Time(_) | Path::Instant(_), Value::Text(text)) => {
                let instant = Timestamp::parse_bound(self.subject.member(), &text);
                let form = "a timestamp 'YYYY-MM-DDThh:mm:ss±hh:mm' or a date 'YYYY-MM-DD'";
                Value::Instant(instant.map_err(|_| self.expected_at(start, form))?)
            }
            (_, Value::Text(text)) if matches!(operator, Operator::Equal | Operator::NotEqual) => {
                self.pattern(start, text)?
            }
            (_, value) => value,
        };
        Ok(Condition::Compare(path, *operator, value))
    }

    /// Splits a text at its wildcards.
    fn pattern(&self, start: usize, text: String) -> Result<Value> {
        if !text.contains('*') {
            return Ok(Value::Text(text));
        }
        let mut pieces: Vec<String> = text.split('*').map(ToOwned::to_owned).collect();
        let last = pieces.len() - 1;
        let mut place = 0..;
        // Adjacent wildcards count as one, because nothing stands between them.
        pieces.retain(|piece| place.next().is_some_and(|at| at == 0 || at == last || !piece.is_empty()));
        if pieces.len() - 1 > MAX_WILDCARDS {
            Err(self.refused(start, &format!("at most {MAX_WILDCARDS} wildcards in a text")))
        } else {
            Ok(Value::Pattern(pieces))
        }
    }

    fn path(&mut self) -> Result<Path> {
        self.skip_blanks();
        let start = self.at;
        let names = self.segments()?;
        self.path_of(start, names)
    }

    fn path_of(&self, start: usize, names: FragmentPath) -> Result<Path> {
        let path = match self.subject {
            Subject::ManagedObjects => paths::of_object(names),
            Subject::Notifications => paths::of_notification(names),
        };
        path.map_err(|expected| self.expected_at(start, &expected))
    }

    /// Parses a path as the condition that something exists there.
    fn existence(&mut self) -> Result<Condition> {
        self.skip_blanks();
        let start = self.at;
        let names = self.segments()?;
        let path = self.path_of(start, names.clone())?;
        Ok(match path {
            // A standard member of an object is a column, which is null if it is absent.
            Path::Id | Path::Text(_) | Path::Time(_) if self.subject == Subject::ManagedObjects => {
                Condition::Compare(path, Operator::NotEqual, Value::Null)
            }
            _ => Condition::Has(names),
        })
    }

    fn segments(&mut self) -> Result<FragmentPath> {
        self.skip_blanks();
        let start = self.at;
        let word = self.take_word();
        if word.is_empty() || word.starts_with('\'') {
            return Err(self.expected_at(start, self.subject.terms()));
        }
        // A shell may have removed `$filter` or the `$` from the text. No fragment has the name that is left (I-08a).
        if word.starts_with(['$', '=']) || lacks_dollar(word) {
            return Err(
                self.expected_at(start, "a name that does not start with '$' or '=', or $filter= first")
            );
        }
        let names: Vec<String> = word.split('.').map(ToOwned::to_owned).collect();
        if names.iter().any(String::is_empty) {
            return Err(self.expected_at(start, "a path of names between single dots"));
        }
        if names.len() > MAX_SEGMENTS {
            return Err(self.refused(start, &format!("at most {MAX_SEGMENTS} names in a path")));
        }
        if word.contains('\0') {
            return Err(self.expected_at(start, "a path without NUL"));
        }
        Ok(FragmentPath(names))
    }

    fn value(&mut self) -> Result<Value> {
        if self.rest().starts_with('\'') {
            return self.text().map(Value::Text);
        }
        let start = self.at;
        match self.take_word() {
            "true" => Ok(Value::Boolean(true)),
            "false" => Ok(Value::Boolean(false)),
            "null" => Ok(Value::Null),
            word if is_number(word) => Ok(Value::Number(word.to_owned())),
            _ => Err(self.expected_at(start, "a 'text', a number, true, false or null")),
        }
    }

    /// Parses a quoted text, in which a doubled quote stands for one quote.
    fn text(&mut self) -> Result<String> {
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        loop {
            let Some(length) = self.rest().find('\'') else {
                return Err(self.refused(start, "a closing quote '"));
            };
            text.push_str(&self.rest()[..length]);
            self.at += length + 1;
            if !self.rest().starts_with('\'') {
                break;
            }
            text.push('\'');
            self.at += 1;
        }
        if text.contains('\0') { Err(self.expected_at(start, "a text without NUL")) } else { Ok(text) }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Returns the word at the parser's position: up to a blank, a comma or a parenthesis.
    fn word(&self) -> &'a str {
        let rest = self.rest().trim_start();
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ','));
        &rest[..end.unwrap_or(rest.len())]
    }

    fn take_word(&mut self) -> &'a str {
        let word = self.word();
        self.skip_blanks();
        self.at += word.len();
        word
    }

    fn take(&mut self, what: &str) -> bool {
        let rest = self.rest().trim_start();
        let found = rest.starts_with(what);
        if found {
            self.at = self.text.len() - rest.len() + what.len();
        }
        found
    }

    fn require(&mut self, what: &str) -> Result<()> {
        if self.take(what) { Ok(()) } else { Err(self.expected(what)) }
    }

    fn expected(&mut self, what: &str) -> Error {
        self.skip_blanks();
        self.expected_at(self.at, what)
    }

    fn expected_at(&self, at: usize, what: &str) -> Error {
        let found: String = self.text[at..].chars().take(30).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("'{found}'") };
        let place = self.text[..at].chars().count() + 1;
        let member = self.subject.member();
        Error::Invalid(format!(
            "Invalid value of '{member}' at character {place}: expected {what}, found {found}"
        ))
    }

    fn refused(&self, at: usize, allowed: &str) -> Error {
        let place = self.text[..at].chars().count() + 1;
        let member = self.subject.member();
        Error::Invalid(format!("Invalid value of '{member}' at character {place}: expected {allowed}"))
    }
}
