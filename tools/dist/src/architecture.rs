//! The architectures of a release, and their names.

/// A processor architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    /// The machine that builds is of the first one.
    pub(crate) const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// The kernel's and RPM's name, also in the names of files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Debian's name, which is Go's and so that of OCI images, too.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// The target of static programs.
    pub(crate) fn target(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-musl",
            Self::Aarch64 => "aarch64-unknown-linux-musl",
        }
    }

    /// The start of the names of GNU programs that process files of this architecture.
    pub(crate) fn gnu_prefix(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux-gnu-",
            Self::Aarch64 => "aarch64-linux-gnu-",
        }
    }

    /// Debian's file by which GCC compiles for musl in the place of glibc.
    pub(crate) fn musl_specs(self) -> String {
        format!("/usr/lib/{}-linux-musl/musl-gcc.specs", self.name())
    }
}
