//! Modules at work, driven by hand: texts in, rows and times in, and what comes out, exactly.

mod aggregates;
mod bench;
mod budget;
mod contexts;
mod forwarded;
mod joins;
mod model;
mod output_rate;
mod routing;
mod speed;
mod views;
mod windows;
