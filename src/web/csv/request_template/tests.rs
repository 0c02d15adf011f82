//! Tables of templates and rows (S-20 to S-28).

use super::*;
use crate::csv::template_flaw::Flaw;

/// Compiles a template from the fields after the id.
fn compiled(fields: &[&str]) -> Result<RequestTemplate, Vec<Flaw>> {
    let fields: Vec<Cow<'_, str>> = fields.iter().map(|field| (*field).into()).collect();
    RequestDefinition::of_values(&fields).map_err(|flaw| vec![flaw])?.compile()
}

/// Compiles a template from a URI and a body in which `%%` is the placeholder.
fn template(uri: &str, kinds: &str, body: &str) -> RequestTemplate {
    compiled(&["POST", uri, "application/json", "", "%%", kinds, body])
        .unwrap_or_else(|flaws| panic!("{flaws:?}"))
}

fn call(template: &RequestTemplate, arguments: &[&str]) -> Result<Call, Refusal> {
    let arguments: Vec<Cow<'_, str>> = arguments.iter().map(|argument| (*argument).into()).collect();
    template.call(&arguments)
}

#[test]
fn templates_say_everything_that_is_wrong_with_them_once() {
    let no_content = |method| Flaw::NoContent(method);
    for (fields, flaws) in [
        (vec![], vec![Flaw::BadRequest]),
        (vec!["GET"], vec![Flaw::BadRequest]),
        (vec!["GET", "/x"], vec![]),
        (vec!["GET", "/x", "", "", "", "", ""], vec![]),
        (vec!["GET", "/x", "", "", "", "", "", ""], vec![Flaw::BadRequest]),
        (vec!["get", "/x"], vec![Flaw::BadRequest]),
        (vec!["PATCH", "/x"], vec![Flaw::BadRequest]),
        (vec!["GET", "x"], vec![Flaw::BadRequest]),
        (vec!["GET", "http://other/x"], vec![Flaw::BadRequest]),
        (vec!["GET", "%%/x", "", "", "%%"], vec![Flaw::BadRequest]),
        (vec!["GET", "/x", "", "a\nb"], vec![Flaw::BadRequest]),
        (vec!["POST", "/x", "a\nb", "", "", "", "y"], vec![Flaw::BadRequest]),
        (vec!["GET", "/x", "a/b"], vec![Flaw::ContentNotSupported(Method::GET)]),
        (vec!["DELETE", "/x", "a/b"], vec![Flaw::ContentNotSupported(Method::DELETE)]),
        (vec!["DELETE", "/x", "", "a/b"], vec![]),
        (vec!["GET", "/x", "", "", "", "", "y"], vec![Flaw::TemplateNotSupported(Method::GET)]),
        (vec!["DELETE", "/x", "", "", "", "", "y"], vec![Flaw::TemplateNotSupported(Method::DELETE)]),
        (vec!["POST", "/x", "", "", "", "", "y"], vec![no_content(Method::POST)]),
        (vec!["PUT", "/x", "", "", "", "", "y"], vec![no_content(Method::PUT)]),
        (vec!["POST", "/x", "a/b"], vec![Flaw::NoTemplate(Method::POST)]),
        (vec!["PUT", "/x"], vec![no_content(Method::PUT), Flaw::NoTemplate(Method::PUT)]),
        (vec!["GET", "/%%", "", "", "%%", "STRING"], vec![]),
        (vec!["GET", "/%%", "", "", "%%", "  STRING "], vec![]),
        (vec!["GET", "/%%", "", "", "%%", "STRING STRING"], vec![Flaw::BadRequest]),
        (vec!["GET", "/%%/%%", "", "", "%%", "STRING"], vec![Flaw::BadRequest]),
        (vec!["GET", "/%%", "", "", "%%", "string"], vec![Flaw::BadValueType("string".into())]),
        (
            vec!["POST", "/%%%", "a/b", "", "%%", "X X Y", "%%%%"],
            vec![Flaw::BadValueType("X".into()), Flaw::BadValueType("Y".into())],
        ),
        (vec!["GET", "/x", "", "", "", "STRING"], vec![Flaw::ValuesWithoutPlaceholder]),
        (
            vec!["put", "x", "", "", "", "INT"],
            vec![Flaw::BadRequest, Flaw::ValuesWithoutPlaceholder, Flaw::BadValueType("INT".into())],
        ),
    ] {
        assert_eq!(compiled(&fields).err().unwrap_or_default(), flaws, "{fields:?}");
    }
}

#[test]
fn very_many_unknown_kinds_are_reported_quickly() {
    let words: Vec<_> = (0..100_000).map(|n| format!("X{n}")).collect();
    let flaws = compiled(&["GET", "/%%", "", "", "%%", &words.join(" "), ""]).err().unwrap_or_default();
    assert_eq!((flaws.len(), &flaws[0]), (100_001, &Flaw::BadRequest));
}

#[test]
fn calls_carry_the_headers_of_their_template() {
    let headers = |fields: &[&str]| {
        let call = call(&compiled(fields).expect("a template"), &[]).expect("a call");
        let text = |value: Option<HeaderValue>| value.map(|value| value.to_str().expect("text").to_owned());
        (call.method, text(call.content_type), text(call.accept))
    };
    let json = || Some("application/json".to_owned());
    assert_eq!(headers(&["GET", "/x"]), (Method::GET, None, json()));
    assert_eq!(headers(&["GET", "/x", "", "a/b"]), (Method::GET, None, Some("a/b".into())));
    assert_eq!(headers(&["DELETE", "/x"]), (Method::DELETE, None, None));
    assert_eq!(headers(&["DELETE", "/x", "", "a/b"]), (Method::DELETE, None, Some("a/b".into())));
    assert_eq!(headers(&["PUT", "/x", "application/json", "", "", "", "y"]), (Method::PUT, json(), None));
    assert_eq!(
        headers(&["POST", "/x", "a/b", "c/d", "", "", "y"]),
        (Method::POST, Some("a/b".into()), Some("c/d".into()))
    );
}

#[test]
fn values_in_a_uri_stay_values() {
    for (uri, value, expected) in [
        ("/a/%%", "b", "/a/b"),
        ("/a/%%", "b/c", "/a/b/c"),
        ("/a/%%", "../b", "/a/..%2Fb"),
        ("/a/%%/c", "../b", "/a/..%2Fb/c"),
        ("/a/%%?q", "..", "/a/..?q"),
        ("/a/%%?q", "/..", "/a/%2F..?q"),
        ("/a/b%%", "/../c", "/a/b/../c"),
        ("/a/%%b", "../c/", "/a/../c/b"),
        ("/a?q=%%", "../c", "/a?q=../c"),
        ("/a?q=/%%", "../c", "/a?q=/../c"),
        ("/a#/%%", "../c", "/a#/../c"),
        ("/a/%%", " \"#%<>&?+", "/a/%20%22%23%25%3C%3E%26%3F%2B"),
        ("/a/%%", "\u{1}\n\u{7f}", "/a/%01%0A%7F"),
        ("/a/%%", "é\u{1f600}", "/a/%C3%A9%F0%9F%98%80"),
        ("/a/%%", "%2e%2e", "/a/%252e%252e"),
        ("/a/%%", "{}[]|\\^`~:;=@!$'()*,-._", "/a/{}[]|\\^`~:;=@!$'()*,-._"),
        ("/a%2F?b=c d&e=%%", "f", "/a%2F?b=c d&e=f"),
    ] {
        let called = call(&template(uri, "", "x"), &[value]).map(|call| call.uri.into_owned());
        assert_eq!(called, Ok(expected.to_owned()), "{uri} {value:?}");
    }
}

#[test]
fn arguments_fill_the_uri_then_the_body_and_are_never_searched() {
    let called = call(&template("/%%/x/%%", "", "%%,%%"), &["a", "b", "%%", "\"\n"]).expect("a call");
    assert_eq!((&*called.uri, &called.body[..]), ("/a/x/b", &b"%%,\"\n"[..]));
}

#[test]
fn now_is_the_time_of_the_server_and_takes_no_argument() {
    let called = call(&template("/x?at=%%", "NOW UNSIGNED NOW", "%% %%"), &["7"]).expect("a call");
    let body = String::from_utf8(called.body.to_vec()).expect("text");
    let (number, time) = body.split_once(' ').expect("two values");
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!((number, shape.as_str()), ("7", "0000-00-00T00:00:00.000+00:00"));
    assert_eq!(called.uri, format!("/x?at={}", time.replace('+', "%2B")), "one row, one time");
    assert!(Kind::Date.accepts(time));
}

#[test]
fn arguments_are_counted_and_one_trailing_comma_is_forgiven() {
    let none = template("/x", "", "y");
    let only_now = template("/x", "NOW", "%%");
    let two = template("/x/%%", "", "%%");
    for (template, arguments, refusal) in [
        (&none, vec![], None),
        (&none, vec![""], None),
        (&none, vec!["", ""], Some(Refusal::NoArguments)),
        (&none, vec!["a"], Some(Refusal::NoArguments)),
        (&only_now, vec![""], None),
        (&only_now, vec!["a"], Some(Refusal::NoArguments)),
        (&two, vec!["a", "b"], None),
        (&two, vec!["a", "b", ""], None),
        (&two, vec!["a", "b", "", ""], Some(Refusal::WrongNumber)),
        (&two, vec!["a", "b", "c"], Some(Refusal::WrongNumber)),
        (&two, vec!["a"], Some(Refusal::WrongNumber)),
        (&two, vec![], Some(Refusal::WrongNumber)),
        (&two, vec!["a", ""], Some(Refusal::Kind(Kind::String, String::new()))),
    ] {
        assert_eq!(call(template, &arguments).err(), refusal, "{arguments:?}");
    }
}

#[test]
fn first_argument_of_another_kind_is_refused() {
    let template = template("/%%", "INTEGER NUMBER DATE", "%%%%");
    for (arguments, refusal) in [
        (["1", "2", "2024-03-10"], None),
        (["1.5", "x", "y"], Some(Refusal::Kind(Kind::Integer, "1.5".into()))),
        (["1", "x", "y"], Some(Refusal::Kind(Kind::Number, "x".into()))),
        (["1", "2", "y"], Some(Refusal::Kind(Kind::Date, "y".into()))),
    ] {
        assert_eq!(call(&template, &arguments).err(), refusal);
    }
}

#[test]
fn foreign_hosts_are_rejected() {
    for (uri, value) in [("//other/%%", "a"), ("/%%", "/other/a"), ("/%%/%%", "/")] {
        let template = template(uri, "", "x");
        let arguments = vec![value; template.kinds.len()];
        assert_eq!(call(&template, &arguments).err(), Some(Refusal::Rest(StatusCode::FORBIDDEN)), "{uri}");
    }
}

#[test]
fn only_a_constant_path_of_measurements_or_events_only_creates() {
    for (method, uri, expected) in [
        ("POST", "/measurement/measurements", true),
        ("POST", "/event/events", true),
        ("POST", "/event/events?a=%%", true),
        ("PUT", "/event/events", false),
        ("POST", "/event/events/%%", false),
        ("POST", "/event/events%%", false),
        ("POST", "/event/events%%?a", false),
        ("POST", "/event/%%", false),
        ("POST", "/alarm/alarms", false),
    ] {
        let template = compiled(&[method, uri, "application/json", "", "%%", "", "x"]).expect("a template");
        assert_eq!(template.only_creates(), expected, "{method} {uri}");
    }
}

#[test]
fn numbers_of_any_spelling_become_json_numbers_outside_of_texts() {
    let numbers = template("/x", "NUMBER INTEGER UNSIGNED", r#"{"n":%%,"i":[%%],"u": %% }"#);
    for (arguments, body) in [
        (["+25.3", "-05", "007"], r#"{"n":25.3,"i":[-5],"u": 7 }"#),
        ([".5", "0", "000"], r#"{"n":0.5,"i":[0],"u": 0 }"#),
        (["5.", "-7", "030"], r#"{"n":5,"i":[-7],"u": 30 }"#),
        (["-1.50e+07", "12345678901234567890", "1"], r#"{"n":-1.50e+07,"i":[12345678901234567890],"u": 1 }"#),
    ] {
        let call = call(&numbers, &arguments).expect(body);
        assert_eq!(call.body, body);
        assert!(serde_json::from_slice::<serde_json::Value>(&call.body).is_ok(), "{body}");
    }
    // A serial number in a text keeps its zeros, and so does an id in a path.
    let texts = template("/x/%%", "UNSIGNED INTEGER STRING NUMBER", r#"{"a\\":"%%","b\"":"%% %%"}"#);
    let call = call(&texts, &["007", "-05", "\\\"", "+1."]).expect("a call");
    assert_eq!((&*call.uri, &call.body[..]), ("/x/007", &br#"{"a\\":"-05","b\"":"\" +1."}"#[..]));
}
