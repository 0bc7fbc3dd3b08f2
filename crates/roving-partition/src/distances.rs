//! How far the parts are from each other.

use std::fmt;

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
    /// A distance is 0 or greater than [`DISTANCE_MAX`].
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
        let mut table = vec![0; parts * parts];
        for a in 0..parts {
            for b in a + 1..parts {
                let distance = between(a, b);
                if !(1..=DISTANCE_MAX).contains(&distance) {
                    return Err(DistanceError { a, b, distance });
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

/// The error of a distance that is out of range.
///
/// ```
/// let error = roving_partition::Distances::new(2, |_, _| u32::MAX).unwrap_err();
/// assert_eq!((error.a, error.b, error.distance), (0, 1, u32::MAX));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DistanceError {
    /// One part.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// The wrong distance.
    pub distance: u32,
}

impl fmt::Display for DistanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DistanceError { a, b, distance } = self;
        write!(
            f,
            "parts {a} and {b} are at distance {distance}; allowed are 1 to {DISTANCE_MAX}: give \
             parts that are one place one number"
        )
    }
}

impl std::error::Error for DistanceError {}
