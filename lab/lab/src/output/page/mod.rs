//! The HTML pages.

mod bars;
pub mod changes;
mod drawing;
mod figures;
pub(crate) mod html;
mod method;
mod plots;
mod profile;
pub mod report;
mod verdicts;
