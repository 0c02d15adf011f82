//! Accounts and what they may do beside roles: users, groups, and their tokens.

pub mod group;
pub mod second_factor;
pub mod token_client;
pub mod user;
pub mod user_token;
