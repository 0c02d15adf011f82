//! The programs of operators: the command line and its client of the REST interface, the private PostgreSQL, the
//! commands on the database, backups, diagnosis and the demo. The HTTP server is in `platform-web`.

pub mod administration;
pub mod backup;
pub mod cli;
pub mod client;
pub mod demo;
pub mod diagnosis;
pub mod embedded_postgres;
pub mod open_files;
pub mod program;
pub mod settings_check;
pub mod shown_settings;
pub mod systemd;
pub mod transfer;
