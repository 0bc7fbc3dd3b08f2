//! Builds a program for Rayon with the stock `rayon-core`, with ours by cargo's patch, or with
//! `roving-iter` in the place of `rayon`. What cargo says about each crate that it compiled shows
//! which one the program was linked with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The package that is exchanged, and where ours stands.
pub(crate) const CORE: &str = "crates/rayon-core";
/// From this line on, a manifest patches: left out of the copies, which are patched by a flag.
const PATCH: &str = "[patch.crates-io]";

/// Loops at the same places of a cache line in both programs. Without it two builds of one loop,
/// with the same instructions, differed by 20 to 30 %: that says nothing about what they are linked
/// with.
const FLAGS: &str = "-C llvm-args=-align-loops=64";

/// Which `rayon-core`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Core {
    /// That of crates.io.
    Stock,
    /// The package in this folder.
    At(PathBuf),
    /// None: `roving-iter` is what the program knows as `rayon`.
    Iter,
}

impl Core {
    /// Ours.
    pub(crate) fn ours() -> Result<Core, String> {
        Core::in_folder(&root()?.join(CORE))
    }

    /// One in a folder.
    pub(crate) fn in_folder(folder: &Path) -> Result<Core, String> {
        let here = fs::canonicalize(folder.join("Cargo.toml"));
        let manifest = here.map_err(|_| format!("there is no package in {}", folder.display()))?;
        Ok(Core::At(manifest.parent().unwrap_or(folder).to_owned()))
    }

    /// The name in tables.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Core::Stock => "stock",
            Core::At(_) => "drop-in",
            Core::Iter => "roving-iter",
        }
    }
}

/// The programs of one build.
#[derive(Debug)]
pub(crate) struct Built {
    /// Programs by name.
    pub(crate) programs: BTreeMap<String, PathBuf>,
    /// The version of the `rayon-core` in them, or of `roving-iter`.
    pub(crate) version: String,
}

impl Built {
    pub(crate) fn program(&self, name: &str) -> Result<&Path, String> {
        let found = self.programs.get(name).map(PathBuf::as_path);
        found.ok_or_else(|| format!("cargo built no program {name}"))
    }
}

/// The repository that this binary was built from.
fn root() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::canonicalize(&root).map_err(|_| {
        let gone = root.display();
        format!("the repository that this binary was built from is gone: {gone}")
    })
}

/// Builds the package in the folder `package` of this repository, in a copy below `target`: with a
/// patch, cargo writes another lock file.
pub(crate) fn build(package: &str, core: &Core) -> Result<Built, String> {
    let root = root()?;
    let from = root.join(package);
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = root.join(target.unwrap_or_else(|| "target".into()));
    let name = from.file_name().unwrap_or_default();
    let copy = target.join("drop-in").join(core.name()).join(name);
    copy_package(&from, &copy, core).map_err(|error| format!("cannot copy {package}: {error}"))?;
    let said = cargo(&copy, core, &[]).or_else(|why| {
        // Without a network, what is on this machine may be enough.
        cargo(&copy, core, &["--offline"]).map_err(|_| why)
    })?;
    let built = read(&said)?;
    check(&built, core)?;
    let own = || env!("CARGO_PKG_VERSION").to_owned();
    let version = built.core_version.unwrap_or_else(own);
    let programs = built.programs;
    Ok(Built { programs, version })
}

/// Runs cargo; its messages as lines of JSON.
fn cargo(copy: &Path, core: &Core, flags: &[&str]) -> Result<String, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    let words = ["build", "--release", "--message-format=json"];
    command.args(words).args(flags).arg("--target-dir");
    command.arg(copy.join("target")).current_dir(copy);
    let flags_before = std::env::var("RUSTFLAGS").unwrap_or_default();
    command.env("RUSTFLAGS", format!("{flags_before} {FLAGS}").trim());
    if let Core::At(folder) = core {
        // A JSON string is a TOML string.
        let path = Value::from(folder.to_string_lossy()).to_string();
        let patch = format!("patch.crates-io.rayon-core.path={path}");
        command.args(["--config", &patch]);
    }
    if *core == Core::Iter {
        command.arg("--no-default-features");
    }
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cargo does not start: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let compiler = first_error(&String::from_utf8_lossy(&output.stdout));
    let error = said.lines().find(|line| line.starts_with("error"));
    Err(format!(
        "cargo cannot build {} with the {} rayon-core (it needs a network or a filled registry): {}",
        copy.file_name().unwrap_or_default().display(),
        core.name(),
        compiler
            .as_deref()
            .or(error)
            .unwrap_or("it said nothing")
            .trim()
    ))
}

/// The first error of the compiler among cargo's messages.
fn first_error(messages: &str) -> Option<String> {
    let values = messages.lines().flat_map(serde_json::from_str::<Value>);
    let mut errors = values.filter(|value| value["message"]["level"] == "error");
    let message = errors.next()?["message"]["message"].as_str()?.to_owned();
    Some(message)
}

/// The output of cargo about a build.
#[derive(Debug, Default, PartialEq)]
struct Said {
    programs: BTreeMap<String, PathBuf>,
    /// Manifests of all crates that are called `rayon_core`.
    cores: Vec<PathBuf>,
    core_version: Option<String>,
}

fn read(messages: &str) -> Result<Said, String> {
    let mut said = Said::default();
    for line in messages.lines() {
        let value: Value = serde_json::from_str(line)
            .map_err(|error| format!("cargo said what is no JSON: {error}"))?;
        if value["reason"] != "compiler-artifact" {
            continue;
        }
        let target = &value["target"];
        if let (Some(name), Some(path)) = (target["name"].as_str(), value["executable"].as_str()) {
            said.programs.insert(name.to_owned(), path.into());
        }
        let name = target["name"].as_str().unwrap_or_default();
        if name.replace('-', "_") == "rayon_core" {
            let manifest = value["manifest_path"].as_str().unwrap_or_default();
            said.cores.push(manifest.into());
            let id = value["package_id"].as_str().unwrap_or_default();
            let version = id.rsplit(['@', '#']).next();
            said.core_version = version.map(str::to_owned);
        }
    }
    Ok(said)
}

/// One `rayon-core`, and the right one; or none, as it should be.
fn check(said: &Said, core: &Core) -> Result<(), String> {
    if said.cores.is_empty() && *core == Core::Iter {
        return Ok(());
    }
    let [manifest] = &said.cores[..] else {
        let count = said.cores.len();
        return Err(format!("cargo compiled {count} rayon-core, not one"));
    };
    let folder = manifest.parent().map(fs::canonicalize);
    let folder = folder.and_then(Result::ok).unwrap_or_default();
    let right = match core {
        Core::Stock => !root().is_ok_and(|root| folder.starts_with(root.join(CORE))),
        Core::At(ours) => *ours == folder,
        Core::Iter => false,
    };
    right.then_some(()).ok_or_else(|| {
        let (name, found) = (core.name(), manifest.display());
        format!(
            "the {name} program was linked with {found}: the patch was not used as it should be"
        )
    })
}

/// Copies what differs, and removes what is no longer there. Cargo changes the copy's lock file, so
/// that is copied only when the one of the package is newer.
fn copy_package(from: &Path, to: &Path, core: &Core) -> std::io::Result<()> {
    let mut wanted = Vec::new();
    sources(&from.join("src"), Path::new("src"), &mut wanted)?;
    for path in &wanted {
        let text = fs::read(from.join(path))?;
        write_other(&to.join(path), &text)?;
    }
    let mut there = Vec::new();
    sources(&to.join("src"), Path::new("src"), &mut there)?;
    for path in there.iter().filter(|path| !wanted.contains(path)) {
        fs::remove_file(to.join(path))?;
    }
    let manifest = fs::read_to_string(from.join("Cargo.toml"))?;
    let manifest = match core {
        Core::Stock | Core::At(_) => unpatched(&manifest),
        Core::Iter => renamed(&manifest),
    };
    write_other(&to.join("Cargo.toml"), manifest.as_bytes())?;
    let changed = |path: &Path| path.join("Cargo.lock").metadata()?.modified();
    if let Ok(changed_here) = changed(from)
        && changed(to).map_or(true, |copied| copied < changed_here)
    {
        fs::write(to.join("Cargo.lock"), fs::read(from.join("Cargo.lock"))?)?;
    }
    Ok(())
}

/// A manifest without its patch.
fn unpatched(manifest: &str) -> String {
    let lines = manifest.lines().take_while(|line| line.trim() != PATCH);
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// A manifest with `roving-iter` in the place of `rayon`.
fn renamed(manifest: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../roving-iter");
    // A JSON string is a TOML string.
    let path = Value::from(folder.to_string_lossy()).to_string();
    let lines = unpatched(manifest);
    let lines = lines.lines().map(|line| match line.split_once(" = ") {
        Some(("rayon", _)) => format!("rayon = {{ package = \"roving-iter\", path = {path} }}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// All files below `folder`, named from `short` on.
fn sources(folder: &Path, short: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let short = short.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            sources(&entry.path(), &short, found)?;
        } else {
            found.push(short);
        }
    }
    Ok(())
}

/// Writes where there is something else: what cargo finds unchanged it does not build again.
fn write_other(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of cargo about a build with a `rayon-core` at this place.
    fn messages(core: &str) -> String {
        [
            r#"{"reason":"compiler-artifact","package_id":"registry+x#rayon-core@1.13.0","manifest_path":"CORE","target":{"name":"rayon_core","kind":["lib"]},"executable":null}"#,
            r#"{"reason":"build-script-executed","package_id":"registry+x#rayon-core@1.13.0"}"#,
            r#"{"reason":"compiler-artifact","package_id":"path+file:///b#rayon-bench@0.1.0","manifest_path":"/b/Cargo.toml","target":{"name":"rayon-bench","kind":["bin"]},"executable":"/t/rayon-bench"}"#,
            r#"{"reason":"build-finished","success":true}"#,
        ]
        .join("\n")
        .replace("CORE", core)
    }

    #[test]
    fn programs_and_the_core_are_read_from_cargos_messages() {
        let said = read(&messages("/r/Cargo.toml")).unwrap();
        assert_eq!(said.programs["rayon-bench"], Path::new("/t/rayon-bench"));
        assert_eq!(said.cores, [Path::new("/r/Cargo.toml")]);
        assert_eq!(said.core_version.as_deref(), Some("1.13.0"));
        assert!(read("warning: this is no JSON").is_err());
    }

    #[test]
    fn a_patch_that_was_not_used_is_an_error() {
        // Any folder of ours does for the comparison of paths.
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let ours = Core::in_folder(here).unwrap();
        let at_ours = read(&messages(&here.join("Cargo.toml").display().to_string())).unwrap();
        assert_eq!(check(&at_ours, &ours), Ok(()));
        let elsewhere = read(&messages("/nowhere/rayon-core-1.13.0/Cargo.toml")).unwrap();
        let error = check(&elsewhere, &ours).unwrap_err();
        assert!(
            error.contains("drop-in") && error.contains("/nowhere"),
            "{error}"
        );
        assert_eq!(check(&elsewhere, &Core::Stock), Ok(()));
        let both = read(&messages("/a/Cargo.toml").repeat(2).replace("}{", "}\n{")).unwrap();
        assert!(
            check(&both, &Core::Stock)
                .unwrap_err()
                .contains("2 rayon-core")
        );
        assert!(check(&Said::default(), &ours).is_err());
    }

    #[test]
    fn the_first_error_of_the_compiler_is_found() {
        let said = r#"{"reason":"compiler-message","message":{"level":"warning","message":"unused"}}
{"reason":"compiler-message","message":{"level":"error","message":"cannot find `x`"}}"#;
        assert_eq!(first_error(said).as_deref(), Some("cannot find `x`"));
        assert_eq!(first_error("error: no"), None);
    }

    #[test]
    fn copies_have_no_patch_and_follow_the_package() {
        assert_eq!(unpatched("a\n[patch.crates-io]\nb = 1\n"), "a\n");
        let renamed = renamed("[dependencies]\nrayon = \"1.12\"\nb = \"1\"\n");
        let head = "[dependencies]\nrayon = { package = \"roving-iter\", path = ";
        assert!(renamed.starts_with(head) && renamed.ends_with("\nb = \"1\"\n"));
        let folder = std::env::temp_dir().join(format!("roving-copy-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(from.join("src/bin")).unwrap();
        fs::write(from.join("Cargo.toml"), "[package]\n").unwrap();
        fs::write(from.join("src/main.rs"), "fn main() {}").unwrap();
        fs::write(from.join("src/bin/old.rs"), "fn main() {}").unwrap();
        copy_package(&from, &to, &Core::Stock).unwrap();
        assert!(to.join("src/bin/old.rs").exists());
        fs::remove_file(from.join("src/bin/old.rs")).unwrap();
        copy_package(&from, &to, &Core::Stock).unwrap();
        assert!(to.join("src/main.rs").exists() && !to.join("src/bin/old.rs").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_programs_are_built_like_the_lab() {
        let profile = |manifest: &Path, name: &str| {
            let text = fs::read_to_string(manifest.join("Cargo.toml")).unwrap();
            let head = format!("[profile.{name}]");
            let lines = text.lines().skip_while(|line| *line != head).skip(1);
            let lines = lines.take_while(|line| !line.is_empty());
            // The lab that measures has a profile of its own.
            let own = lines.filter(|line| !line.starts_with("inherits"));
            own.map(str::to_owned).collect::<Vec<_>>()
        };
        let root = root().unwrap();
        let lab = profile(&root, "measure");
        assert!(lab.len() > 1);
        assert_eq!(lab, profile(&root.join(super::super::BENCH), "release"));
    }
}
