//! Which functions of this crate use approved services of AWS-LC's FIPS module.
//!
//! Each function is run, and the module's service indicator says how many approved services it has
//! completed. `cargo test -p tercel-crypto --no-default-features --features fips,deterministic
//! --test fips_indicator -- --nocapture` prints the table.
//!
//! The indicator cannot say that a call was *not* approved: it counts only approved services. So
//! each row has the number of services that the function should need, and the number that the
//! indicator counted. A row in which the two differ has a reason.

#![cfg(all(feature = "fips", feature = "deterministic", debug_assertions))]

mod support;

#[path = "fips_indicator/facade.rs"]
mod facade;
#[path = "fips_indicator/rows.rs"]
mod rows;

use std::collections::BTreeSet;

use tercel_crypto::service_indicator::approved_services;

/// The result of one call.
struct Row {
    /// The function, as `Type::function`.
    function: &'static str,
    input: String,
    /// The number of services that the function needs.
    needed: u64,
    counted: u64,
    /// Why not all of them are counted.
    reason: Option<&'static str>,
}

/// The table, filled by calls.
struct Table(Vec<Row>);

impl Table {
    /// Runs a function that needs `needed` services, all of which have to be approved.
    fn approved<T>(
        &mut self,
        function: &'static str,
        input: impl std::fmt::Debug,
        needed: u64,
        action: impl FnOnce() -> T,
    ) -> T {
        let (counted, result) = approved_services(action);
        let counted = counted.unwrap();
        let input = format!("{input:?}");
        assert_eq!(counted, needed, "{function}, {input}");
        self.0.push(Row { function, input, needed, counted, reason: None });
        result
    }

    /// Runs a function that needs services of which not all are approved: `numbers` are those
    /// needed, and those approved.
    fn not_approved<T>(
        &mut self,
        function: &'static str,
        input: impl std::fmt::Debug,
        numbers: (u64, u64),
        reason: &'static str,
        action: impl FnOnce() -> T,
    ) -> T {
        let (counted, result) = approved_services(action);
        let (counted, input) = (counted.unwrap(), format!("{input:?}"));
        assert_eq!(counted, numbers.1, "{function}, {input}: {reason}");
        assert!(numbers.0 > numbers.1, "{function}, {input}: approved");
        let (needed, reason) = (numbers.0, Some(reason));
        self.0.push(Row { function, input, needed, counted, reason });
        result
    }

    fn print(&self) {
        println!("{:<44} {:<44} {:>6} {:>8}  reason", "function", "input", "needed", "approved");
        for Row { function, input, needed, counted, reason } in &self.0 {
            let reason = reason.unwrap_or_default();
            println!("{function:<44} {input:<44} {needed:>6} {counted:>8}  {reason}");
        }
    }
}

#[test]
fn every_function_is_approved_or_has_a_reason() {
    assert!(tercel_crypto::fips_module().is_some());
    // The first call compares hash functions, which counts.
    assert_eq!(tercel_crypto::hash_lanes(), tercel_crypto::HashLanes::None);
    let mut table = Table(Vec::new());
    rows::random(&mut table);
    rows::hashes(&mut table);
    rows::macs(&mut table);
    rows::derivations(&mut table);
    rows::records(&mut table);
    rows::other_messages(&mut table);
    rows::key_exchanges(&mut table);
    rows::signatures(&mut table);
    rows::hpke(&mut table);
    table.print();
    let tested: BTreeSet<_> = table.0.iter().map(|row| row.function.to_owned()).collect();
    assert_eq!(facade::functions_without(&tested), Vec::<String>::new(), "not in the table");
    assert_eq!(facade::unknown(&tested), Vec::<String>::new(), "in the table, not in the crate");
}
