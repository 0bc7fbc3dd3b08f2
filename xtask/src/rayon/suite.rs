//! `cargo xtask rayon-suite`: the tests of rayon and rayon-core, which nobody here wrote, against
//! our rayon-core.
//!
//! The packages come from crates.io and contain their tests. Everything happens under
//! `target/rayon-suite`, in one workspace with one build folder; nothing of it is committed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::registry::{self, CORE};
use super::rewrite::{self, LEFT_OUT};
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;
use crate::suite::programs::{self, TestOutcome};
use crate::{Result, reading};

pub(super) const RAYON_VERSION: &str = "1.12.0";
/// The version that ours stands in for.
pub(crate) const CORE_VERSION: &str = "1.13.0";
/// The package made of rayon-core's tests.
const OWN: &str = "rayon-core-suite";

/// The folders of a run.
struct Suite<'a> {
    workspace: &'a Workspace,
    /// The workspace with both packages of tests.
    root: PathBuf,
    /// The rayon-core under test.
    core: PathBuf,
}

/// The tests that a package holds, to be compared with those that ran.
#[derive(Debug, Default)]
struct Written {
    tests: u64,
    blocks: u64,
}

/// Runs the suite; with `stock` against rayon-core as it comes from crates.io, which tells a fault
/// of ours from one of the machine.
pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep, stock: bool) -> Result<()> {
    let root = workspace.target.join("rayon-suite");
    let packages = [("rayon", RAYON_VERSION), (CORE, CORE_VERSION)];
    let found = registry::fetch(workspace, &root.join("fetch"), &packages);
    let sources = match found {
        Ok(sources) => sources,
        Err(lack) => return lack.judge(step),
    };
    let core = if stock {
        registry::copy(&sources[1], &root.join("stock"))?;
        root.join("stock")
    } else {
        super::core_folder(workspace)?
    };
    let suite = Suite {
        workspace,
        root: root.join("tests"),
        core,
    };
    let written = suite.write(&sources[0], &sources[1])?;
    if let Err(lack) = registry::online_or_cached(workspace, &suite.root) {
        return lack.judge(step);
    }
    for package in ["rayon", OWN] {
        registry::require_patch(workspace, &suite.root.join(package), &suite.core)?;
    }
    println!(
        "rayon {RAYON_VERSION} and {CORE} {CORE_VERSION} from crates.io, linked with {}",
        suite.core.display()
    );
    suite.run(&written, step)?;
    left_out();
    if !stock {
        api(workspace, step)?;
    }
    Ok(())
}

impl Suite<'_> {
    /// Writes the workspace: rayon as it is, and a package made of rayon-core's tests.
    fn write(&self, rayon: &Path, core: &Path) -> Result<Written> {
        let manifest = format!("[workspace]\nresolver = \"2\"\nmembers = [\"rayon\", \"{OWN}\"]\n");
        registry::write(&self.root.join("Cargo.toml"), &manifest)?;
        registry::copy(rayon, &self.root.join("rayon"))?;
        // The versions that Rayon was released with.
        let lock = registry::read(&rayon.join("Cargo.lock"))?;
        registry::write(&self.root.join("Cargo.lock"), &lock)?;
        let own = self.root.join(OWN);
        registry::copy(&core.join("tests"), &own.join("tests"))?;
        registry::write(
            &own.join("Cargo.toml"),
            &own_manifest(&registry::read(&core.join("Cargo.toml"))?)?,
        )?;
        let mut written = Written::default();
        let mut root = String::from("#![allow(dead_code)]\n");
        for file in reading::files(&core.join("src"), &["rs"]) {
            let short = workspace_path(&file, core);
            let text = registry::read(&file)?;
            let tests = rewrite::tests_in(&text);
            if tests > 0 && !short.ends_with("/test.rs") {
                return Err(format!(
                    "{CORE}: {short} holds tests: this command only knows those in test.rs"
                ));
            }
            if tests > 0 {
                let left_out: Vec<&str> = LEFT_OUT
                    .iter()
                    .filter(|out| out.file == short)
                    .map(|out| out.test)
                    .collect();
                let test = rewrite::integration_test(&text, &left_out)?;
                registry::write(&own.join("tests").join(flat(&short)), &test)?;
                written.tests += tests - left_out.len() as u64;
            }
            let (docs, blocks) = rewrite::documentation(&text);
            if blocks > 0 {
                registry::write(&own.join("stock").join(&short), &docs)?;
                let module = flat(&short).replace(".rs", "");
                let _ = writeln!(root, "#[path = \"../stock/{short}\"]\nmod {module};");
                written.blocks += blocks;
            }
        }
        for file in reading::files(&core.join("tests"), &["rs"]) {
            written.tests += rewrite::tests_in(&registry::read(&file)?);
        }
        registry::write(&own.join("src/lib.rs"), &root)?;
        match LEFT_OUT.iter().find(|out| !core.join(out.file).exists()) {
            Some(gone) => Err(format!(
                "{} is left out, but {} does not exist",
                gone.test, gone.file
            )),
            None => Ok(written),
        }
    }

    fn run(&self, written: &Written, step: &mut CheckStep) -> Result<()> {
        let mut build = self.cargo(&["test", "--workspace", "--tests", "--no-fail-fast"]);
        let (mut built, _) = programs::build(&mut build)?;
        built.sort_by_key(|program| self.part(program));
        let mut table = Vec::new();
        let mut own = 0;
        for program in &built {
            let name = self.part(program);
            println!("\n{name}");
            let outcome = programs::run(program, &[], true)?;
            let counts = outcome.counts;
            if name.starts_with(CORE) {
                own += counts.passed + counts.failed + counts.skipped;
            }
            table.push((name, outcome));
        }
        if own < written.tests {
            step.fail(format!(
                "{CORE} holds {} tests, but {own} ran",
                written.tests
            ));
        }
        for package in ["rayon", OWN] {
            let name = format!(
                "{} documentation",
                if package == OWN { CORE } else { package }
            );
            println!("\n{name}");
            let mut command = self.cargo(&["test", "--doc", "-p", package]);
            // Makes rustdoc compare the error of a program that must not compile with the one it
            // names.
            command.env("RUSTC_BOOTSTRAP", "1");
            let outcome = programs::run_docs(&mut command, true)?;
            let counts = outcome.counts;
            let ran = counts.passed + counts.failed + counts.skipped;
            if package == OWN && ran != written.blocks {
                step.fail(format!(
                    "{CORE} holds {} code blocks, but {ran} ran",
                    written.blocks
                ));
            }
            table.push((name, outcome));
        }
        print(&table, step);
        Ok(())
    }

    /// The package and the file of a program.
    fn part(&self, program: &programs::TestProgram) -> String {
        let package = if program.is_in(&self.root.join(OWN)) {
            CORE
        } else {
            "rayon"
        };
        format!("{package} {}", program.name)
    }

    fn cargo(&self, words: &[&str]) -> Command {
        let mut command = self.workspace.cargo(words);
        command
            .args(registry::patch(&self.core))
            .current_dir(&self.root)
            .env(
                "CARGO_TARGET_DIR",
                self.workspace.target.join("rayon-suite/target"),
            );
        command
    }
}

/// The manifest of the package of tests: rayon-core, and what its tests need, which may be one of
/// its own needs.
fn own_manifest(stock: &str) -> Result<String> {
    let mut manifest = format!(
        "[package]\nname = \"{OWN}\"\nversion = \"0.0.0\"\nedition = \"2021\"\npublish = false\n\n\
         [lib]\ntest = false\n\n[dependencies.{CORE}]\nversion = \"{CORE_VERSION}\"\n"
    );
    let mut needs = 0;
    for section in stock.split("\n[").skip(1) {
        let (head, body) = section.split_once(']').unwrap_or((section, ""));
        let need = head.contains("dependencies.") && !head.contains("build-dependencies.");
        if need && !body.contains("optional = true") {
            needs += 1;
            let _ = write!(manifest, "\n[{}\n", section.trim_end());
        }
    }
    if needs > 0 {
        Ok(manifest)
    } else {
        Err(format!("{CORE} names nothing that its tests need"))
    }
}

/// A path as the name of one file.
pub(super) fn flat(short: &str) -> String {
    short.replace('/', "_")
}

pub(super) fn workspace_path(file: &Path, root: &Path) -> String {
    let short = file.strip_prefix(root).unwrap_or(file);
    short.to_string_lossy().replace('\\', "/")
}

pub(super) fn print(table: &[(String, TestOutcome)], step: &mut CheckStep) {
    println!();
    let mut sum = TestOutcome::default();
    for (name, outcome) in table {
        println!("{name:40}{}", programs::told(outcome));
        outcome.judge(name, step);
        sum.add(outcome.clone());
    }
    println!("{:40}{}", "in all", programs::told(&sum));
    for failure in &sum.failures {
        println!("{} {}", failure.test, failure.why);
    }
}

fn left_out() {
    for out in &LEFT_OUT {
        println!("left out: {} of {}: {}", out.test, out.file, out.reason);
    }
    println!("tests left out: {}", LEFT_OUT.len());
}

/// The public items of ours against those of the release, where cargo-semver-checks is installed.
fn api(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    if !tool::works("cargo-semver-checks", &["semver-checks", "--version"]) {
        step.skip(
            "the public items are not compared: cargo-semver-checks is not installed, and to install it takes \
             minutes: cargo install --locked cargo-semver-checks",
        );
        return Ok(());
    }
    let mut command = workspace.cargo(&["semver-checks", "--baseline-version", CORE_VERSION]);
    command
        .args(["--release-type", "minor", "--manifest-path"])
        .arg(super::core_folder(workspace)?.join("Cargo.toml"));
    if !tool::watch(&mut command)?.ok {
        step.fail(format!(
            "public items of {CORE} {CORE_VERSION} are missing or differ"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_needs_are_taken_over() {
        let stock = "# dependencies.none]\n[package]\nname = \"rayon-core\"\n\n[features]\nweb = []\n\n[dependencies.utils]\nversion = \"1\"\n\n\
            [dependencies.wasm]\nversion = \"1\"\noptional = true\n\n[dev-dependencies.rand]\nversion = \"0.9\"\n\n\
            [target.\"cfg(unix)\".dev-dependencies.libc]\nversion = \"0.2\"\n";
        let manifest = own_manifest(stock).unwrap();
        assert!(manifest.contains("[dependencies.rayon-core]\nversion = \"1.13.0\""));
        assert!(manifest.contains("[dependencies.utils]\nversion = \"1\""));
        assert!(manifest.contains("[dev-dependencies.rand]\nversion = \"0.9\""));
        assert!(
            manifest.contains("[target.\"cfg(unix)\".dev-dependencies.libc]\nversion = \"0.2\"")
        );
        assert!(!manifest.contains("wasm") && !manifest.contains("web"));
        assert!(own_manifest("[package]\n").is_err());
    }

    #[test]
    fn each_file_of_tests_has_a_name_of_its_own() {
        assert_eq!(flat("src/join/test.rs"), "src_join_test.rs");
        assert_ne!(flat("src/test.rs"), flat("src/join/test.rs"));
    }
}
