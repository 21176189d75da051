//! The bare foreign calls. **For `benches/wrappers.rs` only**, behind the feature `bench-bare`.
