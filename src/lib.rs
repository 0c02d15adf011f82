//! The `platform` program: [`program`] runs the server of `platform_web` or a command of `platform_operator`.

pub mod program;
