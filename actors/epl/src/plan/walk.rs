//! Traverses resolved expressions.

use super::expression::Expression;

impl Expression {
    /// Calls `visit` for each direct child of the expression.
    pub(super) fn for_each_part<'e>(&'e self, visit: &mut dyn FnMut(&'e Self)) {
        match self {
            Self::Literal(_)
            | Self::Event(_)
            | Self::Column(..)
            | Self::Property(..)
            | Self::Variable(_)
            | Self::ContextKey(_)
            | Self::Aggregate(_) => {}
            Self::Member(inner, _) | Self::Not(inner) | Self::Negate(inner) | Self::Cast(inner, _) => {
                visit(inner)
            }
            Self::IsNull { value, .. } => visit(value),
            Self::Index(one, other) | Self::Binary(_, one, other) => {
                [one, other].into_iter().for_each(|part| visit(part))
            }
            Self::In { value, among, .. } => {
                visit(value);
                among.iter().for_each(visit);
            }
            Self::Between { value, low, high, .. } => {
                [value, low, high].into_iter().for_each(|part| visit(part))
            }
            Self::Like { value, pattern, .. } => [value, pattern].into_iter().for_each(|part| visit(part)),
            Self::Case { branches, otherwise } => {
                branches
                    .iter()
                    .for_each(|(condition, value)| [condition, value].into_iter().for_each(&mut *visit));
                otherwise.iter().for_each(|part| visit(part));
            }
            Self::Call(_, parts) | Self::LookUp(_, parts) | Self::List(parts) => parts.iter().for_each(visit),
            Self::Fragments(pairs) => {
                pairs.iter().for_each(|(path, value)| [path, value].into_iter().for_each(&mut *visit));
            }
        }
    }

    /// Returns the number of nodes of the expression and its nesting depth.
    pub(super) fn extent(&self) -> (usize, usize) {
        let (mut size, mut depth) = (0usize, 0usize);
        self.for_each_part(&mut |part| {
            let (parts, below) = part.extent();
            size = size.saturating_add(parts);
            depth = depth.max(below);
        });
        (size.saturating_add(1), depth + 1)
    }
}
