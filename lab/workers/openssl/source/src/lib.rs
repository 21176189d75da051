pub use source::*;
