//! Kinds of tasks: what measured times are kept by.

/// What a task does, whatever its size. Tasks of one kind and of about one size are expected to take about as long.
///
/// ```
/// use roving_gpu::Kind;
///
/// static GEMM: Kind = Kind::new("gemm");
/// assert_eq!(GEMM.name(), "gemm");
/// ```
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    name: &'static str,
}

impl Kind {
    /// A kind. Two kinds by one name share what was measured.
    pub const fn new(name: &'static str) -> Self {
        Kind { name }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}
