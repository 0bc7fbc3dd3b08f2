//! Without the feature `diagnostics` no pool is watched.

use super::Why;
use crate::workers::settings::Debt;

/// There is none.
pub(crate) enum Watch {}

/// There is none.
pub(crate) enum Parked {}

impl Watch {
    pub(crate) fn of(_: &Debt) -> Option<Watch> {
        None
    }

    pub(crate) fn enlist(&self, _seat: usize) {
        match *self {}
    }

    pub(crate) fn begin(&self, _seat: usize, _why: Why) -> Parked {
        match *self {}
    }
}
