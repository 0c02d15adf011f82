//! Runs modules by hand: the tests feed texts, rows and times and compare the exact output.

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
