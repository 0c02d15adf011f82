//! Generates expressions of every kind.

use proptest::prelude::*;

use super::super::syntax::*;

/// Names, including words that are keywords elsewhere.
const NAMES: [&str; 18] = [
    "a", "until", "minutes", "b2", "_type", "source", "last", "from", "not", "count", "case", "every", "in",
    "Ä", "x y", "end", "timer", "select",
];

const OPERATORS: [Operator; 14] = [
    Operator::Or,
    Operator::And,
    Operator::Equal,
    Operator::NotEqual,
    Operator::Less,
    Operator::LessOrEqual,
    Operator::Greater,
    Operator::GreaterOrEqual,
    Operator::Concatenate,
    Operator::Add,
    Operator::Subtract,
    Operator::Multiply,
    Operator::Divide,
    Operator::Modulo,
];

pub(super) fn name() -> impl Strategy<Value = Name> {
    prop::sample::select(&NAMES[..]).prop_map(|text| Name { text: text.into(), span: Span::default() })
}

pub(super) fn type_name() -> impl Strategy<Value = TypeName> {
    let text = prop::sample::select(vec!["string", "java.lang.Double", "long"]);
    let name = text.prop_map(|text| Name { text: text.into(), span: Span::default() });
    (name, any::<bool>()).prop_map(|(name, is_list)| TypeName { name, is_list })
}

fn of(kind: ExpressionKind) -> Expression {
    Expression { kind, span: Span::default() }
}

fn leaf() -> impl Strategy<Value = Expression> {
    let kind = prop_oneof![
        Just(ExpressionKind::Null),
        Just(ExpressionKind::CountAll),
        any::<bool>().prop_map(ExpressionKind::Boolean),
        (0..=i64::MAX).prop_map(ExpressionKind::Integer),
        (0.0..1e300_f64).prop_map(ExpressionKind::Double),
        any::<String>().prop_map(|text| ExpressionKind::Text(text.into())),
        name().prop_map(|name| ExpressionKind::Name(name.text)),
    ];
    kind.prop_map(of)
}

/// Returns whether `.member` can follow the expression without parentheses.
fn is_chain(expression: &Expression) -> bool {
    use ExpressionKind::{Call, Cast, CountAll, Index, Member, Method};
    matches!(
        expression.kind,
        ExpressionKind::Name(_) | Member(..) | Index(..) | Method(..) | Call { .. } | CountAll | Cast(..)
    )
}

pub(super) fn expression() -> impl Strategy<Value = Expression> {
    leaf().prop_recursive(5, 40, 4, |inner| {
        let some = prop::collection::vec(inner.clone(), 1..4);
        let any_number = prop::collection::vec(inner.clone(), 0..4);
        let boxed = inner.clone().prop_map(Box::new);
        let chain = inner.clone().prop_filter("a chain", is_chain).prop_map(Box::new).boxed();
        let operator = prop::sample::select(&OPERATORS[..]);
        let period = period_of(inner.clone().boxed()).prop_map(|period| of(ExpressionKind::Period(Box::new(period))));
        let arguments = prop::collection::vec(prop_oneof![3 => inner.clone(), 1 => period], 0..4);
        let kind = prop_oneof![
            4 => (operator, boxed.clone(), boxed.clone()).prop_map(|(o, a, b)| ExpressionKind::Binary(o, a, b)),
            1 => (chain.clone(), name()).prop_map(|(a, b)| ExpressionKind::Member(a, b)),
            1 => (chain.clone(), boxed.clone()).prop_map(|(a, b)| ExpressionKind::Index(a, b)),
            1 => (chain, name(), arguments).prop_map(|(a, b, c)| ExpressionKind::Method(a, b, c)),
            1 => (name(), any_number.clone()).prop_map(|(a, b)| call(a, Quantifier::All, b)),
            1 => (name(), leaf().prop_filter("what begins with a word", is_chain))
                .prop_map(|(a, b)| call(a, Quantifier::Distinct, vec![b])),
            1 => (boxed.clone(), type_name()).prop_map(|(a, b)| ExpressionKind::Cast(a, b)),
            1 => boxed.clone().prop_map(ExpressionKind::Not),
            1 => boxed.clone().prop_map(ExpressionKind::Negate),
            1 => any_number.prop_map(ExpressionKind::Braces),
            2 => tests(boxed.clone().boxed(), some.clone().boxed()),
            1 => cases(inner.clone().boxed()),
        ];
        kind.prop_map(of)
    })
}

/// Generates periods. A number is never an amount by itself, because it is parsed into the milliseconds.
pub(super) fn period_of(inner: BoxedStrategy<Expression>) -> impl Strategy<Value = Period> {
    let is_number =
        |amount: &Expression| matches!(amount.kind, ExpressionKind::Integer(_) | ExpressionKind::Double(_));
    let amount = inner.prop_filter("no number", move |amount| !is_number(amount));
    let unit = prop::sample::select(&Unit::ALL[..]);
    (0_u64..1_000_000_000_000, prop::collection::vec((amount, unit), 0..3))
        .prop_map(|(millis, amounts)| Period { millis, amounts, span: Span::default() })
}

fn tests(
    boxed: BoxedStrategy<Box<Expression>>,
    some: BoxedStrategy<Vec<Expression>>,
) -> impl Strategy<Value = ExpressionKind> {
    let escape = prop::option::of(any::<char>());
    prop_oneof![
        (boxed.clone(), any::<bool>()).prop_map(|(value, negated)| ExpressionKind::IsNull { value, negated }),
        (boxed.clone(), some, any::<bool>()).prop_map(|(value, among, negated)| ExpressionKind::In {
            value,
            among,
            negated
        }),
        (boxed.clone(), boxed.clone(), boxed.clone(), any::<bool>())
            .prop_map(|(value, low, high, negated)| ExpressionKind::Between { value, low, high, negated }),
        (boxed.clone(), boxed, escape, any::<bool>()).prop_map(|(value, pattern, escape, negated)| {
            ExpressionKind::Like { value, pattern, escape, negated }
        }),
    ]
}

fn cases(inner: BoxedStrategy<Expression>) -> impl Strategy<Value = ExpressionKind> {
    let branches = prop::collection::vec((inner.clone(), inner.clone()), 1..3);
    let optional = prop::option::of(inner.prop_map(Box::new));
    (optional.clone(), branches, optional).prop_map(|(operand, branches, otherwise)| ExpressionKind::Case {
        operand,
        branches,
        otherwise,
    })
}

fn call(name: Name, quantifier: Quantifier, arguments: Vec<Expression>) -> ExpressionKind {
    ExpressionKind::Call { name, quantifier, arguments }
}
