//! Builds the object of `{ "path", value, … }`; dots in paths denote nested objects.

use std::sync::Arc;

use crate::plan::expression::Expression;
use crate::runtime::evaluate::value_of;
use crate::runtime::{Fault, Scope, World};
use crate::value::{Map, Value};

/// The maximum number of segments in one path.
const MAX_SEGMENTS: usize = 64;

/// Returns the object of the pairs, in their order. A path that occurs twice has the later value; a value is replaced
/// when a longer path goes through it.
///
/// # Errors
/// A [`Fault`] for a path that is not a text or is too long; see [`Expression::evaluate`].
pub(in crate::runtime) fn nest(
    pairs: &[(Expression, Expression)],
    scope: &Scope<'_>,
) -> Result<Value, Fault> {
    let mut object = Map::default();
    for (path, value) in pairs {
        let path = path.see(scope)?;
        let path = path.plain().text().ok_or_else(|| Fault::new("the path of a fragment is no text"))?;
        if path.split('.').count() > MAX_SEGMENTS {
            return Err(Fault::new(format!("the path of a fragment has more than {MAX_SEGMENTS} parts")));
        }
        put(&mut object, &path, value_of(value, scope)?, scope.world)?;
    }
    Ok(Value::Map(Arc::new(object)))
}

fn put(object: &mut Map, path: &str, value: Value, world: &World<'_>) -> Result<(), Fault> {
    // Names are searched linearly, and a shared object is copied.
    world.evaluations.spend_for(object.0.len() * 32)?;
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let at = object.0.iter().position(|(known, _)| **known == *name).unwrap_or_else(|| {
        object.0.push((name.into(), Value::Null));
        object.0.len() - 1
    });
    let member = &mut object.0[at].1;
    match rest {
        None => *member = value,
        Some(rest) => {
            if !matches!(member, Value::Map(_)) {
                *member = Value::Map(Arc::default());
            }
            if let Value::Map(inner) = member {
                return put(Arc::make_mut(inner), rest, value, world);
            }
        }
    }
    Ok(())
}
