//! What the operating system gives and takes: inherited sockets, the service manager, privileges, limits, signals.
//!
//! The order matters to who uses it: [`sockets::inherited_listeners`] before any thread is started, then bind what is missing and
//! read the keys, then [`limits::raise_file_limit`], then [`privileges::drop_privileges`] while there is still one thread, then the
//! workers, then [`notify::ready`].
//!
//! Must not know: TLS, configuration. Next: [`sockets`].

pub mod limits;
pub mod notify;
pub mod privileges;
pub mod signals;
pub mod sockets;
