//! How many packages a program gets into its lock file when it depends on one of our crates. An
//! optional dependency that is off is not among them; one that only a `cfg` turns on is.

use std::path::Path;

use super::finding::Finding;
use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;

/// The crates that others depend on, and how many packages the lock file has at most: the program,
/// the crate, and what that needs.
const PACKAGES_MAX: [(&str, usize); 8] = [
    ("roving", 2),
    ("roving-c", 3),
    ("roving-omp", 4),
    ("roving-iter", 3),
    ("roving-partition", 2),
    ("roving-flow", 5),
    ("roving-gpu", 16),
    ("roving-dist", 19),
];

pub(crate) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for (name, most) in PACKAGES_MAX {
        let Some(package) = workspace.package(name) else {
            return Err(format!("there is no crate {name}"));
        };
        let lock = lock(workspace, name, &package.dir)?;
        let names = names(&lock);
        found.extend(judge(&package.dir.join("Cargo.toml"), name, most, &names));
    }
    Ok(found)
}

/// The lock file of a program that depends on this crate alone. What is downloaded already is not
/// downloaded again; on a fresh machine this is the first who asks.
fn lock(workspace: &Workspace, name: &str, dir: &Path) -> Result<String> {
    let user = workspace.target.join("lock").join(name);
    let manifest = format!(
        "[workspace]\n[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\n{name} = {{ path = {dir:?} }}\n"
    );
    let put = |file: &str, text: &str| {
        let path = user.join(file);
        let folder = path.parent().unwrap_or(&user);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    put("Cargo.toml", &manifest)?;
    put("src/lib.rs", "")?;
    // With our own lock file beside it cargo chooses the versions that we have downloaded.
    let ours = std::fs::read_to_string(workspace.root.join("Cargo.lock"))
        .map_err(|error| format!("Cargo.lock: {error}"))?;
    put("Cargo.lock", &ours)?;
    let mut command = workspace.cargo(&["metadata", "--format-version", "1"]);
    tool::output(command.current_dir(&user))?;
    std::fs::read_to_string(user.join("Cargo.lock")).map_err(|error| format!("Cargo.lock: {error}"))
}

/// The packages in a lock file.
fn names(lock: &str) -> Vec<&str> {
    let lines = lock.lines().filter_map(|line| line.strip_prefix("name = "));
    lines.map(|name| name.trim_matches('"')).collect()
}

fn judge(manifest: &Path, name: &str, most: usize, names: &[&str]) -> Option<Finding> {
    (names.len() > most || !names.contains(&name)).then(|| {
        let text = format!(
            "a lock file with {name} alone has {} packages, at most {most} are allowed: {}",
            names.len(),
            names.join(" ")
        );
        Finding::new(manifest, 1, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"libc\"\nversion = \"0.2.1\"\n\n\
        [[package]]\nname = \"roving\"\nversion = \"0.1.0\"\ndependencies = [\n \"libc\",\n]\n";

    #[test]
    fn packages_are_counted() {
        let names = names(LOCK);
        assert_eq!(names, ["libc", "roving"]);
        let judge = |name, most| judge(Path::new("Cargo.toml"), name, most, &names);
        assert_eq!(judge("roving", 2), None);
        assert!(judge("roving", 1).unwrap().text.contains("2 packages"));
        assert!(judge("roving-flow", 2).is_some());
    }
}
