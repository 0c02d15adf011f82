//! Plans the declarations of a module: schemas, contexts, variables, named windows and expressions (Q-09,
//!

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::catalog::{Declared, Manner, agree, check_columns, is_small};
use super::functions::is_function;
use super::module::{Declaration, Planner};
use super::resolve::{Resolver, Sight, Typed};
use super::types::{self, describe};
use super::{ContextPlan, PartitionPlan, VariablePlan, WindowPlan};
use crate::language::Mistake;
use crate::language::syntax::{self, Name, Partition, TypeName, VariableKind, View};
use crate::value::{Columns, Type};

impl<'a> Planner<'a> {
    /// # Errors
    /// Returns a mistake if another module declares the schema with other types, if a type is unknown or if a
    /// column occurs twice.
    pub(super) fn create_schema(&mut self, name: &Name, columns: &[(Name, TypeName)]) -> Result<(), Mistake> {
        self.check_free(name)?;
        check_columns(columns.len(), name.span)?;
        let (mut seen, mut typed) = (HashSet::new(), Vec::new());
        for (column, type_) in columns {
            if !seen.insert(&*column.text) {
                return Err(Mistake::new(
                    column.span,
                    format!("the column '{}' is there already", column.text),
                ));
            }
            typed.push((column.text.clone(), self.type_of(type_)?));
        }
        let mut columns = Arc::new(Columns(typed));
        if !is_small(&columns) {
            return Err(Mistake::new(name.span, "the columns hold rows of rows of too many columns"));
        }
        if let Some(elsewhere) = self.catalog.get(&name.text) {
            if !agree(&elsewhere.columns, &columns) {
                let has =
                    elsewhere.columns.0.iter().map(|(name, type_)| format!("{name} ({})", describe(type_)));
                let (module, has) = (&elsewhere.module, super::catalog::enumerate(has));
                let message = format!("module '{module}' declares '{}' otherwise: {has}", name.text);
                return Err(Mistake::new(name.span, message));
            }
            columns = elsewhere.columns.clone();
        }
        let declared = Declared { columns, manner: Manner::Schema, module: self.name.clone() };
        self.declares.insert(name.text.clone(), declared);
        Ok(())
    }

    /// Looks up a type name, first among streams and schemas, then among the type names of EPL.
    fn type_of(&mut self, type_: &TypeName) -> Result<Type, Mistake> {
        if !type_.is_list
            && let Some((stream, _)) = self.known_type(&type_.name)?
        {
            return Ok(Type::Event(Box::new(stream)));
        }
        types::of_word(type_).ok_or_else(|| {
            let message = format!(
                "no type '{}'; there are string, double, long, int, float, boolean, date, id, list, map, object, \
                 the nouns of the platform, class names with dots, streams and schemas",
                type_.name.text
            );
            Mistake::new(type_.name.span, message)
        })
    }

    /// # Errors
    /// Returns a mistake if the streams have different numbers of keys or if a stream occurs twice.
    pub(super) fn create_context(&mut self, name: &Name, partitions: &[Partition]) -> Result<(), Mistake> {
        if self.context_places.contains_key(&name.text) {
            return Err(Mistake::new(name.span, format!("there is a context '{}' already", name.text)));
        }
        let mut plans: Vec<PartitionPlan> = Vec::new();
        for Partition { keys: trees, stream: source } in partitions {
            let (stream, filter, event) = self.trigger(source)?;
            let keys = Resolver::new(self, Sight::of(std::slice::from_ref(&event), 0), "'partition by'")
                .keys(trees, "'partition by'")?;
            let wrong = match plans.first() {
                Some(first) if first.keys.len() != keys.len() => Some(format!(
                    "each stream of a context has the same number of keys: {}, here are {}",
                    first.keys.len(),
                    keys.len()
                )),
                _ if plans.iter().any(|plan| plan.stream == stream) => {
                    Some(format!("'{}' is in the context already", source.name.text))
                }
                _ => None,
            };
            if let Some(message) = wrong {
                return Err(Mistake::new(source.name.span, message));
            }
            plans.push(PartitionPlan { stream, filter, keys });
        }
        self.context_places.insert(name.text.clone(), self.contexts.len());
        let (name, statement) = (name.text.clone(), self.at);
        self.contexts.push(ContextPlan { name, statement, partitions: plans });
        Ok(())
    }

    /// # Errors
    /// Returns a mistake if the initial value has the wrong type or queries the store.
    pub(super) fn create_variable(
        &mut self,
        kind: VariableKind,
        type_: &TypeName,
        name: &Name,
        value: Option<&syntax::Expression>,
    ) -> Result<(), Mistake> {
        if self.variable(&name.text).is_some() {
            return Err(Mistake::new(name.span, format!("there is a variable '{}' already", name.text)));
        }
        let wanted = self.type_of(type_)?;
        let looked_up = self.looks_up.replace(false);
        let mut initial = None;
        if let Some(tree) = value {
            let typed = Resolver::new(self, Sight::of(&[], 0), "a variable").resolve(tree)?;
            if self.looks_up.get() {
                return Err(Mistake::new(tree.span, "a variable begins without looking anything up"));
            }
            let given = describe(&typed.type_);
            initial = Some(types::fit(typed, &wanted).ok_or_else(|| {
                Mistake::new(tree.span, format!("'{}' is {}, this is {given}", name.text, describe(&wanted)))
            })?);
        }
        self.looks_up.set(looked_up);
        let (name, statement) = (name.text.clone(), self.at);
        self.add_variable(kind, VariablePlan { name, statement, type_: wanted, initial });
        Ok(())
    }

    /// Plans `create window A.view as B`. One of the two names is known already; the other one becomes the
    /// window.
    ///
    /// # Errors
    /// Returns a mistake if both names are known or neither is.
    pub(super) fn create_window(&mut self, first: &Name, view: &View, second: &Name) -> Result<(), Mistake> {
        for name in [first, second] {
            if self.window(&name.text).is_some() {
                return Err(Mistake::new(name.span, format!("there is a window '{}' already", name.text)));
            }
        }
        let (name, type_) = match (self.declared_type(first), self.declared_type(second)) {
            (Some(known), None) => (second, known),
            (None, Some(known)) => (first, known),
            (Some(_), Some(_)) => {
                let message = format!(
                    "'{}' and '{}' are streams already: a window has a name of its own",
                    first.text, second.text
                );
                return Err(Mistake::new(second.span, message));
            }
            (None, None) => {
                let message = format!(
                    "neither '{}' nor '{}' is a stream or schema: a window is made of one",
                    first.text, second.text
                );
                return Err(Mistake::new(first.span, message));
            }
        };
        let view = self.view(view, &type_, &name.text)?;
        let (name, statement) = (name.text.clone(), self.at);
        self.add_window(WindowPlan { name, statement, type_, view });
        Ok(())
    }

    /// Plans a declared expression. Its body is checked here with parameters of unknown type, and again at each
    /// use.
    ///
    /// # Errors
    /// Returns a mistake if the name is taken, if a parameter occurs twice or if the body is invalid for any
    /// arguments.
    pub(super) fn create_expression(
        &mut self,
        type_: Option<&TypeName>,
        name: &Name,
        parameters: &'a [Name],
        body: &'a syntax::Expression,
    ) -> Result<(), Mistake> {
        if is_function(&name.text) || self.has_expression(&name.text) {
            return Err(Mistake::new(name.span, format!("'{}' is a function already", name.text)));
        }
        let mut arguments = HashMap::new();
        for parameter in parameters {
            if arguments.insert(parameter.text.clone(), Typed::null()).is_some() {
                return Err(Mistake::new(
                    parameter.span,
                    format!("the parameter '{}' is there already", parameter.text),
                ));
            }
        }
        let type_ = type_.map(|type_| self.type_of(type_)).transpose()?;
        let looked_up = self.looks_up.replace(false);
        let mut resolver = Resolver::new(self, Sight::of(&[], 0), "an expression");
        resolver.collect_aggregates();
        resolver.parameters = Some(arguments);
        resolver.declaring = Some(name.text.clone());
        let checked = resolver.resolve(body);
        self.looks_up.set(looked_up);
        let checked = checked?;
        if let Some(wanted) = &type_ {
            let given = describe(&checked.type_);
            types::fit(checked, wanted).ok_or_else(|| {
                Mistake::new(body.span, format!("'{}' is {}, its body {given}", name.text, describe(wanted)))
            })?;
        }
        self.expressions.insert(name.text.clone(), Declaration { type_, parameters, body });
        Ok(())
    }
}
