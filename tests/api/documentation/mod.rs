//! The documentation that the server serves: what the API reference says of each member and parameter, and what its
//! pages show. `matrix::reference` compares the reference with the routes and with real requests.

mod descriptions;
