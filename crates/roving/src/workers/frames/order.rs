//! Work-first or help-first, where the program leaves it open.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::str::FromStr;

/// The order in which [`crate::task::branch`] goes on, set by [`crate::PoolBuilder::spawn_order`].
///
/// ```
/// use roving::policy::SpawnOrder;
///
/// assert_eq!("work-first".parse(), Ok(SpawnOrder::WorkFirst));
/// assert_eq!(SpawnOrder::HelpFirst.to_string(), "help-first");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpawnOrder {
    /// The child runs at once, thieves take the parent's continuation: [`crate::task::fork`].
    /// Memory stays bounded by the depth of the tree; in a flat loop each thief gets one child.
    WorkFirst,
    /// The parent goes on, thieves take the child: [`crate::task::spawn`]. A flat loop is spread
    /// fast; in a recursion tasks pile up.
    HelpFirst,
    /// Chosen at each call. Where the children themselves branch (a recursion), work-first. Where
    /// they do not (a flat loop), help-first while other workers want tasks, otherwise work-first.
    #[default]
    Adaptive,
}

impl fmt::Display for SpawnOrder {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpawnOrder::WorkFirst => "work-first",
            SpawnOrder::HelpFirst => "help-first",
            SpawnOrder::Adaptive => "adaptive",
        })
    }
}

/// The error of a text that is no [`SpawnOrder`]. Names the text, and what would do.
///
/// ```
/// let error = "first".parse::<roving::policy::SpawnOrder>().unwrap_err();
/// assert_eq!(error.to_string(), "\"first\" is no spawn order: say work-first, help-first or adaptive");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseSpawnOrderError(String);

impl fmt::Display for ParseSpawnOrderError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "{text:?} is no spawn order: say work-first, help-first or adaptive"
        )
    }
}

impl std::error::Error for ParseSpawnOrderError {}

impl FromStr for SpawnOrder {
    type Err = ParseSpawnOrderError;

    #[inline]
    fn from_str(text: &str) -> Result<SpawnOrder, ParseSpawnOrderError> {
        match text {
            "work-first" => Ok(SpawnOrder::WorkFirst),
            "help-first" => Ok(SpawnOrder::HelpFirst),
            "adaptive" => Ok(SpawnOrder::Adaptive),
            _ => Err(ParseSpawnOrderError(text.to_owned())),
        }
    }
}

/// Number of places in the program that a worker can tell apart. Two that fall together are taken
/// for one: that costs time, nothing else.
const SITES: usize = 256;

/// A worker's record of which branch sites are recursive.
pub(crate) struct Sites {
    recursive: [Cell<bool>; SITES],
}

/// A place in the program: 1 to 256; 0 is none.
#[inline]
pub(crate) fn site_of(place: &'static Location<'static>) -> u16 {
    // Fibonacci hashing (Knuth) of the address; the compiler makes one location for each place.
    let address = std::ptr::from_ref(place).addr() as u64;
    1 + (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u16
}

impl Sites {
    pub(super) const fn new() -> Sites {
        Sites {
            recursive: [const { Cell::new(false) }; SITES],
        }
    }

    /// A task that was branched off there has branched off another.
    #[inline]
    pub(crate) fn is_recursive_from_now_on(&self, site: u16) {
        if let Some(recursive) = (site as usize)
            .checked_sub(1)
            .map(|index| &self.recursive[index % SITES])
        {
            recursive.set(true);
        }
    }

    #[inline]
    pub(crate) fn is_recursive(&self, site: u16) -> bool {
        self.recursive[(site as usize).wrapping_sub(1) % SITES].get()
    }
}
