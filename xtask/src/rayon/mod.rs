//! The drop-in against the world: Rayon's own tests, and the tests of programs that use Rayon.

mod downstream;
mod iter;
mod outside;
mod registry;
mod renamed;
mod rewrite;
mod suite;

use std::path::PathBuf;

use crate::Result;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;

pub(crate) use downstream::check as downstream;
pub(crate) use iter::check as iter_suite;
pub(crate) use outside::{check as outside, core, workspaces as outside_workspaces};
pub(crate) use renamed::{check as renamed, names as renamed_names};
pub(crate) use suite::check as suite;

/// Other people's packages, with our rayon-core or with `roving-iter` in Rayon's place.
pub(crate) fn packages(
    workspace: &Workspace,
    step: &mut CheckStep,
    only: Option<&str>,
    prove: bool,
    iter: bool,
) -> Result<()> {
    match iter {
        true => renamed(workspace, step, only),
        false => downstream(workspace, step, only, prove),
    }
}

/// The folder of our rayon-core, which is a workspace of its own.
pub(crate) fn core_folder(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.root.join("crates/rayon-core");
    if folder.join("Cargo.toml").is_file() {
        Ok(folder)
    } else {
        Err(format!("{} is not here", workspace.short(&folder)))
    }
}
