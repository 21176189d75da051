//! Output: text for the terminal, Markdown, HTML pages.

pub mod comparison;
pub(crate) mod format;
pub mod markdown;
pub mod page;
pub mod profile;
pub mod published;
pub mod table;
