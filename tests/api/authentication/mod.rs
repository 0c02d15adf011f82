//! Authentication by tokens, and throttling of guesses. Tests of Basic credentials are in `callers`.

mod command_login;
mod identity_provider;
mod jwt;
mod open_connections;
mod provider_log_out;
mod providers;
mod second_factor;
mod single_sign_on;
mod throttling;

use crate::harness::prelude::*;
