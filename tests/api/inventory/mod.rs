//! Managed objects (document 2, Inventory; I-01 to I-16).

mod cascade;
mod children;
mod lifecycle;
mod list;
mod notifications;
mod ownership;
mod permissions;
mod references;
