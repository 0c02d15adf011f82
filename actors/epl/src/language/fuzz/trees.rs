//! A tree that is printed and parsed again gives the same tree.

use proptest::prelude::*;

use super::super::syntax::*;
use super::super::{parse, printer};
use super::check;
use super::expressions::{expression, name, type_name};
use super::patterns::{pattern, period};

fn view() -> impl Strategy<Value = View> {
    let kind = prop_oneof![
        period().prop_map(ViewKind::Time),
        (1..=u32::MAX).prop_map(ViewKind::Length),
        period().prop_map(ViewKind::TimeBatch),
        (1..=u32::MAX).prop_map(ViewKind::LengthBatch),
        Just(ViewKind::KeepAll),
        Just(ViewKind::LastEvent),
        prop::collection::vec(expression(), 1..3).prop_map(ViewKind::Unique),
    ];
    kind.prop_map(|kind| View { kind, span: Span::default() })
}

fn stream() -> impl Strategy<Value = StreamSource> {
    (name(), prop::option::of(expression()), prop::option::of(name()))
        .prop_map(|(name, filter, alias)| StreamSource { name, filter, alias })
}

fn source() -> impl Strategy<Value = StatementSource> {
    let kind = prop_oneof![
        (name(), prop::option::of(expression()))
            .prop_map(|(name, filter)| SourceKind::Stream { name, filter }),
        pattern().prop_map(SourceKind::Pattern),
    ];
    let direction = prop::sample::select(vec![Direction::Both, Direction::Only]);
    (kind, prop::option::of(view()), prop::option::of(name()), direction).prop_map(
        |(kind, view, alias, direction)| StatementSource {
            kind,
            view,
            alias,
            direction,
            span: Span::default(),
        },
    )
}

fn column() -> impl Strategy<Value = Column> {
    prop_oneof![
        1 => Just(Column::Everything(Span::default())),
        1 => name().prop_map(Column::EverythingOf),
        4 => (expression(), prop::option::of(name()))
            .prop_map(|(expression, name)| Column::Expression { expression, name }),
    ]
}

fn output() -> impl Strategy<Value = Output> {
    use OutputKind::{All, Default, First, Last, Snapshot};
    let kind = prop::sample::select(vec![Default, All, Last, First, Snapshot]);
    let every = prop_oneof![(1..=u32::MAX).prop_map(Every::Events), period().prop_map(Every::Time)];
    (kind, every).prop_map(|(kind, every)| Output { kind, every, span: Span::default() })
}

fn select() -> impl Strategy<Value = StatementKind> {
    let clauses = (
        prop::option::of(expression()),
        prop::collection::vec(expression(), 0..3),
        prop::option::of(expression()),
        prop::option::of(output()),
    );
    let columns = prop::collection::vec(column(), 1..4);
    let sources = prop::collection::vec(source(), 1..3);
    (prop::option::of(name()), prop::option::of(name()), columns, sources, clauses).prop_map(
        |(context, into, columns, sources, (condition, group_by, having, output))| {
            StatementKind::Select(Box::new(Select {
                context,
                into,
                columns,
                sources,
                condition,
                group_by,
                having,
                output,
            }))
        },
    )
}

fn declaration() -> impl Strategy<Value = StatementKind> {
    let columns = prop::collection::vec((name(), type_name()), 1..4);
    // Keys are separated by `and`, so this test uses only names as keys.
    let key =
        name().prop_map(|name| Expression { kind: ExpressionKind::Name(name.text), span: Span::default() });
    let partition =
        (prop::collection::vec(key, 1..3), stream()).prop_map(|(keys, stream)| Partition { keys, stream });
    let kind = prop::sample::select(vec![VariableKind::Variable, VariableKind::Constant]);
    let parameters = prop::collection::vec(name(), 0..3);
    prop_oneof![
        (name(), columns).prop_map(|(name, columns)| StatementKind::CreateSchema { name, columns }),
        (name(), prop::collection::vec(partition, 1..3))
            .prop_map(|(name, partitions)| StatementKind::CreateContext { name, partitions }),
        (kind, type_name(), name(), prop::option::of(expression())).prop_map(|(kind, type_, name, value)| {
            StatementKind::CreateVariable { kind, type_, name, value }
        }),
        (name(), view(), name()).prop_map(|(first, view, second)| StatementKind::CreateWindow {
            first,
            view,
            second
        }),
        (prop::option::of(type_name()), name(), parameters, expression()).prop_map(
            |(type_, name, parameters, body)| StatementKind::CreateExpression {
                type_,
                name,
                parameters,
                body
            }
        ),
        (stream(), prop::collection::vec((name(), expression()), 1..3))
            .prop_map(|(trigger, assignments)| StatementKind::OnSet { trigger, assignments }),
        (stream(), name(), prop::option::of(name()), prop::option::of(expression())).prop_map(
            |(trigger, window, alias, condition)| StatementKind::OnDelete {
                trigger,
                window,
                alias,
                condition
            }
        ),
    ]
}

pub(super) fn module() -> impl Strategy<Value = Module> {
    let kinds = prop::collection::vec(prop_oneof![select(), declaration()], 0..4);
    (name(), kinds).prop_map(|(name, kinds)| {
        let statement = |(number, kind)| {
            let name = Name { text: format!("the {number}. \\ '").into(), span: Span::default() };
            Statement { name, span: Span::default(), kind }
        };
        Module { name, statements: kinds.into_iter().enumerate().map(statement).collect() }
    })
}

/// Formats a tree without its positions.
fn shape(module: &Module) -> String {
    let debug = format!("{module:?}");
    let mut parts = debug.split("Span { start: ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shape, part| shape + part.split_once('}').expect("the end of a place").1)
}

#[test]
fn printed_tree_is_parsed_to_the_same_tree() {
    check(&module(), |module| {
        let text = printer::print(&module);
        let read = parse(&text).map_err(|mistake| TestCaseError::fail(mistake.shown(&text).to_string()))?;
        prop_assert_eq!(shape(&read), shape(&module), "{}", text);
        Ok(())
    });
}
