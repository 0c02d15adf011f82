use platform_model::realtime::change::PublishedChange;
use platform_model::timestamp::Timestamp;
use proptest::prelude::*;

use super::path::{Step, steps};
use super::*;
use crate::samples::{
    FIRST, alarm, client_event, evaluate, evaluate_within, event, literal, map, measurement, response, row,
    shown, text, time,
};

fn call_of(function: Function, arguments: &[Value]) -> String {
    let call = Expression::Call(function, arguments.iter().cloned().map(literal).collect());
    shown(&evaluate(&call, &row(&[])))
}

#[test]
fn getters_return_the_value_at_a_path_if_it_has_their_type() {
    use Function::*;
    let content = concat!(
        r#","plat_P":{"lat":1.5,"n":7,"name":"x","esc":"a\"b","on":true,"at":"2024-01-01T00:00:00Z","#,
        r#""list":[1,{"a.b":"odd"}],"none":null}"#
    );
    let event = client_event(PublishedChange::EventCreated(event(content)));
    for (function, path, expected) in [
        (GetObject, "plat_P.list", r#"l:[1,{"a.b":"odd"}]"#),
        (GetObject, "plat_P.list[1]", r#"m:{"a.b":"odd"}"#),
        (GetObject, "plat_P.n", "i:7"),
        (GetObject, "plat_P.none", "null"),
        (GetObject, "plat_Q", "null"),
        (
            GetObject,
            "source",
            r#"m:{"id":"7","self":"/inventory/managedObjects/7","name":"pump","type":"P1"}"#,
        ),
        (GetString, "plat_P.name", r#"s:"x""#),
        (GetString, "plat_P.esc", r#"s:"a\"b""#),
        (GetString, "plat_P.lat", r#"s:"1.5""#),
        (GetString, "plat_P.on", r#"s:"true""#),
        (GetString, "plat_P.list", "null"),
        (GetString, "plat_P.list[1]['a.b']", r#"s:"odd""#),
        (GetString, r#"plat_P.list[1]["a.b"]"#, r#"s:"odd""#),
        (GetString, "$.type", r#"s:"t""#),
        (GetString, "type", r#"s:"t""#),
        (GetString, "source.id", r#"s:"7""#),
        (GetString, "source.name", r#"s:"pump""#),
        (GetString, "time", r#"s:"2024-01-01T01:00:00.500+01:00""#),
        (GetString, "self", r#"s:"/event/events/102""#),
        (GetNumber, "plat_P.lat", "d:1.5"),
        (GetNumber, "plat_P.n", "i:7"),
        (GetNumber, "plat_P.name", "null"),
        (GetNumber, "plat_P.list[0]", "i:1"),
        (GetNumber, "plat_P.list[9]", "null"),
        (GetNumber, "plat_P.lat.deeper", "null"),
        (GetNumber, "plat_P..lat", "null"),
        (GetNumber, "plat_P.list[x]", "null"),
        (GetBoolean, "plat_P.on", "true"),
        (GetBoolean, "plat_P.n", "null"),
        (GetDate, "plat_P.at", r#"t:"2024-01-01T00:00:00.000Z""#),
        (GetDate, "time", r#"t:"2024-01-01T01:00:00.500+01:00""#),
        (GetDate, "plat_P.name", "null"),
        (GetList, "plat_P.list", r#"l:[1,{"a.b":"odd"}]"#),
        (GetList, "plat_P", "null"),
    ] {
        let call = Expression::Call(function, vec![Expression::Event(FIRST), literal(text(path))]);
        assert_eq!(shown(&evaluate(&call, &event)), expected, "{function:?} {path}");
    }
}

#[test]
fn times_are_compared_by_their_distance() {
    use Function::{After, Before};
    let at =
        |clock: &str| Value::Time(Timestamp::parse("time", &format!("2024-01-01T{clock}")).expect(clock));
    let noon = || at("12:00:00Z");
    let minute = 60_000.0;
    for (function, one, other, bounds, expected) in [
        (After, at("12:00:00.001Z"), noon(), vec![], "true"),
        (After, noon(), noon(), vec![], "false"),
        (After, at("13:00:00+01:00"), noon(), vec![], "false"),
        (Before, noon(), at("12:00:00.001Z"), vec![], "true"),
        (Before, noon(), noon(), vec![], "false"),
        // The least distance and the greatest one belong to the range, whichever is written first.
        (After, at("12:15:00Z"), noon(), vec![15.0], "true"),
        (After, at("12:14:59.999Z"), noon(), vec![15.0], "false"),
        (After, at("11:00:00Z"), noon(), vec![15.0], "false"),
        (Before, at("11:45:00Z"), noon(), vec![15.0], "true"),
        (After, at("12:20:00Z"), noon(), vec![15.0, 20.0], "true"),
        (After, at("12:20:00.001Z"), noon(), vec![20.0, 15.0], "false"),
        (After, at("12:00:00Z"), noon(), vec![0.0], "true"),
        (After, Value::Null, noon(), vec![], "null"),
        (After, noon(), text("yesterday"), vec![], "null"),
        (Before, text("2024-01-01T11:00:00Z"), noon(), vec![], "true"),
        (After, Value::Integer(1_704_110_400_001), noon(), vec![], "true"),
        (After, Value::Integer(1_704_110_400_000), noon(), vec![], "false"),
    ] {
        let mut operands = vec![one, other];
        operands.extend(bounds.iter().map(|minutes| Value::Double(minutes * minute)));
        assert_eq!(call_of(function, &operands), expected, "{function:?} {operands:?}");
    }
    assert_eq!(call_of(After, &[noon(), noon(), Value::Null]), "null");
}

#[test]
fn formatted_time_is_its_text() {
    for (value, expected) in [
        (Value::Time(time()), r#"s:"2024-01-01T01:00:00.500+01:00""#),
        (Value::Integer(1_704_067_200_500), r#"s:"2024-01-01T00:00:00.500Z""#),
        (text("2024-01-01T00:00:00Z"), r#"s:"2024-01-01T00:00:00.000Z""#),
        (text("soon"), "null"),
        (Value::Null, "null"),
    ] {
        assert_eq!(call_of(Function::Format, std::slice::from_ref(&value)), expected, "{value:?}");
    }
}

#[test]
fn getters_read_measurements_objects_rows_maps_and_responses() {
    use Function::{GetNumber, GetString};
    let series = r#","plat_T":{"T":{"value":20,"unit":"C"}}"#;
    let measured = client_event(PublishedChange::MeasurementCreated(measurement(series)));
    let nested = row(&[("m", Value::Event(measured.clone())), ("o", map(&[("a", Value::Integer(1))]))]);
    let id = Value::Id(std::sync::Arc::new(crate::value::Id::of("9")));
    let rows = row(&[("source", id), ("text", text("hi"))]);
    let answer = response();
    let alarm = crate::value::Object::Alarm(alarm(r#","x":{"y":"z"}"#));
    let event = || Expression::Event(FIRST);
    for (function, of, path, source, expected) in [
        (GetNumber, event(), "plat_T.T.value", &measured, "d:20"),
        (GetString, event(), "plat_T.T.unit", &measured, r#"s:"C""#),
        (GetString, event(), "text", &rows, r#"s:"hi""#),
        (GetString, event(), "source", &rows, r#"s:"9""#),
        (GetString, event(), "source.value", &rows, r#"s:"9""#),
        (GetNumber, event(), "o.a", &nested, "i:1"),
        (GetNumber, Expression::Column(FIRST, 0), "plat_T.T.value", &nested, "d:20"),
        (GetNumber, Expression::Column(FIRST, 1), "a", &nested, "i:1"),
        (GetString, literal(Value::Object(alarm)), "x.y", &nested, r#"s:"z""#),
        (GetNumber, event(), "status", &answer, "i:200"),
        (GetString, event(), "source.id", &answer, r#"s:"7""#),
        (GetString, literal(Value::Null), "a", &answer, "null"),
        (
            GetString,
            Expression::Call(Function::GetObject, vec![event(), literal(text("source"))]),
            "id",
            &measured,
            r#"s:"7""#,
        ),
    ] {
        let call = Expression::Call(function, vec![of, literal(text(path))]);
        assert_eq!(shown(&evaluate(&call, source)), expected, "{path}");
    }
}

#[test]
fn default_replaces_absent_values_and_those_of_another_type() {
    let of = map(&[("a", Value::Integer(1))]);
    let default = text("none");
    for (path, expected) in [("a", r#"s:"1""#), ("b", r#"s:"none""#), ("a.b", r#"s:"none""#)] {
        assert_eq!(call_of(Function::GetString, &[of.clone(), text(path), default.clone()]), expected);
    }
    assert_eq!(call_of(Function::GetBoolean, &[of, text("a"), default.clone()]), r#"s:"none""#);
    assert_eq!(call_of(Function::GetString, &[Value::Null, Value::Null, default]), r#"s:"none""#);
}

#[test]
fn cast_gives_the_type_or_null() {
    use Scalar::*;
    let (int, double) = (Value::Integer, Value::Double);
    for (value, scalar, expected) in [
        (Value::Null, Integer, "null"),
        (double(2.9), Integer, "i:2"),
        (double(-2.9), Integer, "i:-2"),
        (double(1e19), Integer, "null"),
        (double(f64::NAN), Integer, "null"),
        (text(" 12 "), Integer, "i:12"),
        (text("1.5"), Integer, "null"),
        (Value::Boolean(true), Integer, "null"),
        (Value::Time(time()), Integer, "i:1704067200500"),
        (int(2), Double, "d:2"),
        (text("1.5e3"), Double, "d:1500"),
        (text("inf"), Double, "null"),
        (text(""), Double, "null"),
        (text("TRUE"), Boolean, "true"),
        (text("yes"), Boolean, "null"),
        (int(1), Boolean, "null"),
        (double(20.0), Text, r#"s:"20""#),
        (Value::Time(time()), Text, r#"s:"2024-01-01T01:00:00.500+01:00""#),
        (map(&[]), Text, r#"s:"{}""#),
        (int(1_704_067_200_500), Time, r#"t:"2024-01-01T00:00:00.500Z""#),
        (int(i64::MAX), Time, "null"),
        (int(-1), Time, r#"t:"1969-12-31T23:59:59.999Z""#),
        (text("2024-01-01T00:00:00Z"), Time, r#"t:"2024-01-01T00:00:00.000Z""#),
        (text("yesterday"), Time, "null"),
        (map(&[]), Same, "m:{}"),
    ] {
        let cast = Expression::Cast(Box::new(literal(value.clone())), scalar);
        assert_eq!(shown(&evaluate(&cast, &row(&[]))), expected, "{value:?} {scalar:?}");
    }
}

#[test]
fn other_functions_return_the_expected_values() {
    use Function::*;
    let id = Value::Id(std::sync::Arc::new(crate::value::Id::of("9")));
    for (function, argument, expected) in [
        (ToDate, Value::Integer(0), r#"t:"1970-01-01T00:00:00.000Z""#),
        (ToDate, Value::Integer(-1), r#"t:"1969-12-31T23:59:59.999Z""#),
        (ToDate, Value::Integer(-62_135_596_800_000), r#"t:"0001-01-01T00:00:00.000Z""#),
        (ToDate, Value::Integer(-62_135_596_800_001), "null"),
        (ToDate, text("2024-01-01T00:00:00+01:00"), r#"t:"2024-01-01T00:00:00.000+01:00""#),
        (ToDate, Value::Boolean(true), "null"),
        (ToMillisec, Value::Time(time()), "i:1704067200500"),
        (ToMillisec, Value::Integer(5), "i:5"),
        (ToMillisec, text("2024-01-01T00:00:00Z"), "i:1704067200000"),
        (ToMillisec, Value::Null, "null"),
        (ToDouble, Value::Integer(5), "d:5"),
        (IdValue, id.clone(), r#"s:"9""#),
        (IdValue, text("9"), r#"s:"9""#),
        (IdValue, map(&[("value", Value::Integer(3))]), "i:3"),
        (IdValue, Value::Null, "null"),
        (ToJson, Value::Double(20.0), r#"s:"20""#),
        (ToJson, text("x"), r#"s:"\"x\"""#),
        (ToJson, map(&[("a", id)]), r#"s:"{\"a\":{\"value\":\"9\",\"type\":null,\"name\":null}}""#),
        (ToJson, Value::Null, r#"s:"null""#),
        (ToNumberSetParameter, text("1, 3,5-7"), "l:[1,3,5,6,7]"),
        (ToNumberSetParameter, text("7"), "l:[7]"),
        (ToNumberSetParameter, text("-2"), "l:[-2]"),
        (ToNumberSetParameter, text("*"), "null"),
        (ToNumberSetParameter, text("5-1"), "null"),
        (ToNumberSetParameter, text("0-9999999999"), "null"),
        (ToNumberSetParameter, text("1,-9223372036854775808"), "l:[1,-9223372036854775808]"),
        (ToNumberSetParameter, Value::Integer(1), "null"),
    ] {
        assert_eq!(call_of(function, std::slice::from_ref(&argument)), expected, "{function:?} {argument:?}");
    }
    assert_eq!(call_of(CurrentTimestamp, &[]), "i:1704067200500");
    assert_eq!(call_of(ToDate, &[]), "null");
}

#[test]
fn to_json_of_an_event_is_an_object_of_its_properties() {
    let call = Expression::Call(Function::ToJson, vec![Expression::Event(FIRST)]);
    let value = evaluate(&call, &client_event(PublishedChange::AlarmCreated(alarm(""))));
    let text = value.as_text().expect("a text").into_owned();
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["alarm"]["severity"], "MAJOR");
    assert_eq!(json["_type"], "ALARM_CREATE");
}

#[test]
fn to_json_of_a_fragment_holds_no_blanks_but_those_of_its_texts() {
    let blanks = r#"{"list": [1, 2, {"c": "z \" , y\\"}], "n": 1.50}"#;
    let value = crate::value::Seen::Json(blanks);
    assert_eq!(value.to_json(), r#"{"list":[1,2,{"c":"z \" , y\\"}],"n":1.50}"#);
}

fn is_like(text: &str, pattern: &str, escape: Option<char>) -> bool {
    let like = Expression::Like {
        value: Box::new(literal(self::text(text))),
        pattern: Box::new(literal(self::text(pattern))),
        escape,
        negated: false,
    };
    let (value, _) = evaluate_within(1_000_000, &like, &[]);
    matches!(value, Ok(Value::Boolean(true)))
}

#[test]
fn like_knows_wildcards_and_their_escape() {
    for (text, pattern, escape, expected) in [
        ("", "", None, true),
        ("", "%", None, true),
        ("", "_", None, false),
        ("a", "", None, false),
        ("äöü", "_ö_", None, true),
        ("abc", "%c", None, true),
        ("abcabd", "%ab_", None, true),
        ("abc", "ab", None, false),
        ("50%", r"50\%", None, true),
        ("500", r"50\%", None, false),
        ("50%", "50!%", Some('!'), true),
        (r"a\b", r"a\b", Some('!'), true),
        (r"a\", r"a\", None, true),
        ("ABC", "abc", None, false),
    ] {
        assert_eq!(is_like(text, pattern, escape), expected, "{text} like {pattern}");
    }
}

/// Implements the rules of `like` literally.
fn naive(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|at| naive(&text[at..], rest)),
        ['\\', c, rest @ ..] => text.first() == Some(c) && naive(&text[1..], rest),
        ['_', rest @ ..] => !text.is_empty() && naive(&text[1..], rest),
        [c, rest @ ..] => text.first() == Some(c) && naive(&text[1..], rest),
    }
}

proptest! {
    #[test]
    fn like_agrees_with_its_rules(text in "[ab%_\\\\é]{0,8}", pattern in "[ab%_\\\\é]{0,6}") {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        prop_assert_eq!(is_like(&text, &pattern, None), naive(&chars(&text), &chars(&pattern)));
    }

    #[test]
    fn any_path_is_taken_apart_or_refused(path in "[$a.'\"\\[\\]0é]{0,12}") {
        prop_assert!(steps(&path).count() <= path.len());
    }

    #[test]
    fn any_text_is_cast_or_null(any in ".{0,30}", number in any::<f64>()) {
        for value in [text(&any), Value::Double(number)] {
            for scalar in [Scalar::Boolean, Scalar::Integer, Scalar::Double, Scalar::Text, Scalar::Time] {
                let cast = Expression::Cast(Box::new(literal(value.clone())), scalar);
                prop_assert!(evaluate_within(100, &cast, &[]).0.is_ok());
            }
            let numbers = Expression::Call(Function::ToNumberSetParameter, vec![literal(value)]);
            prop_assert!(evaluate_within(100, &numbers, &[]).0.is_ok());
        }
    }
}

#[test]
fn paths_have_members_and_elements() {
    use Step::{Element, Member};
    for (path, expected) in [
        ("", &[][..]),
        ("$", &[]),
        ("a.b[0]", &[Some(Member("a")), Some(Member("b")), Some(Element(0))]),
        ("$['a b'].c", &[Some(Member("a b")), Some(Member("c"))]),
        ("$a", &[Some(Member("a"))]),
        ("[1][2]", &[Some(Element(1)), Some(Element(2))]),
        ("a]", &[Some(Member("a]"))]),
        (".a", &[None]),
        ("a.", &[Some(Member("a")), None]),
        ("a[0]b", &[Some(Member("a")), Some(Element(0)), None]),
        ("a['b", &[Some(Member("a")), None]),
        ("a[99999999999999999999]", &[Some(Member("a")), None]),
    ] {
        assert_eq!(steps(path).collect::<Vec<_>>(), expected, "{path}");
    }
}
