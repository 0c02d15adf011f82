//! The query language of the inventory as SQL (I-08): conditions on `managed_objects o`, values as parameters only.
//!
//! Conditions on a fragment use `jsonpath` in its lax mode, which looks into arrays and treats values of different
//! types as unequal; an index finds equal values then. Other conditions name the fragment, for which there is an index
//! too. Conditions on a fragment that the server writes use the data behind it, see [`server_fragments`].

use platform_model::devices::inventory_query::{
    Condition, Direction, FragmentPath, Operator, Path, SortKey, TextMember, TimeMember, Value,
};

use crate::devices::inventory::server_fragments;
use crate::query::filter::Filtered;

/// Returns a condition as SQL. It evaluates to true or to false or null; `not` treats both as false. The tenant must be
/// parameter 1.
pub(crate) fn clause(condition: &Condition, filtered: &mut Filtered) -> String {
    match condition {
        Condition::All(parts) => joined(parts, " AND ", filtered),
        Condition::Any(parts) => joined(parts, " OR ", filtered),
        Condition::Not(inner) => not(&clause(inner, filtered)),
        Condition::Compare(path, Operator::NotEqual, value) => {
            not(&comparison(path, Operator::Equal, value, filtered))
        }
        Condition::Compare(path, operator, value) => comparison(path, *operator, value, filtered),
        Condition::Has(path) => exists(path, filtered),
        Condition::InGroup(None) => "false".into(),
        Condition::InGroup(Some(group)) => {
            let group = filtered.parameter(group.0);
            format!(
                "EXISTS (SELECT FROM links l WHERE l.tenant = $1 AND l.kind = 'childAssets' AND l.parent = {group} \
                    AND l.child = o.id)"
            )
        }
    }
}

/// Returns where to search for objects that satisfy a condition, if it requires a fragment that the server writes: no
/// index of objects covers these.
pub(crate) fn bound(condition: &Condition) -> Option<&'static str> {
    match condition {
        Condition::All(parts) => parts.iter().find_map(bound),
        Condition::Has(path) => server_fragments::bound(path.fragment()),
        // An absent value is unequal to everything, and it is equal to null.
        Condition::Compare(_, Operator::NotEqual, _) | Condition::Compare(_, _, Value::Null) => None,
        Condition::Compare(Path::Fragment(path) | Path::Instant(path), operator, value) => {
            server_fragments::bound_of_comparison(path, *operator, value)
        }
        _ => None,
    }
}

/// Returns the sort order of a result, as the list after `ORDER BY`.
pub(crate) fn order(keys: &[SortKey], filtered: &mut Filtered) -> String {
    let mut sort = String::new();
    for SortKey { path, direction } in keys {
        let direction = match direction {
            Direction::Ascending => "ASC",
            Direction::Descending => "DESC",
        };
        let columns = match path {
            Path::Id => vec!["o.id".into()],
            Path::Text(member) => vec![text_column(*member).into()],
            Path::Time(member) => vec![time_column(*member).into()],
            Path::Instant(path) => vec![format!("instant_of({})", first(path, filtered))],
            Path::Fragment(path) => {
                let value = first(path, filtered);
                let typed = |type_: &str, column: &str| {
                    format!("(CASE jsonb_typeof({value}) WHEN '{type_}' THEN {column} END)")
                };
                vec![
                    typed("number", &format!("({value})::numeric")),
                    format!("{} COLLATE \"C\"", typed("string", &format!("{value} #>> '{{}}'"))),
                ]
            }
        };
        for column in columns {
            sort.push_str(&format!("{column} {direction}, "));
        }
    }
    sort + "o.id"
}

fn joined(parts: &[Condition], by: &str, filtered: &mut Filtered) -> String {
    let parts: Vec<String> = parts.iter().map(|part| clause(part, filtered)).collect();
    format!("({})", parts.join(by))
}

fn not(clause: &str) -> String {
    format!("(({clause}) IS NOT TRUE)")
}

fn comparison(path: &Path, operator: Operator, value: &Value, filtered: &mut Filtered) -> String {
    let sign = sign(operator);
    match (path, value) {
        (Path::Fragment(path), _) => fragment(path, operator, value, filtered),
        (Path::Instant(path), Value::Null) if operator == Operator::Equal => {
            not(&instants(path, "IS NOT NULL", filtered))
        }
        (Path::Instant(path), Value::Instant(instant)) => {
            let instant = filtered.parameter(instant.instant());
            instants(path, &format!("{sign} {instant}"), filtered)
        }
        (Path::Time(member), Value::Instant(instant)) => {
            format!("{} {sign} {}", time_column(*member), filtered.parameter(instant.instant()))
        }
        (Path::Id, Value::Text(digits) | Value::Number(digits)) => match digits.parse::<i64>() {
            Ok(id) => format!("o.id {sign} {}", filtered.parameter(id)),
            Err(_) => "false".into(),
        },
        (Path::Id, Value::Pattern(pieces)) => {
            format!("o.id::text LIKE {}", filtered.parameter(like(pieces)))
        }
        // Equality does not depend on the collation, and these columns have an index in the database's own.
        (Path::Text(member @ (TextMember::Type | TextMember::Owner)), Value::Text(text))
            if operator == Operator::Equal =>
        {
            let column = if *member == TextMember::Type { "o.type" } else { "o.owner" };
            format!("{column} = {}", filtered.parameter(text.clone()))
        }
        (Path::Text(member), Value::Text(text)) => {
            format!("{} {sign} {}", text_column(*member), filtered.parameter(text.clone()))
        }
        (Path::Text(member), Value::Pattern(pieces)) => {
            format!("{} LIKE {}", text_column(*member), filtered.parameter(like(pieces)))
        }
        (Path::Text(member), Value::Null) if operator == Operator::Equal => {
            format!("{} IS NULL", text_column(*member))
        }
        // The value has another type, or its type has no order.
        _ => "false".into(),
    }
}

fn fragment(path: &FragmentPath, operator: Operator, value: &Value, filtered: &mut Filtered) -> String {
    let sign = if operator == Operator::Equal { "==" } else { sign(operator) };
    let predicate = match value {
        Value::Text(text) => format!("@ {sign} {}", quoted(text)),
        Value::Number(number) => format!("@ {sign} {number}"),
        Value::Pattern(pieces) => match pieces.as_slice() {
            [start, end] if end.is_empty() => format!("@ starts with {}", quoted(start)),
            _ => format!("@ like_regex {} flag \"s\"", quoted(&regular_expression(pieces))),
        },
        Value::Boolean(boolean) if operator == Operator::Equal => format!("@ == {boolean}"),
        Value::Null if operator == Operator::Equal => {
            let absent = not(&exists(path, filtered));
            let (document, inside) = place(path, filtered);
            let null = filtered.parameter(format!("{inside} ? (@ == null)"));
            return format!("({absent} OR {document} @? {null}::text::jsonpath)");
        }
        _ => return "false".into(),
    };
    let (document, inside) = place(path, filtered);
    let found = filtered.parameter(format!("{inside} ? ({predicate})"));
    let found = format!("{document} @? {found}::text::jsonpath");
    if server_fragments::implies_open_alarm(path, operator, value) {
        return format!("({} AND {found})", server_fragments::HAS_OPEN_ALARM);
    }
    match (operator, value) {
        // The index finds paths with equal values; for all other conditions it finds at least the name of the fragment.
        (Operator::Equal, Value::Text(_) | Value::Number(_) | Value::Boolean(_)) if document == STORED => {
            found
        }
        _ => format!("({} AND {found})", has_fragment(path.fragment(), filtered)),
    }
}

fn exists(path: &FragmentPath, filtered: &mut Filtered) -> String {
    let fragment = has_fragment(path.fragment(), filtered);
    if path.segments().len() == 1 {
        return fragment;
    }
    let (document, inside) = place(path, filtered);
    let inside = filtered.parameter(inside);
    format!("({fragment} AND {document} @? {inside}::text::jsonpath)")
}

/// Returns a condition that an object shows a fragment, stored or written by the server.
pub(crate) fn has_fragment(name: &str, filtered: &mut Filtered) -> String {
    server_fragments::has_fragment(name, filtered).unwrap_or_else(|| {
        format!("o.fragment_names @> ARRAY[{}::text]", filtered.parameter(name.to_owned()))
    })
}

/// Returns a condition that any instant at a path satisfies a condition.
fn instants(path: &FragmentPath, condition: &str, filtered: &mut Filtered) -> String {
    let fragment = has_fragment(path.fragment(), filtered);
    let (document, inside) = place(path, filtered);
    // This looks into as many levels of arrays as a comparison does.
    let path = filtered.parameter(format!("{inside}[*][*]"));
    format!(
        "({fragment} AND EXISTS (SELECT FROM jsonb_path_query({document}, {path}::text::jsonpath) AS at (value) \
            WHERE instant_of(at.value) {condition}))"
    )
}

/// Returns the first value at a path as an expression.
fn first(path: &FragmentPath, filtered: &mut Filtered) -> String {
    let (document, inside) = place(path, filtered);
    let path = filtered.parameter(inside);
    format!("jsonb_path_query_first({document}, {path}::text::jsonpath)")
}

/// The column with the fragments that clients wrote.
const STORED: &str = "o.fragments";

/// Returns the JSON document of a path and the rest of the path: all fragments, or one that the server writes.
fn place(path: &FragmentPath, filtered: &mut Filtered) -> (String, String) {
    match server_fragments::document(path.fragment(), filtered) {
        Some(document) => (document, accessors(&path.segments()[1..])),
        None => (STORED.into(), accessors(path.segments())),
    }
}

/// `$."a"."b"`
fn accessors(segments: &[String]) -> String {
    segments.iter().fold("$".to_owned(), |path, name| path + "." + &quoted(name))
}

/// Writes a text as a `jsonpath` string, which has the syntax of JSON.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is valid JSON")
}

/// Joins the pieces between wildcards to a LIKE pattern.
fn like(pieces: &[String]) -> String {
    let escaped = |piece: &String| piece.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    pieces.iter().map(escaped).collect::<Vec<_>>().join("%")
}

/// Joins the pieces between wildcards to a regular expression without any other special characters.
fn regular_expression(pieces: &[String]) -> String {
    let escaped = |piece: &String| {
        piece.chars().fold(String::new(), |text, c| {
            if c.is_ascii_punctuation() {
                text + "\\" + c.encode_utf8(&mut [0; 4])
            } else {
                text + c.encode_utf8(&mut [0; 4])
            }
        })
    };
    format!("^{}$", pieces.iter().map(escaped).collect::<Vec<_>>().join(".*"))
}

fn text_column(member: TextMember) -> &'static str {
    match member {
        TextMember::Type => "o.type COLLATE \"C\"",
        TextMember::Name => "o.name COLLATE \"C\"",
        TextMember::Owner => "o.owner COLLATE \"C\"",
    }
}

fn time_column(member: TimeMember) -> &'static str {
    match member {
        TimeMember::CreationTime => "o.created_at",
        TimeMember::LastUpdated => "o.updated_at",
    }
}

fn sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => "=",
        Operator::NotEqual => "<>",
        Operator::Greater => ">",
        Operator::GreaterOrEqual => ">=",
        Operator::Less => "<",
        Operator::LessOrEqual => "<=",
    }
}
