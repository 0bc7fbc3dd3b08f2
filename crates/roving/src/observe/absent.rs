//! Stands where `diagnostics` would, in a program that was built without: nothing is recorded, and
//! a variable that asks for something is refused in one line.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use crate::machine::os;
use crate::machine::per_process::PerProcess;
use crate::machine::prim::process_wide;
use crate::observe::variable::set;
use crate::workers::registry::Registry;
use crate::workers::settings::Debt;

/// The variables that `diagnostics` reads.
const VARIABLES: [&str; 4] = [
    "ROVING_PROFILE",
    "ROVING_TOP",
    "ROVING_TRACE",
    "ROVING_WATCH",
];

process_wide! {
    /// The variables have been looked at; a forked child leaves that to its parent.
    static LOOKED: PerProcess<bool> = PerProcess::new();
}

/// No pool owes anything. The first one that is built names the variables that are set for
/// nothing.
pub(crate) fn owed(debt: Debt) -> Debt {
    os::count_forks();
    let is_first = !mem::replace(&mut *LOOKED.lock_inherited(|looked| *looked), true);
    if is_first {
        VARIABLES.into_iter().for_each(refuse);
    }
    debt
}

fn refuse(name: &str) {
    if set(name).is_some() {
        os::say(&format!(
            "{name} is set, but this program was built without Roving's feature `diagnostics`: build \
             it with the feature, or unset the variable"
        ));
    }
}

pub(crate) fn patience() -> Option<Duration> {
    None
}

pub(crate) fn enter(_: &Arc<Registry>) {}

pub(crate) fn leave(_: &Registry) {}

pub(crate) fn settle(_: &Registry) {}

#[inline]
pub(crate) fn rest() {}
