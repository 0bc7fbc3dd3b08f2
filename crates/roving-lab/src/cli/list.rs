//! `roving list`: what can be run.

use std::fmt::Write as _;

use super::absent::ONLY_WITH_GPU;
#[cfg(not(feature = "gpu"))]
use super::absent::duals;
#[cfg(feature = "gpu")]
use crate::duals;
use crate::io::input::CommandFailure;
use crate::io::out::show;
use crate::networks;
use crate::workloads::CATALOGUE;

/// `roving list`.
pub(crate) fn print() -> Result<(), CommandFailure> {
    show(format_args!("{}", list()))
}

fn list() -> String {
    let mut list = String::new();
    let plain = CATALOGUE.iter().map(|kind| (kind, ""));
    let networks = networks::CATALOGUE.iter().map(|entry| (&entry.kind, ""));
    let duals = duals::kinds().map(|kind| (kind, " --device"));
    for (kind, option) in plain.chain(networks).chain(duals) {
        let _ = writeln!(list, "{}{option}: {}", kind.name, kind.about);
        for (place, (name, about)) in kind.inputs.iter().enumerate() {
            let default = if place == 0 { " (default)" } else { "" };
            let _ = writeln!(list, "  {name:<10} {about}{default}");
        }
        let _ = writeln!(list, "  or parameters: {}\n", kind.params);
    }
    list.push_str("roving run <workload> --input <name or parameters>\n");
    if !cfg!(feature = "gpu") {
        let _ = writeln!(
            list,
            "Programs with a GPU side, such as {}, need: cargo run --release --features gpu -- list",
            ONLY_WITH_GPU.join(", ")
        );
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_every_workload_and_its_default() {
        let list = list();
        let networks = networks::CATALOGUE.iter().map(|entry| &entry.kind);
        let duals = duals::kinds();
        for kind in CATALOGUE.iter().chain(networks) {
            assert!(
                list.contains(&format!("{}: {}", kind.name, kind.about)),
                "{list}"
            );
        }
        for kind in duals {
            assert!(
                list.contains(&format!("{} --device: {}", kind.name, kind.about)),
                "{list}"
            );
        }
        let kinds = CATALOGUE.len() + networks::CATALOGUE.len() + duals::kinds().count();
        assert_eq!(list.matches(" (default)").count(), kinds);
    }
}
