//! Stand-ins for the commands and programs that this build leaves out: each says how to build it.
#![cfg_attr(
    all(feature = "rivals", feature = "top"),
    allow(dead_code, reason = "nothing is left out")
)]

use clap::Args;

use crate::io::input::{BadInput, CommandFailure};

/// Programs that have a GPU side and no other form.
pub(crate) const ONLY_WITH_GPU: [&str; 3] = ["nbody", "mandelbrot", "image-pipeline"];

/// The words behind a command that is left out.
#[derive(Args, Debug)]
pub(crate) struct LeftOutWords {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The one line that names what is left out and says how it is built.
fn needs(feature: &str, what: &str, command: &str, words: &[String]) -> CommandFailure {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let again = [&[command][..], &words].concat().join(" ");
    BadInput::line(format!(
        "{what} is not in this build; it needs: cargo run --release --features {feature} -- {again}"
    ))
    .into()
}

/// The words after the name of the program.
#[cfg(not(all(feature = "gpu", feature = "dist")))]
fn typed() -> Vec<String> {
    std::env::args().skip(2).collect()
}

macro_rules! commands {
    ($feature:literal: $($module:ident $command:literal,)+) => {$(
        #[cfg(not(feature = $feature))]
        pub(crate) mod $module {
            use crate::cli::absent::{CommandFailure, LeftOutWords, needs};

            pub(crate) fn run(words: &LeftOutWords) -> Result<(), CommandFailure> {
                let what = concat!("`roving ", $command, "`");
                Err(needs($feature, what, $command, &words.words))
            }
        }
    )+};
}

commands!("rivals":
    bench "bench",
    compare "compare",
    drop_in "drop-in",
    model "model",
    probe "probe",
    repro "repro",
);
commands!("top": top "top",);

/// Programs across ranks.
#[cfg(not(feature = "dist"))]
pub(crate) mod dist {
    use crate::cli::absent::{CommandFailure, needs, typed};
    use crate::job::settings::RunArgs;

    pub(crate) fn run(_: &RunArgs) -> Result<(), CommandFailure> {
        Err(needs("mpi", "`--dist`", "run", &typed()))
    }
}

/// Programs with a GPU side.
#[cfg(not(feature = "gpu"))]
pub(crate) mod duals {
    use crate::cli::absent::ONLY_WITH_GPU;
    use crate::workloads::WorkloadKind;

    /// None of them is here.
    pub(crate) fn kinds() -> impl Iterator<Item = &'static WorkloadKind> {
        std::iter::empty()
    }

    /// Whether there is one of that name.
    pub(crate) fn has(name: &str) -> bool {
        ONLY_WITH_GPU.contains(&name)
    }

    pub(crate) mod run {
        use crate::cli::absent::{CommandFailure, needs, typed};
        use crate::job::settings::RunArgs;

        /// Whether a device is asked for, or a program that is nothing without.
        pub(crate) fn wanted(args: &RunArgs) -> bool {
            args.device.is_some() || crate::cli::absent::duals::has(&args.workload)
        }

        pub(crate) fn run(args: &RunArgs) -> Result<(), CommandFailure> {
            let program = format!("the GPU side of `{}`", args.workload);
            Err(needs("gpu", &program, "run", &typed()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_says_how_it_is_built() {
        let words = ["uts", "--against", "rayon"].map(str::to_owned);
        let line = needs("rivals", "`roving compare`", "compare", &words).to_string();
        let call = "cargo run --release --features rivals -- compare uts --against rayon";
        assert!(line.ends_with(call), "{line}");
    }

    #[cfg(feature = "gpu")]
    #[test]
    fn the_names_are_those_of_programs_without_another_form() {
        use crate::{networks, workloads};
        let otherwise = |name: &str| {
            workloads::CATALOGUE.iter().any(|kind| kind.name == name)
                || networks::NetworkJob::find(name).is_some()
        };
        let names = crate::duals::kinds().map(|kind| kind.name);
        let only: Vec<_> = names.filter(|name| !otherwise(name)).collect();
        assert_eq!(only, ONLY_WITH_GPU);
    }
}
