//! What a step is.

/// A command whose exit status is a result of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// A command line for bash, run in the root of the repository.
    pub(crate) command: &'static str,
    pub(crate) tier: Tier,
    /// The folder that cargo locks while it builds for this step. Steps with the same folder
    /// never run at the same time.
    pub(crate) folder: &'static str,
    /// Steps that end before this one starts, if they are part of the run.
    pub(crate) after: &'static [&'static str],
    /// The step waits for sockets or other programs, so that a busy machine could make it fail.
    /// After a failure it runs once more, alone.
    pub(crate) uses_sockets: bool,
    /// What `tools/setup.sh` installs for this step.
    pub(crate) needs: &'static [&'static str],
    /// Release builds are of programs whose speed and size are not measured, and take less time.
    pub(crate) is_quick: bool,
    /// Minutes on two cores with nothing else running, rounded up.
    pub(crate) minutes: u64,
}

/// When a step runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tier {
    /// In each run.
    EachChange,
    /// In each run, unless only documents have changed.
    EachChangeOfCode,
    /// When a path is touched whose row in `paths.rs` names the step, and when the hash of the
    /// tree selects its turn.
    Rotating {
        turn: u64,
        /// The command of `--all`, if it does more than the step's own.
        long: Option<&'static str>,
    },
}

/// The number of groups of rotating steps. The hash of the tree selects one group for each run,
/// so that in the mean every step is part of each fifth run.
pub(crate) const TURNS: u64 = 5;

impl Step {
    pub(crate) const fn each_change(
        name: &'static str,
        command: &'static str,
        minutes: u64,
    ) -> Self {
        let tier = Tier::EachChange;
        Self {
            name,
            command,
            tier,
            folder: "",
            after: &[],
            uses_sockets: false,
            is_quick: false,
            needs: &[],
            minutes,
        }
    }

    pub(crate) const fn of_code(name: &'static str, command: &'static str, minutes: u64) -> Self {
        Self { tier: Tier::EachChangeOfCode, ..Self::each_change(name, command, minutes) }
    }

    pub(crate) const fn rotating(
        turn: u64,
        name: &'static str,
        command: &'static str,
        minutes: u64,
    ) -> Self {
        Self {
            tier: Tier::Rotating { turn, long: None },
            ..Self::each_change(name, command, minutes)
        }
    }

    pub(crate) const fn long(self, command: &'static str) -> Self {
        let Tier::Rotating { turn, .. } = self.tier else {
            panic!("only rotating steps have a long form")
        };
        Self { tier: Tier::Rotating { turn, long: Some(command) }, ..self }
    }

    pub(crate) const fn builds_in(self, folder: &'static str) -> Self {
        Self { folder, ..self }
    }

    pub(crate) const fn after(self, after: &'static [&'static str]) -> Self {
        Self { after, ..self }
    }

    pub(crate) const fn with_sockets(self) -> Self {
        Self { uses_sockets: true, ..self }
    }

    pub(crate) const fn quick(self) -> Self {
        Self { is_quick: true, ..self }
    }

    pub(crate) const fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }

    /// Variables of the step's command.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let variables =
            [("CARGO_PROFILE_RELEASE_LTO", "off"), ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")];
        variables.into_iter().filter(|_| self.is_quick)
    }

    pub(crate) fn rotates(&self) -> bool {
        matches!(self.tier, Tier::Rotating { .. })
    }
}
