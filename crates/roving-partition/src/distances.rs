//! How far the parts are from each other.

use std::fmt;

/// The largest number of parts.
///
/// ```
/// use roving_partition::{Graph, PARTS_MAX, Problem};
///
/// let graph = Graph::builder().build()?;
/// assert!(Problem::new(&graph, PARTS_MAX).is_ok());
/// assert!(Problem::new(&graph, PARTS_MAX + 1).is_err());
/// # Ok::<(), roving_partition::GraphError>(())
/// ```
pub const PARTS_MAX: usize = 4096;

/// The greatest distance between two parts.
///
/// ```
/// use roving_partition::{DISTANCE_MAX, Distances};
///
/// assert!(Distances::new(2, |_, _| DISTANCE_MAX).is_ok());
/// assert!(Distances::new(2, |_, _| DISTANCE_MAX + 1).is_err());
/// ```
pub const DISTANCE_MAX: u32 = 1 << 20;

/// The cost of an edge between two parts, as a factor of its weight: 1 between any two, or taken
/// from a table. With a table, partitioning becomes mapping: vertices that exchange many messages
/// get to parts that are near each other.
///
/// ```
/// use roving_partition::Distances;
///
/// // Two sockets with two cores each.
/// let far = Distances::new(4, |a, b| if a / 2 == b / 2 { 1 } else { 3 })?;
/// assert_eq!(far.between(0, 1), 1);
/// assert_eq!(far.between(1, 2), 3);
/// assert_eq!(Distances::uniform(4).between(1, 2), 1);
/// # Ok::<(), roving_partition::DistanceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distances {
    parts: usize,
    /// Row by row; empty if all are 1.
    table: Vec<u32>,
}

impl Distances {
    /// Creates distances of 1 between any two parts.
    ///
    /// ```
    /// assert!(roving_partition::Distances::uniform(3).is_uniform());
    /// ```
    pub fn uniform(parts: usize) -> Distances {
        let table = Vec::new();
        Distances { parts, table }
    }

    /// Creates a table of distances from `between`, which is called for each two parts `a < b`.
    ///
    /// # Errors
    /// There are more than [`PARTS_MAX`] parts, or a distance is 0 or greater than
    /// [`DISTANCE_MAX`].
    ///
    /// ```
    /// use roving_partition::Distances;
    ///
    /// let error = Distances::new(2, |_, _| 0).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "parts 0 and 1 are at distance 0; allowed are 1 to 1048576: give parts that are one \
    ///      place one number",
    /// );
    /// ```
    pub fn new(
        parts: usize,
        mut between: impl FnMut(usize, usize) -> u32,
    ) -> Result<Distances, DistanceError> {
        if parts > PARTS_MAX {
            return Err(DistanceError::Parts(parts));
        }
        let mut table = vec![0; parts * parts];
        for a in 0..parts {
            for b in a + 1..parts {
                let distance = between(a, b);
                if !(1..=DISTANCE_MAX).contains(&distance) {
                    return Err(DistanceError::Distance { a, b, distance });
                }
                table[a * parts + b] = distance;
                table[b * parts + a] = distance;
            }
        }
        let uniform = (0..parts).all(|a| (0..a).all(|b| table[a * parts + b] == 1));
        if uniform {
            table = Vec::new();
        }
        Ok(Distances { parts, table })
    }

    /// Returns the number of parts.
    ///
    /// ```
    /// assert_eq!(roving_partition::Distances::uniform(3).parts(), 3);
    /// ```
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Returns whether the distance between any two parts is 1.
    ///
    /// ```
    /// let same = roving_partition::Distances::new(3, |_, _| 1)?;
    /// assert!(same.is_uniform());
    /// # Ok::<(), roving_partition::DistanceError>(())
    /// ```
    pub fn is_uniform(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns the distance between two parts; 0 from a part to itself.
    ///
    /// # Panics
    /// There is no such part.
    ///
    /// ```
    /// assert_eq!(roving_partition::Distances::uniform(3).between(1, 1), 0);
    /// ```
    #[inline]
    pub fn between(&self, a: usize, b: usize) -> u32 {
        assert!(a < self.parts && b < self.parts, "no such part");
        match self.is_uniform() {
            true => u32::from(a != b),
            false => self.table[a * self.parts + b],
        }
    }

    pub(super) fn greatest(&self) -> u32 {
        self.table.iter().copied().max().unwrap_or(1)
    }
}

/// The errors of a table of distances.
///
/// ```
/// use roving_partition::{DistanceError, Distances, PARTS_MAX};
///
/// let error = Distances::new(2, |_, _| u32::MAX).unwrap_err();
/// let far = DistanceError::Distance { a: 0, b: 1, distance: u32::MAX };
/// assert_eq!(error, far);
/// let error = Distances::new(PARTS_MAX + 1, |_, _| 1).unwrap_err();
/// assert_eq!(error, DistanceError::Parts(PARTS_MAX + 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "what the fields are is what the messages say")]
pub enum DistanceError {
    /// No problem has so many parts.
    Parts(usize),
    /// The distance between two parts is out of range.
    Distance { a: usize, b: usize, distance: u32 },
}

impl fmt::Display for DistanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            DistanceError::Parts(parts) => write!(
                f,
                "distances of {parts} parts; allowed are up to {PARTS_MAX}: give one place a part \
                 for each of its workers"
            ),
            DistanceError::Distance { a, b, distance } => write!(
                f,
                "parts {a} and {b} are at distance {distance}; allowed are 1 to {DISTANCE_MAX}: \
                 give parts that are one place one number"
            ),
        }
    }
}

impl std::error::Error for DistanceError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Before a table of them is made, or any distance asked for.
    #[test]
    fn more_parts_than_a_problem_may_have_are_refused() {
        for parts in [PARTS_MAX + 1, 1 << (usize::BITS / 2), usize::MAX] {
            let made = Distances::new(parts, |_, _| unreachable!("it is refused before"));
            assert_eq!(made, Err(DistanceError::Parts(parts)));
        }
    }
}
