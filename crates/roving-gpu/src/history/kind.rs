//! Kinds of tasks: what measured times are kept by.

/// A kind of task, whatever its size. Tasks of one kind and of about one size are expected to take
/// about as long.
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
    /// Creates a kind. Two kinds by one name share their measurements.
    ///
    /// ```
    /// static SORT: roving_gpu::Kind = roving_gpu::Kind::new("sort");
    /// assert_eq!(SORT.name(), "sort");
    /// ```
    pub const fn new(name: &'static str) -> Self {
        Kind { name }
    }

    /// Returns the kind's name.
    ///
    /// ```
    /// assert_eq!(roving_gpu::Kind::new("sort").name(), "sort");
    /// ```
    pub const fn name(&self) -> &'static str {
        self.name
    }
}
