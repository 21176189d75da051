//! Listening sockets and their accept loops.

pub(crate) mod accept;
pub(crate) mod socket;
