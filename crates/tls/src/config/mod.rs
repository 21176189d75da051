//! Configurations: plain values that are built once and shared by reference.

/// Adds setters to a builder. `pub fn name(argument: Type) => field = value;` is a setter that
/// assigns the value to this field of the builder.
macro_rules! setters {
    (
        for $builder:ident;
        $($(#[$meta:meta])*
        pub fn $name:ident($argument:ident: $type:ty) => $($field:ident).+ = $value:expr;)*
    ) => {
        impl $builder {$(
            $(#[$meta])*
            #[must_use]
            pub fn $name(mut self, $argument: $type) -> Self {
                self.$($field).+ = $value;
                self
            }
        )*}
    };
}

mod builder;
mod certificate_request;
pub(crate) mod client;
pub(crate) mod client_auth;
pub(crate) mod clock;
pub(crate) mod common;
#[cfg(feature = "quic")]
mod derived_for_quic;
mod fips;
mod protocols;
#[cfg(feature = "quic")]
mod quic;
pub(crate) mod resumption;
pub(crate) mod server;
mod server_sessions;
mod usable_psks;
