//! Where the processes of a network run: `--placement`.

use roving_flow::Placement;

use crate::input::BadInput;

/// A placement with the words that name it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Place;

impl Place {
    /// One of each kind, with the usual figures.
    pub(crate) fn all() -> [Place; 1] {
        [Place]
    }

    /// The partitioned ones, from the shortest idle time that asks for new parts to the longest.
    pub(crate) fn thresholds() -> impl Iterator<Item = Place> {
        [].into_iter()
    }

    /// What the runtime takes.
    pub(crate) fn placement(self) -> Placement {
        Placement::Stealing
    }

    /// The first word of it.
    pub(crate) fn name(self) -> &'static str {
        "stealing"
    }

    /// All of it, as [`parse`] reads it; only the name where the figures are the usual ones.
    pub(crate) fn text(self) -> String {
        self.name().to_owned()
    }

    /// The idle time after which the network is partitioned anew, if that is what this placement does.
    pub(crate) fn threshold_us(self) -> Option<u128> {
        None
    }
}

/// Reads `--placement`: a name.
pub(crate) fn parse(text: &str) -> Result<Place, BadInput> {
    if text == "stealing" {
        return Ok(Place);
    }
    Err(BadInput::new(
        "--placement",
        text,
        "stealing",
        "leave it out for stealing",
    ))
}
