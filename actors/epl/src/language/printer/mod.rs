//! Prints syntax trees as text, with parentheses around every compound part. Only tests use it.

mod expression;

use super::syntax::*;
use expression::expression;
pub(super) use expression::print as print_expression;

/// Words that are a keyword somewhere and therefore not printed as bare names.
const KEYWORDS: &str = " all and as between by case cast constant context count create current_timestamp delete \
    distinct else end escape every expression false first from group having in insert into is last like not null on \
    or output partition pattern schema select set snapshot then timer true unidirectional variable when where window \
    inner join limit order js irstream istream rstream until ";

pub(super) fn name(name: &str) -> String {
    let is_plain = name.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && name.chars().all(|next| next.is_alphanumeric() || next == '_')
        && !KEYWORDS.contains(&format!(" {} ", name.to_ascii_lowercase()));
    if is_plain { name.to_owned() } else { format!("`{name}`") }
}

fn dotted(text: &str) -> String {
    text.split('.').map(name).collect::<Vec<_>>().join(".")
}

pub(super) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn type_name(TypeName { name, is_list }: &TypeName) -> String {
    format!("{}{}", dotted(&name.text), if *is_list { "[]" } else { "" })
}

fn list<T>(items: &[T], print: impl Fn(&T) -> String) -> String {
    items.iter().map(print).collect::<Vec<_>>().join(", ")
}

fn aliased(alias: Option<&Name>) -> String {
    alias.map(|alias| format!(" as {}", name(&alias.text))).unwrap_or_default()
}

fn clause(word: &str, condition: Option<&Expression>) -> String {
    condition.map(|condition| format!(" {word} {}", expression(condition))).unwrap_or_default()
}

pub(super) fn print(module: &Module) -> String {
    let mut printed = format!("module {};\n", dotted(&module.name.text));
    for Statement { name, kind, .. } in &module.statements {
        printed += &format!("@Name({}) {};\n", text(&name.text), statement(kind));
    }
    printed
}

pub(super) fn statement(kind: &StatementKind) -> String {
    match kind {
        StatementKind::Select(parts) => select(parts),
        StatementKind::CreateSchema { name: schema, columns } => {
            let columns =
                list(columns, |(column, type_)| format!("{} {}", name(&column.text), type_name(type_)));
            format!("create schema {}({columns})", name(&schema.text))
        }
        StatementKind::CreateContext { name: context, partitions } => {
            let partitions = list(partitions, |Partition { keys, stream: source }| {
                let keys: Vec<_> = keys.iter().map(expression).collect();
                format!("{} from {}", keys.join(" and "), stream(source))
            });
            format!("create context {} partition by {partitions}", name(&context.text))
        }
        StatementKind::CreateVariable { kind, type_, name: variable, value } => {
            let constant = if *kind == VariableKind::Constant { "constant " } else { "" };
            let value = clause("=", value.as_ref());
            format!("create {constant}variable {} {}{value}", type_name(type_), name(&variable.text))
        }
        StatementKind::CreateWindow { first, view: retained, second } => {
            format!("create window {}{} as {}", name(&first.text), view(retained), name(&second.text))
        }
        StatementKind::CreateExpression { type_, name: function, parameters, body } => {
            let type_ = type_.as_ref().map(|type_| format!("{} ", type_name(type_))).unwrap_or_default();
            let parameters = list(parameters, |parameter| name(&parameter.text));
            format!("create expression {type_}{}({parameters}) [{}]", name(&function.text), expression(body))
        }
        StatementKind::OnSet { trigger, assignments } => {
            let set = list(assignments, |(variable, value)| {
                format!("{} = {}", name(&variable.text), expression(value))
            });
            format!("on {} set {set}", stream(trigger))
        }
        StatementKind::OnDelete { trigger, window, alias, condition } => {
            let condition = clause("where", condition.as_ref());
            let alias = aliased(alias.as_ref());
            format!("on {} delete from {}{alias}{condition}", stream(trigger), name(&window.text))
        }
    }
}

fn select(select: &Select) -> String {
    let mut printed = String::new();
    if let Some(context) = &select.context {
        printed += &format!("context {} ", name(&context.text));
    }
    if let Some(into) = &select.into {
        printed += &format!("insert into {} ", name(&into.text));
    }
    let columns = list(&select.columns, |column| match column {
        Column::Everything(_) => "*".to_owned(),
        Column::EverythingOf(alias) => format!("{}.*", name(&alias.text)),
        Column::Expression { expression: value, name } => {
            format!("{}{}", expression(value), aliased(name.as_ref()))
        }
    });
    printed += &format!("select {columns} from {}", list(&select.sources, source));
    printed += &clause("where", select.condition.as_ref());
    if !select.group_by.is_empty() {
        printed += &format!(" group by {}", list(&select.group_by, expression));
    }
    printed += &clause("having", select.having.as_ref());
    printed + &select.output.as_ref().map(output).unwrap_or_default()
}

fn output(output: &Output) -> String {
    let kind = match output.kind {
        OutputKind::Default => "",
        OutputKind::All => "all ",
        OutputKind::Last => "last ",
        OutputKind::First => "first ",
        OutputKind::Snapshot => "snapshot ",
    };
    let every = match &output.every {
        Every::Events(events) => format!("{events} events"),
        Every::Time(time) => period(time),
    };
    format!(" output {kind}every {every}")
}

fn period(period: &Period) -> String {
    let mut printed = format!("{} msec", period.millis);
    for (amount, unit) in &period.amounts {
        printed += &format!(" ({}) {}", expression(amount), unit.word());
    }
    printed
}

fn source(source: &StatementSource) -> String {
    let kind = match &source.kind {
        SourceKind::Stream { name, filter } => filtered(name, filter.as_ref()),
        SourceKind::Pattern(parts) => format!("pattern [{}]", pattern(parts)),
    };
    let view = source.view.as_ref().map(view).unwrap_or_default();
    let direction = if source.direction == Direction::Only { " unidirectional" } else { "" };
    format!("{kind}{view}{}{direction}", aliased(source.alias.as_ref()))
}

fn filtered(stream: &Name, filter: Option<&Expression>) -> String {
    let filter = filter.map(|filter| format!("({})", expression(filter))).unwrap_or_default();
    format!("{}{filter}", name(&stream.text))
}

fn stream(stream: &StreamSource) -> String {
    format!("{}{}", filtered(&stream.name, stream.filter.as_ref()), aliased(stream.alias.as_ref()))
}

fn view(view: &View) -> String {
    match &view.kind {
        ViewKind::Time(time) => format!(".win:time({})", period(time)),
        ViewKind::Length(events) => format!(".win:length({events})"),
        ViewKind::TimeBatch(time) => format!(".win:time_batch({})", period(time)),
        ViewKind::LengthBatch(events) => format!(".win:length_batch({events})"),
        ViewKind::KeepAll => ".win:keepall()".to_owned(),
        ViewKind::LastEvent => ".std:lastevent()".to_owned(),
        ViewKind::Unique(keys) => format!(".std:unique({})", list(keys, expression)),
    }
}

pub(super) fn pattern(parts: &Pattern) -> String {
    let joined = |parts: &[Pattern], operator: &str| {
        format!("({})", parts.iter().map(pattern).collect::<Vec<_>>().join(&format!(" {operator} ")))
    };
    match parts {
        Pattern::Every(inner) => format!("every {}", pattern(inner)),
        Pattern::Not(inner, _) => format!("not {}", pattern(inner)),
        Pattern::Until { repeated, end } => format!("({} until {})", pattern(repeated), pattern(end)),
        Pattern::And(parts) => joined(parts, "and"),
        Pattern::Or(parts) => joined(parts, "or"),
        Pattern::FollowedBy(parts) => joined(parts, "->"),
        Pattern::Event { tag, stream, filter } => {
            let tag = tag.as_ref().map(|tag| format!("{}=", name(&tag.text))).unwrap_or_default();
            format!("{tag}{}", filtered(stream, filter.as_ref()))
        }
        Pattern::Interval(time) => format!("timer:interval({})", period(time)),
        Pattern::At(at, _) => {
            let fields =
                [&at.minutes, &at.hours, &at.days_of_month, &at.months, &at.days_of_week, &at.seconds];
            let fields = fields.map(|values| match values.as_slice() {
                [] => "*".to_owned(),
                values => format!("[{}]", list(values, u8::to_string)),
            });
            format!("timer:at({})", fields.join(", "))
        }
    }
}
