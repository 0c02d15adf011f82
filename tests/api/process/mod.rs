//! The real binary, as an operator runs it.

mod commands;
mod crash;
mod memory;
mod start;
mod stop;
