//! Reports kernels and hash lanes that failed their self-test, which indicates faulty hardware.
//!
//! AWS-LC computes these primitives instead, so that only the speed changes. The failures are also
//! a metric.

use tercel::crypto::self_tests;

/// The primitives that were reported before.
#[derive(Default)]
pub(super) struct FailedSelfTests {
    reported: Vec<&'static str>,
}

impl FailedSelfTests {
    /// Logs each primitive that failed since the last call.
    pub(super) fn report(&mut self) {
        for primitive in self.new_ones(self_tests()) {
            tracing::error!(primitive, "self-test failed; AWS-LC is used instead");
        }
    }

    fn new_ones(
        &mut self,
        tests: impl IntoIterator<Item = (&'static str, bool)>,
    ) -> Vec<&'static str> {
        let failed =
            tests.into_iter().filter_map(|(primitive, has_failed)| has_failed.then_some(primitive));
        let new: Vec<_> = failed.filter(|primitive| !self.reported.contains(primitive)).collect();
        self.reported.extend(&new);
        new
    }
}

#[test]
fn each_primitive_is_reported_once() {
    let mut failed = FailedSelfTests::default();
    let reported = [[false, false], [false, true], [true, true], [true, true]]
        .map(|[a, b]| failed.new_ones([("a", a), ("b", b)]));
    assert_eq!(reported, [vec![], vec!["b"], vec!["a"], vec![]]);
}
