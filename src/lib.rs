//! The `platform` program: a command of `platform_operator`, or [`serve`], which runs the server of `platform_web`.

pub mod serve;
