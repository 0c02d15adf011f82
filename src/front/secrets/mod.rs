//! Passwords and generated secrets as they are stored, the key of a deployment, and what is encrypted with it.

pub mod access_token;
mod application_secrets;
pub mod foreign_keys;
pub mod password;
pub mod sealing;
pub mod second_factor;
pub mod secret_key;
