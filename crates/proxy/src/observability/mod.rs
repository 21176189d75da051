//! Logs, metrics, and the admin listener that exposes metrics and health.

pub mod admin;
pub mod logs;
pub mod metrics;
