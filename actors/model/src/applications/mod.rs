//! Applications, their archives, and what microservices need.

pub mod application;
pub mod application_credentials;
pub mod manifest;
pub mod service_address;
