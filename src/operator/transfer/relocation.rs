//! Moves a tenant to another deployment while it is used.

use platform_front::config::StoreSettings;
use platform_front::secrets::password::SecretKey;
use platform_front::secrets::secret_key;
use platform_front::terminal::say;
use platform_model::id::{MANAGEMENT, TenantId};
use platform_store::Database;
use platform_store::tenancy::transfer::{Mode, Moved, Place, Relocation, Secrets, Step};

use super::{Failure, has_own_schema, proof, sealed_again};
use crate::administration::{by_operator, in_force};
use crate::cli::TenantMove;

/// Moves a tenant, or completes or undoes an interrupted move, and returns the message for the operator.
///
/// # Errors
/// The tenant is unknown here, or exists there and is another one; the deployments have other schemas, secret keys or
/// applications; a database cannot be reached. The tenant is used here as before, unless the message says something
/// else.
pub async fn relocate(
    store: &StoreSettings,
    source: &Database,
    target: &Database,
    arguments: &TenantMove,
) -> Result<String, Failure> {
    let tenant = TenantId::parse(&arguments.id)?;
    if tenant.as_str() == MANAGEMENT {
        return Err(format!("tenant {MANAGEMENT} belongs to its deployment").into());
    }
    has_own_schema(source).await?;
    has_own_schema(target).await.map_err(|error| format!("the target: {error}"))?;
    // The servers of the source accept the announcements of this process from here on.
    let key = Box::pin(secret_key::open(store, source)).await?;
    let relocation = Relocation::prepare(source, target, &tenant).await?;
    let place = relocation.find().await?;
    if arguments.undo {
        return undo(&relocation, &tenant, place).await;
    }
    match place {
        Place::Both => Err(format!(
            "the target has a tenant {tenant} already; delete it there, if it is the one that an earlier move left"
        )
        .into()),
        Place::Target => {
            complete(source, &relocation).await?;
            Ok(format!("{tenant} had arrived at the target; its move is complete now"))
        }
        Place::Interrupted if arguments.dry_run => Err(format!(
            "a move of {tenant} was interrupted; run the command without --dry-run, or with --undo"
        )
        .into()),
        Place::Interrupted | Place::Source => {
            if place == Place::Interrupted {
                relocation.undo().await?;
            }
            let file = arguments.to_secret_key_file.clone().or_else(|| store.secret_key.clone());
            let of_target = StoreSettings { secret_key: file.or(Some(store.secret_key_file())), ..store.clone() };
            let there = Box::pin(secret_key::open(&of_target, target)).await;
            let there = there.map_err(|error| format!("the target, --to-secret-key-file: {error}"))?;
            Box::pin(transfer((source, target), (&key, &there), &relocation, arguments)).await
        }
    }
}

async fn undo(relocation: &Relocation<'_>, tenant: &TenantId, place: Place) -> Result<String, Failure> {
    match place {
        Place::Target | Place::Both => Err(format!(
            "the target has tenant {tenant}, and what was written there since would be lost; delete it there first"
        )
        .into()),
        Place::Interrupted | Place::Source => {
            relocation.undo().await?;
            Ok(format!("{tenant} is used here"))
        }
    }
}

async fn transfer(
    (source, target): (&Database, &Database),
    keys: (&SecretKey, &SecretKey),
    relocation: &Relocation<'_>,
    TenantMove { id, dry_run, .. }: &TenantMove,
) -> Result<String, Failure> {
    let by = by_operator(target, &TenantId::parse(MANAGEMENT)?).await?;
    let mode = if *dry_run { Mode::Rehearsal } else { Mode::Real };
    let seal = |at_source: &_, here: &_| sealed_again(keys, at_source, here);
    let secrets = Secrets { seal: &seal, hashing: keys.0.hashing_facts(keys.1) };
    let Moved { tables, closed, fenced } =
        match Box::pin(relocation.transfer(&by, mode, &secrets, &report)).await {
            Ok(moved) => moved,
            Err(error) => return Err(failed(relocation, error).await),
        };
    let paused = fenced.elapsed();
    if !dry_run {
        in_force::wait_if_announced(target).await;
        complete(source, relocation).await.map_err(|error| {
            format!("{id} is at the target, and its writes are rejected here; run the command again: {error}")
        })?;
    }
    let mut told = format!("{}\n", proof(&tables));
    if closed > 0 {
        told += &format!("{closed} secrets cannot be opened, as before the move\n");
    }
    Ok(match dry_run {
        true => format!("{told}{id} could be moved"),
        false => format!("{told}{id} has moved; its writes were rejected for {:.1} s", paused.as_secs_f64()),
    })
}

/// Returns the error of a move that failed. Usually the tenant is used as before.
async fn failed(relocation: &Relocation<'_>, error: platform_model::error::Error) -> Failure {
    match relocation.find().await {
        Ok(Place::Source) => error.into(),
        _ => {
            format!("{error}. Writes of the tenant are rejected here; run the command again, or with --undo")
                .into()
        }
    }
}

async fn complete(source: &Database, relocation: &Relocation<'_>) -> Result<(), Failure> {
    let by = by_operator(source, &TenantId::parse(MANAGEMENT)?).await?;
    Ok(relocation.complete(&by).await?)
}

/// Prints a step of the move.
fn report(step: Step) {
    match step {
        Step::Copied(rows) => say(format_args!("{rows} rows are copied")),
        Step::CaughtUp(rows, took) => {
            say(format_args!(
                "{rows} rows that were written meanwhile are copied, in {:.1} s",
                took.as_secs_f64()
            ));
        }
        Step::Fenced => say("writes of the tenant are rejected"),
        Step::Proven(rows) => {
            say(format_args!("the last {rows} rows are copied, and both sides have the same ones"))
        }
        Step::Committed => say("the tenant is at the target"),
    }
}
