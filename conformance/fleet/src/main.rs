//! X
fn main() {}
