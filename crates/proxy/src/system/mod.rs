//! Interfaces of the operating system: socket activation, service manager, privileges, limits,
//! signals.
//!
//! Use them in this order: [`socket_activation::inherited_listeners`] before any thread starts;
//! then bind the other sockets and read private keys; then [`file_limit::raise_file_limit`] and
//! [`privileges::drop_privileges`], still before any other thread; then start the workers; then
//! [`notify::ready`].

pub mod file_limit;
pub mod notify;
pub mod privileges;
pub mod signals;
pub mod socket_activation;
