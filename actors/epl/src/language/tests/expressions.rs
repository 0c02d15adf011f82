use super::super::printer::print_expression;
use super::super::syntax::{Column, ExpressionKind, StatementKind};
use super::super::{Mistake, parse};

fn read(expression: &str) -> Result<super::super::syntax::Expression, Mistake> {
    let module = parse(&format!("module m; select {expression} as c from S"))?;
    let StatementKind::Select(select) = &module.statements[0].kind else { panic!("no select") };
    let Column::Expression { expression, .. } = &select.columns[0] else { panic!("no expression") };
    Ok(expression.clone())
}

#[test]
fn operators_bind_by_their_order() {
    for (written, understood) in [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("a or b and c", "a or (b and c)"),
        ("not a = b and c", "(not (a = b)) and c"),
        ("a || b + 1 = c", "(a || (b + 1)) = c"),
        ("-a.b * 2", "(-a.b) * 2"),
        ("- -1", "-(-1)"),
        ("(1 + 2) * 3", "(1 + 2) * 3"),
        ("a <> b", "a != b"),
        ("a IS NOT NULL OR b Is Null", "(a is not null) or (b is null)"),
        ("a not in (1, 2) and b in ('x')", "(a not in (1, 2)) and (b in ('x'))"),
        ("a between 1 and 2 and b", "(a between 1 and 2) and b"),
        ("a not between 1 + 1 and 2 || 3", "a not between (1 + 1) and (2 || 3)"),
        ("a like 'x%' escape '!' or b not like c", "(a like 'x%' escape '!') or (b not like c)"),
        ("a % 2 >= 1", "(a % 2) >= 1"),
    ] {
        assert_eq!(print_expression(&read(written).unwrap()), understood, "{written}");
    }
}

#[test]
fn operands_are_literals_names_calls_and_chains() {
    for (written, understood) in [
        ("10L", "10"),
        ("1.50", "1.5"),
        (".5f", "0.5"),
        ("2d", "2.0"),
        ("1e3", "1000.0"),
        ("9223372036854775808", "9.223372036854776e18"),
        ("'it''s'", "'it''s'"),
        (r#""say \"x\" \n""#, "'say \"x\" \n'"),
        (r"'\u00e9\uD83D\uDE00'", "'é😀'"),
        ("TRUE", "true"),
        ("Null", "null"),
        ("e.a[0].b", "e.a[0].b"),
        ("e.source.getId().getValue()", "e.source.getId().getValue()"),
        ("current_timestamp", "current_timestamp()"),
        ("current_timestamp().toDate()", "current_timestamp().toDate()"),
        ("count(*)", "count(*)"),
        ("COUNT( * )", "count(*)"),
        ("count(distinct e.x)", "count(distinct e.x)"),
        ("count(distinct)", "count(`distinct`)"),
        ("cast(e.x, java.lang.Double)", "cast(e.x, java.lang.Double)"),
        ("cast(e.x, string[])", "cast(e.x, string[])"),
        ("getNumber(e, 'a.b', -1)", "getNumber(e, 'a.b', (-1))"),
        ("case when a = 1 then 'x' else 'y' end", "case when (a = 1) then 'x' else 'y' end"),
        ("case a when 1 then 2 when 3 then 4 end", "case a when 1 then 2 when 3 then 4 end"),
        ("{}", "{}"),
        ("{'a.b', 1, 'c', {'x', 'y'}}", "{'a.b', 1, 'c', {'x', 'y'}}"),
        ("`from`.`in`", "`from`.`in`"),
        ("e.from.select", "e.`from`.`select`"),
    ] {
        assert_eq!(print_expression(&read(written).unwrap()), understood, "{written}");
    }
}

#[test]
fn words_of_the_language_are_names_of_properties_too() {
    for word in [
        "type",
        "time",
        "status",
        "source",
        "last",
        "first",
        "min",
        "max",
        "count",
        "event",
        "text",
        "every",
        "output",
        "group",
        "set",
        "delete",
        "context",
        "window",
        "pattern",
        "timer",
        "module",
        "schema",
        "variable",
        "all",
        "snapshot",
        "unique",
        "length",
        "cast",
        "distinct",
        "partition",
        "by",
        "day",
        "hour",
        "events",
        "order",
    ] {
        assert_eq!(read(word).unwrap().kind, ExpressionKind::Name(word.into()), "{word}");
    }
}

#[test]
fn span_of_an_expression_is_its_text() {
    let written = " a.b + f(1) ";
    let span = read(written).unwrap().span;
    let text = format!("module m; select {written} as c from S");
    assert_eq!(&text[span.start as usize..span.end as usize], "a.b + f(1)");
}
