//! Patterns over events like `A1`, with matches like `{A1,B1}`.

mod bursts;
mod chains;
mod harness;
mod operators;
mod reference;
mod timers;
