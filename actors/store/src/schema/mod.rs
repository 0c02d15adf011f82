//! The schema: its migrations, what backups and a new secret key need of it, and what PostgreSQL says of itself.

pub mod description;
mod migration_files;
pub(crate) mod migrations;
pub mod restoration;
pub mod sealed_texts;
