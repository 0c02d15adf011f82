//! A whole microservice (document 3, Microservices): it starts with nothing but the environment of W-14, learns with its
//! bootstrap user who subscribes to it, acts as a service user in two tenants, and answers what the platform passes on.
