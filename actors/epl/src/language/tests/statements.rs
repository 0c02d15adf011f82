use super::super::parse;
use super::understood;

#[test]
fn all_forms_of_statements_are_read() {
    for (written, meant) in [
        ("select * from A", "select * from A"),
        (
            "SELECT a.*, b c, d AS e FROM A a, B.win:length(2) AS b WHERE x = 1",
            "select a.*, b as c, d as e from A as a, B.win:length(2) as b where (x = 1)",
        ),
        (
            "context C insert into D select avg(v) v from A.win:time(1 hours) group by k, l having count(*) > 1 \
          output last every 1 hours",
            "context C insert into D select avg(v) as v from A.win:time(3600000 msec) group by k, l \
          having (count(*) > 1) output last every 3600000 msec",
        ),
        ("select a from A output every 5 events", "select a from A output every 5 events"),
        (
            "select a from A output snapshot every 1 min 30 sec",
            "select a from A output snapshot every 90000 msec",
        ),
        (
            "select * from A unidirectional, B.std:unique(x.y, z) b",
            "select * from A unidirectional, B.std:unique(x.y, z) as b",
        ),
        (
            "select * from A a unidirectional, B.std:lastevent() b",
            "select * from A as a unidirectional, B.std:lastevent() as b",
        ),
        (
            "select {'a', 1} as fragments, type, time as time from A(x = 1).win:keepall()",
            "select {'a', 1} as fragments, type, time as time from A((x = 1)).win:keepall()",
        ),
        (
            "create schema S(a string, b double[], c java.util.Map)",
            "create schema S(a string, b double[], c java.util.Map)",
        ),
        (
            "create context C partition by a.b and c from S, d from T(x)",
            "create context C partition by a.b and c from S, d from T(x)",
        ),
        ("create context C partition a.b from S", "create context C partition by a.b from S"),
        ("create variable long n", "create variable long n"),
        ("create constant variable string s = 'x'", "create constant variable string s = 'x'"),
        ("create window W.win:length(2) as A", "create window W.win:length(2) as A"),
        ("create expression double f(a, b) [ a + b ]", "create expression double f(a, b) [(a + b)]"),
        ("create expression f() [ 1 ]", "create expression f() [1]"),
        ("on A a set x = a.y, z = 1", "on A as a set x = a.y, z = 1"),
        ("on A(b) as a delete from W w where w.x = a.x", "on A(b) as a delete from W as w where (w.x = a.x)"),
        ("on A delete from W", "on A delete from W"),
        ("select last, first from every", "select `last`, `first` from `every`"),
        ("select a as group, b from A", "select a as `group`, b from A"),
    ] {
        assert_eq!(understood(written), [meant], "{written}");
    }
}

#[test]
fn statements_are_called_by_their_annotation_or_their_number() {
    let text = "\u{feff}Module a.b ; // first\n;; select * from A;\n@Resilient @name(\"it's\") select * from A;\n/* \
        third */ select * from A";
    let module = parse(text).unwrap();
    assert_eq!(&*module.name.text, "a.b");
    let names: Vec<_> = module.statements.iter().map(|statement| &*statement.name.text).collect();
    assert_eq!(names, ["statement_1", "it's", "statement_3"]);
    let span = module.statements[1].span;
    assert_eq!(&text[span.start as usize..span.end as usize], "select * from A");
}

#[test]
fn module_may_have_no_statements() {
    assert_eq!(parse("module m").unwrap().statements, []);
    assert_eq!(parse("module m;").unwrap().statements, []);
}
