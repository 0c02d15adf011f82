use super::*;

const ALARM: &str = r#"{"realtimeAction":"UPDATE","data":{"id":"42","type":"acme_Leak","severity":"CRITICAL",
    "text":"a \"leak\"","count":3,"source":{"id":"208","name":"pump"},"time":"2026-01-02T03:04:05.000+01:00",
    "acme_Readings":[{"value":1.50,"tags":["a","b"]},{"value":20,"tags":[]}],"acme_Nested":[[["deep"]],["flat"]],
    "acme_Null":null,"acme_On":true,"acme_Sold":"2025-12-31T23:00:00Z","acme_Big":12345678901234567890123}}"#;

fn matches(filter: &str, data: &str) -> bool {
    NotificationFilter::compile(filter).expect(filter).matches(&Content::of(data))
}

fn refused(filter: &str) -> String {
    NotificationFilter::compile(filter).expect_err(filter).to_string()
}

#[test]
fn conditions_are_compared_with_the_members_of_a_notification() {
    for (filter, expected) in [
        ("severity eq 'CRITICAL' and type eq 'acme_*'", true),
        ("$filter=severity eq 'CRITICAL'", true),
        ("severity eq 'critical'", false),
        ("realtimeAction eq 'UPDATE'", true),
        ("realtimeAction eq 'CREATE' or count ge 3", true),
        ("not (count gt 3) and not count lt 3", true),
        ("count eq '3'", false),
        ("count ne '3'", true),
        ("text eq 'a \"leak\"'", true),
        ("type eq '*c*e*e*'", true),
        ("type eq 'acme_Leak*Leak'", false),
        ("text eq '*a*l*a*'", true),
        ("text eq '*k*a*k*'", false),
        ("id eq 42 and id eq '42' and id eq '042'", true),
        ("id gt 5 and id lt 100", true),
        ("source.id eq '208'", true),
        ("source.id eq 208", false),
        ("has(source.name) and not has(source.owner)", true),
        ("acme_Readings.value eq 1.5 and acme_Readings.value eq 2e1", true),
        ("acme_Readings.tags eq 'b'", true),
        ("acme_Readings.value gt 20", false),
        ("acme_Nested eq 'flat' and not acme_Nested eq 'deep'", true),
        ("has(acme_Null) and acme_Null eq null and acme_Absent eq null", true),
        ("has(acme_Absent) or acme_Absent ne null", false),
        ("acme_On eq true and acme_On ne false", true),
        ("time gt '2026-01-02' and time lt '2026-01-02T02:04:05.001Z'", true),
        ("time.date eq '2026-01-02T02:04:05Z' and has(time)", true),
        ("acme_Sold.date lt '2026-01-01' and has(acme_Sold)", true),
        ("creationTime eq null and acme_Sold ne null", true),
        ("acme_Big eq 12345678901234567890123", true),
        ("acme_Big eq 12345678901234567890124", false),
    ] {
        assert_eq!(matches(filter, ALARM), expected, "{filter}");
    }
}

#[test]
fn deletion_has_only_an_id_and_an_operation_of_an_agent_no_action() {
    let deletion = r#"{"realtimeAction":"DELETE","data":"42"}"#;
    assert!(matches("realtimeAction eq 'DELETE' and id eq '42' and severity eq null", deletion));
    let operation = r#"{"id":"7","deviceId":"208","acme_Restart":{}}"#;
    assert!(matches("has(acme_Restart) and realtimeAction eq null and deviceId eq '208'", operation));
    // A member of the object does not hide the action.
    let own = r#"{"realtimeAction":"CREATE","data":{"realtimeAction":"DELETE"}}"#;
    assert!(matches("realtimeAction eq 'CREATE'", own));
    let row = r#"{"realtimeAction":"CREATE","data":{"a":1},"other":2}"#;
    assert!(matches("realtimeAction eq 'CREATE' and data.a eq 1 and other eq 2", row));
    let message = br#"{"channel":"/pumps/hot","id":"1","data":{"pressure":7.5}}"#;
    assert!(
        NotificationFilter::compile("pressure gt 7")
            .expect("a filter")
            .matches(&Content::of_message(message))
    );
}

#[test]
fn error_names_the_place_and_what_is_expected() {
    for (filter, place, expected) in [
        ("", 1, "a path, has(, not or ("),
        ("severity = 'CRITICAL'", 10, "eq, ne, gt, ge, lt or le, found '= 'CRITICAL''"),
        ("severity eq CRITICAL", 13, "a 'text', a number"),
        ("severity eq 'A' $orderby=id", 17, "and, or or the end"),
        ("bygroupid(7)", 10, "eq, ne"),
        ("type.x eq 1", 1, "has no members"),
        ("not has(realtimeAction.x)", 9, "has no members"),
        ("time gt 'yesterday'", 9, "a timestamp"),
        ("$type eq 'x'", 1, "a name that does not start with '$'"),
    ] {
        let error = refused(filter);
        assert!(error.contains(&format!("'filter' at character {place}: expected")), "{filter}: {error}");
        assert!(error.contains(expected), "{filter}: {error}");
    }
    assert!(refused(&format!("a eq '{}'", "x".repeat(2048))).contains("at most 2048 bytes"));
    assert!(refused(&"(".repeat(2000)).contains("32 levels"));
}

#[test]
fn filter_that_would_look_at_too_many_values_matches() {
    let many =
        |count: usize| format!(r#"{{"realtimeAction":"CREATE","data":{{"a":[{}1]}}}}"#, "0,".repeat(count));
    assert!(!matches("a eq 2", &many(5_000)));
    for filter in ["a eq 2", "not a ne 2", "a eq 2 and a eq 3", "not (a eq null)"] {
        assert!(matches(filter, &many(MOST_VALUES)), "{filter}");
    }
}

#[test]
fn wildcards_of_a_hostile_filter_are_compared_in_linear_time() {
    let text = "a".repeat(400_000);
    let pattern = format!("a eq '*{}b*'", "a*".repeat(14));
    let json = format!(r#"{{"realtimeAction":"CREATE","data":{{"a":"{text}"}}}}"#);
    // A comparison that goes back would not end.
    assert!(!matches(&pattern, &json));
}

proptest::proptest! {
    #[test]
    fn pattern_agrees_with_a_comparison_that_tries_every_split(text in "[ab]{0,8}", pattern in "[ab*]{1,6}") {
        fn is_like(text: &[u8], pattern: &[u8]) -> bool {
            match pattern.split_first() {
                None => text.is_empty(),
                Some((b'*', rest)) => (0..=text.len()).any(|at| is_like(&text[at..], rest)),
                Some((byte, rest)) => text.first() == Some(byte) && is_like(&text[1..], rest),
            }
        }
        let json = format!(r#"{{"realtimeAction":"CREATE","data":{{"a":"{text}"}}}}"#);
        let expected = is_like(text.as_bytes(), pattern.as_bytes());
        proptest::prop_assert_eq!(matches(&format!("a eq '{pattern}'"), &json), expected);
    }

    #[test]
    fn not_is_the_exact_negation_for_any_value(value in 0..7_usize, operator in 0..6_usize, other in 0..6_usize) {
        let values = ["null", "true", "1.5", r#""x""#, r#"["x",null]"#, "{}", r#"[["x"],2]"#];
        let operator = ["eq", "ne", "gt", "ge", "lt", "le"][operator];
        let other = ["null", "true", "1.5", "'x'", "'*'", "2"][other];
        let json = format!(r#"{{"realtimeAction":"CREATE","data":{{"a":{}}}}}"#, values[value]);
        let condition = format!("a {operator} {other}");
        proptest::prop_assert_ne!(matches(&condition, &json), matches(&format!("not {condition}"), &json));
    }

    #[test]
    fn any_content_is_compared_without_a_panic(json in r#"[\{\}\[\]",:a-z0-9\\. -]{0,60}"#) {
        let filter = NotificationFilter::compile("a.b eq 1 or id eq 'x' or has(realtimeAction)").expect("a filter");
        let _ = filter.matches(&Content::of(&json));
        let _ = filter.matches(&Content::of_message(json.as_bytes()));
    }
}
