use proptest::prelude::*;

use super::*;
use crate::fragment_name::{is_fixed_member, is_storable};

fn parsed(text: &str) -> InventoryQuery {
    InventoryQuery::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn condition(text: &str) -> Condition {
    parsed(text).condition.unwrap_or_else(|| panic!("no condition in {text}"))
}

fn fragment(names: &[&str]) -> FragmentPath {
    FragmentPath(names.iter().map(|name| (*name).to_owned()).collect())
}

fn refused(text: &str) -> String {
    InventoryQuery::parse(text).expect_err(text).to_string()
}

#[test]
fn comparison_takes_every_operator_and_every_kind_of_value() {
    let path = || Path::Fragment(fragment(&["plat_Hardware", "model"]));
    for (operator, meaning) in [
        ("eq", Operator::Equal),
        ("ne", Operator::NotEqual),
        ("gt", Operator::Greater),
        ("ge", Operator::GreaterOrEqual),
        ("lt", Operator::Less),
        ("le", Operator::LessOrEqual),
    ] {
        let text = format!("plat_Hardware.model {operator} 'it''s'");
        assert_eq!(condition(&text), Condition::Compare(path(), meaning, Value::Text("it's".into())));
    }
    for (text, value) in [
        ("-1.5e+3", Value::Number("-1.5e+3".into())),
        ("true", Value::Boolean(true)),
        ("false", Value::Boolean(false)),
        ("null", Value::Null),
        ("'a*b**'", Value::Pattern(vec!["a".into(), "b".into(), String::new()])),
        ("'***'", Value::Pattern(vec![String::new(), String::new()])),
    ] {
        let text = format!("plat_Hardware.model eq {text}");
        assert_eq!(condition(&text), Condition::Compare(path(), Operator::Equal, value));
    }
}

#[test]
fn and_binds_tighter_than_or_and_not_tighter_than_and() {
    let has = |name: &str| Condition::Has(fragment(&[name]));
    let parts = vec![has("a"), Condition::All(vec![Condition::Not(Box::new(has("b"))), has("c")])];
    assert_eq!(condition("has(a) or not has(b) and has(c)"), Condition::Any(parts.clone()));
    assert_eq!(condition(" ( has( a ) or ((not(has (b))) and has(c)) ) "), Condition::Any(parts));
}

#[test]
fn standard_members_are_distinguished_from_fragments() {
    let path = |text: &str| match condition(&format!("{text} eq null")) {
        Condition::Compare(path, _, _) => path,
        other => panic!("{other:?}"),
    };
    assert_eq!(path("id"), Path::Id);
    assert_eq!(path("owner"), Path::Text(TextMember::Owner));
    assert_eq!(path("lastUpdated.date"), Path::Time(TimeMember::LastUpdated));
    assert_eq!(path("plat_Sold.date"), Path::Instant(fragment(&["plat_Sold"])));
    assert_eq!(path("date"), Path::Fragment(fragment(&["date"])));
    assert_eq!(path("has"), Path::Fragment(fragment(&["has"])));
}

#[test]
fn filter_and_order_come_in_either_order_and_alone() {
    let order = vec![
        SortKey { path: Path::Text(TextMember::Name), direction: Direction::Descending },
        SortKey { path: Path::Fragment(fragment(&["a", "b"])), direction: Direction::Ascending },
    ];
    for text in [
        "$filter=has(a) $orderby=name desc,a.b",
        "$orderby=name desc , a.b asc $filter=has(a)",
        "has(a) $orderby=name desc,a.b",
        "$filter=(has(a))$orderby=name desc,a.b",
    ] {
        let query = parsed(text);
        assert_eq!((query.condition.is_some(), &query.order), (true, &order), "{text}");
    }
    assert_eq!(parsed("$orderby=name desc,a.b").condition, None);
}

#[test]
fn invalid_group_id_matches_no_group() {
    assert_eq!(condition("bygroupid(99999999999999999999)"), Condition::InGroup(None));
    assert_eq!(condition("bygroupid( 7 )"), Condition::InGroup(Some(ManagedObjectId(7))));
}

#[test]
fn errors_name_the_position_and_the_expected_syntax() {
    for (text, place, expected) in [
        ("", 1, "a condition"),
        ("name", 5, "eq, ne"),
        ("name eq", 8, "a 'text'"),
        ("name eq pump", 9, "a 'text'"),
        ("name eq 'pump", 9, "closing quote"),
        ("name = 'pump'", 6, "eq, ne"),
        ("name EQ 'pump'", 6, "eq, ne"),
        ("has(a", 6, ")"),
        ("has()", 5, "a path"),
        ("(has(a)", 8, ")"),
        ("has(a))", 7, "the end"),
        ("has(a) and", 11, "a path"),
        ("has(a) has(b)", 8, "the end"),
        ("bygroupid(x)", 11, "digits"),
        ("a..b eq 1", 1, "single dots"),
        ("größe eq 01", 10, "a 'text'"),
        ("a eq 1e999", 6, "a 'text'"),
        ("creationTime gt 'yesterday'", 17, "timestamp"),
        ("$orderby=", 10, "a path"),
        ("$filter=has(a) $filter=has(b)", 16, "$orderby"),
        ("a eq 'x\0'", 6, "NUL"),
        ("a\0 eq 'x'", 1, "NUL"),
    ] {
        let error = refused(text);
        assert!(error.contains(&format!("character {place}:")), "{text}: {error}");
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn name_that_no_fragment_can_have_is_refused_with_its_place() {
    for (text, place) in [
        ("$type ne 'x'", 1),
        ("not($type eq 'x')", 5),
        ("=type ne 'x'", 1),
        ("= type ne 'x'", 1),
        ("filter=type ne 'x'", 1),
        ("Filter=type ne 'x'", 1),
        ("$FILTER=type ne 'x'", 1),
        ("$filter:type eq 'x'", 1),
        ("$filter = type ne 'x'", 1),
        ("$filter=$type ne 'x'", 9),
        ("$filter=$orderby=name", 9),
        ("orderby=name ne 'x'", 1),
        ("$orderby=$type", 10),
        ("$orderby=name,=type desc", 15),
        ("has($type)", 5),
        ("not has(=type)", 9),
        ("has(a) and $b.c ne 1", 12),
        ("type.name ne 'x'", 1),
        ("not has(id.value)", 9),
        ("creationTime.date.x ne 1", 1),
        ("self ne 'x'", 1),
        ("childDevices.references ne null", 1),
        ("$orderby=assetParents", 10),
    ] {
        let error = refused(text);
        assert!(error.contains(&format!("character {place}:")), "{text}: {error}");
    }
}

#[test]
fn names_inside_a_fragment_may_begin_with_a_dollar_sign() {
    assert_eq!(condition("has(a.$ref)"), Condition::Has(fragment(&["a", "$ref"])));
    assert_eq!(condition("has(a=b)"), Condition::Has(fragment(&["a=b"])));
    assert_eq!(condition("has(filter)"), Condition::Has(fragment(&["filter"])));
}

#[test]
fn has_of_a_standard_member_means_that_it_is_not_null() {
    let present = |path| Condition::Compare(path, Operator::NotEqual, Value::Null);
    assert_eq!(condition("has(name)"), present(Path::Text(TextMember::Name)));
    assert_eq!(condition("has(lastUpdated.date)"), present(Path::Time(TimeMember::LastUpdated)));
    assert_eq!(condition("has(sold.date)"), Condition::Has(fragment(&["sold", "date"])));
}

#[test]
fn length_depth_and_numbers_of_parts_are_bounded() {
    assert!(refused(&"a".repeat(8193)).contains("8192 bytes"));
    assert!(refused(&"not ".repeat(100)).contains("levels"));
    assert!(refused(&"(".repeat(8000)).contains("levels"));
    assert!(refused(&vec!["has(a)"; 201].join(" or ")).contains("200 conditions"));
    assert!(refused(&format!("{} eq 1", ["a"; 17].join("."))).contains("16 names"));
    assert!(refused(&format!("a eq '{}'", "*a".repeat(17))).contains("16 wildcards"));
    assert!(refused(&format!("$orderby={}", ["a"; 9].join(","))).contains("8 paths"));
    assert!(
        matches!(condition(&vec!["has(a)"; 200].join(" or ")), Condition::Any(parts) if parts.len() == 200)
    );
}

/// The name of the fragment that a path names, if it names one.
fn fragment_of(path: &Path) -> Option<&str> {
    match path {
        Path::Fragment(path) | Path::Instant(path) => Some(path.fragment()),
        Path::Id | Path::Text(_) | Path::Time(_) => None,
    }
}

/// The names of the fragments in a condition.
fn fragments_of(condition: &Condition) -> Vec<&str> {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => parts.iter().flat_map(fragments_of).collect(),
        Condition::Not(inner) => fragments_of(inner),
        Condition::Compare(path, ..) => fragment_of(path).into_iter().collect(),
        Condition::Has(path) => vec![path.fragment()],
        Condition::InGroup(_) => Vec::new(),
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected_without_a_panic(text in ".{0,80}") {
        let _ = InventoryQuery::parse(&text);
    }

    #[test]
    fn words_of_the_language_in_any_order_never_panic(
        words in proptest::collection::vec(
            prop_oneof![
                Just("("), Just(")"), Just("not"), Just("and"), Just("or"), Just("has("), Just("bygroupid("),
                Just("eq"), Just("'"), Just("''"), Just("'a*'"), Just("5"), Just("-"), Just("null"), Just("a.b"),
                Just("$filter="), Just("$orderby="), Just(","), Just("desc"), Just(" "), Just("é"), Just("."),
                Just("$"), Just("="), Just("$type"), Just("=type"), Just("filter="), Just("type"), Just("self"),
                Just("ne"), Just("has(a)"), Just("name ne 'a'"),
            ],
            0..30,
        )
    ) {
        for text in [words.concat(), words.join(" ")] {
            if let Ok(query) = InventoryQuery::parse(&text) {
                let order = query.order.iter().filter_map(|key| fragment_of(&key.path));
                let names = order.chain(query.condition.iter().flat_map(fragments_of));
                for name in names {
                    prop_assert!(is_storable(name) && !name.starts_with('=') && !is_fixed_member(name), "{text}");
                }
            }
        }
    }
}
