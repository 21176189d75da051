//! Reports: the format of `report.json`, comparisons and A/A tests.

pub mod aa_test;
pub(crate) mod comparison;
mod differences;
pub mod profile;
mod schema;

pub use schema::{
    Figure, PeerReport, Report, RowReport, SCHEMA, SHARED_KEYS, Settings, SideReport, SpeedRatio,
};
pub(crate) use schema::{now, read_json, write_json};
