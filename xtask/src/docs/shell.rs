//! The shell commands of pages are run: each must end with status 0, and where a page shows output
//! below its command, what it shows must come out, figures aside.
//!
//! A command that takes long, or needs what is not here, is marked in a comment right above its
//! block:
//!
//! ```text
//! <!-- run: cargo run --release -- repro wool-ladder -->   small inputs instead
//! <!-- not run: it installs a compiler -->                 nothing, and why
//! <!-- run:                                                line by line
//! cargo run --release -- list
//! not run: hours
//! -->
//! ```
//!
//! A substitution has as many lines as its block has commands, and each calls the same program. The
//! commands run in a folder of their own, beside links to what the repository holds; `cargo run`
//! there means the program as this check has built it, without optimisation, and so does `cargo
//! xtask install` the library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::c;
use crate::cargo::watchdog::{self, Limits, ProgramEnd};
use crate::cargo::workspace::Workspace;
use crate::cargo::{lint, tool};
use crate::report::CheckStep;
use crate::{Result, reading, suite};

/// The beginning of a comment that names commands to run instead.
const RUN: &str = "run:";
/// The beginning of a comment, or of a line of it, that says why a command is not run.
const NOT_RUN: &str = "not run:";
/// No command of a page takes so long here, on a busy machine too: one that does hangs.
const LONGEST: Duration = Duration::from_secs(900);
/// How many lines below a block the output may stand that it shows.
const NEAR: usize = 3;
/// The parts of the repository that commands may name.
const LINKED: [&str; 5] = ["README.md", "docs", "crates", "examples", "Cargo.toml"];

/// One command of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PageCommand {
    line: usize,
    /// As the page has it.
    command: String,
    /// The command that is run for it, or why none is.
    deed: std::result::Result<String, String>,
    /// The lines of output that the page shows below its block.
    shown: Vec<String>,
}

/// Runs what all pages tell their readers to type.
pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    if !cfg!(unix) {
        step.skip("shell commands of pages are run where there is a shell");
        return Ok(());
    }
    let mut all = Vec::new();
    for page in reading::files(&workspace.root, &["md"]) {
        let text = std::fs::read_to_string(&page).map_err(|error| error.to_string())?;
        let short = workspace.short(&page);
        match told(&text) {
            Ok(found) => all.extend(found.into_iter().map(|one| (short.clone(), one))),
            Err(fault) => step.fail(format!("{short}:{fault}")),
        }
    }
    let (mut ran, mut left) = (0u64, 0u64);
    let folder = scratch(workspace)?;
    let mut built = None;
    for (page, told) in &all {
        let from = std::time::Instant::now();
        match &told.deed {
            Err(_) => left += 1,
            Ok(command) if c::lacks(command).is_some() => {
                let what = c::lacks(command).unwrap_or_default();
                step.skip(format!("{page}: `{command}` needs {what}"));
            }
            Ok(command) if !command.contains("cargo run") && !c::is_known(command) => {
                // A page must not be able to make this check install something.
                let line = told.line;
                step.fail(format!(
                    "{page}:{line}: `{command}` is no `cargo run`, and none of C: mark it"
                ));
            }
            Ok(command) => {
                let failed = run(workspace, &folder, &mut built, command, &told.shown)?;
                ran += u64::from(failed.is_none());
                println!("{:5.1} s  {page}: {command}", from.elapsed().as_secs_f64());
                if let Some(why) = failed {
                    let line = told.line;
                    step.counts.failed += 1;
                    step.fail(format!("{page}:{line}: `{command}` {why}"));
                }
            }
        }
    }
    step.counts.passed += ran;
    println!("{ran} shell commands of pages ran; {left} are marked as not run, with the reason");
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    if all.is_empty() {
        step.fail("no page with a shell command was found");
    }
    Ok(())
}

/// An empty folder, but for links to what commands may name.
fn scratch(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("docs-shell");
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(told)?;
    }
    std::fs::create_dir_all(&folder).map_err(told)?;
    for name in LINKED {
        link(&workspace.root.join(name), &folder.join(name)).map_err(told)?;
    }
    Ok(folder)
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Runs one command; what is wrong, if something is.
fn run(
    workspace: &Workspace,
    folder: &Path,
    built: &mut Option<ProgramBuild>,
    command: &str,
    shown: &[String],
) -> Result<Option<String>> {
    if c::install(workspace, folder, command)? {
        return Ok(None);
    }
    let line = match CargoRun::in_command(command) {
        None => command.to_owned(),
        Some(Err(why)) => return Ok(Some(why)),
        Some(Ok(call)) => {
            let build = call.build();
            // Two builds of one program with other features take each other's place.
            if built.as_ref() != Some(&build) {
                build.run(workspace)?;
                *built = Some(build);
            }
            call.line(&workspace.target)
        }
    };
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(&line).current_dir(folder);
    for name in [
        "ROVING_PROFILE",
        "ROVING_TRACE",
        "ROVING_TOP",
        "ROVING_SEED",
    ] {
        shell.env_remove(name);
    }
    let limits = Limits {
        silent: LONGEST,
        whole: LONGEST,
        group: true,
    };
    let seen = watchdog::run(&mut shell, limits, false)?;
    if seen.end != ProgramEnd::Success {
        let said: Vec<&String> = seen.lines().collect();
        let last = said.iter().rev().find(|line| !line.trim().is_empty());
        let last = last.map_or("nothing", |line| line.as_str());
        return Ok(Some(format!(
            "ended with {:?}; it said last: {last}",
            seen.end
        )));
    }
    let said: Vec<&str> = seen.lines().map(String::as_str).collect();
    Ok(missing(&said, shown).map(|line| format!("does not say `{line}`")))
}

/// The first line that is shown and was not said, figures aside.
fn missing<'a>(said: &[&str], shown: &'a [String]) -> Option<&'a str> {
    let said: Vec<String> = said.iter().map(|line| without_figures(line)).collect();
    let words = |line: &&String| line.chars().any(char::is_alphabetic) && line.trim() != "…";
    let mut asked = shown.iter().filter(words);
    asked
        .find(|line| !said.contains(&without_figures(line)))
        .map(String::as_str)
}

/// A line with each number as `#` and each run of spaces as one. A percent sign or unit stays.
fn without_figures(line: &str) -> String {
    let mut text = String::new();
    let mut number = false;
    for c in line.trim().chars() {
        let part = c.is_ascii_digit() || (number && matches!(c, '.' | ','));
        let space = c.is_whitespace();
        match (part, space) {
            (true, _) if !number => text.push('#'),
            (false, true) if !text.ends_with(' ') => text.push(' '),
            (false, false) => text.push(c),
            _ => {}
        }
        number = part;
    }
    text
}

/// How the program of a call is built.
#[derive(Debug, PartialEq, Eq)]
enum ProgramBuild {
    /// By cargo, with these words: as the page has it, but for optimisation.
    Words(&'static [&'static str]),
    /// As the tests have built it, with all features, which costs no build. So it is not seen that
    /// a page names the wrong feature, but it is that a page names none.
    AsTested(String),
}

impl ProgramBuild {
    fn run(&self, workspace: &Workspace) -> Result<()> {
        match self {
            ProgramBuild::AsTested(name) => suite::binary(workspace, name).map(drop),
            ProgramBuild::Words(words) => {
                let mut command = workspace.cargo(&["build", "-q"]);
                let status = lint::linted(command.args(*words)).status();
                match status.is_ok_and(|status| status.success()) {
                    true => Ok(()),
                    false => Err(format!("`{}` failed", tool::shown(&command))),
                }
            }
        }
    }
}

/// A call of `cargo run`, and what stands before and behind it.
#[derive(Debug, PartialEq, Eq)]
struct CargoRun {
    before: String,
    package: String,
    example: Option<String>,
    features: Option<String>,
    behind: String,
}

/// Features that every machine can build.
const FEATURES: [&str; 5] = ["full", "rivals", "top", "gpu", "dist"];

/// Flags of `cargo run` that change how fast a program is, and not what it does.
const HOW_FAST: [&str; 2] = ["--release", "--quiet"];

impl CargoRun {
    /// The call in a command, if it has one; or why it cannot be run as it is.
    fn in_command(command: &str) -> Option<std::result::Result<CargoRun, String>> {
        let (before, rest) = command.split_once("cargo run")?;
        // A comment of the shell is none of cargo's words.
        let rest = rest.split(" #").next().unwrap_or_default();
        let mut words = rest.split_whitespace().peekable();
        let (mut package, mut example, mut features) = (None, None, None);
        while let Some(word) = words.peek().copied() {
            let mut value = || {
                words.next();
                words.next().unwrap_or_default().to_owned()
            };
            match word {
                "--" => {
                    words.next();
                    break;
                }
                "-p" => package = Some(value()),
                "--example" => example = Some(value()),
                "--profile" => drop(value()),
                "--features" => {
                    let wanted = value();
                    if !wanted.split(',').all(|one| FEATURES.contains(&one)) {
                        let why = format!("needs `--features {wanted}`: mark it");
                        return Some(Err(why));
                    }
                    features = Some(wanted);
                }
                flag if HOW_FAST.contains(&flag) => drop(words.next()),
                flag if flag.starts_with('-') => {
                    return Some(Err(format!(
                        "has `{flag}`: it builds another program, mark it"
                    )));
                }
                _ => break,
            }
        }
        let lab = match example {
            Some(_) => "roving-examples",
            None => "roving-lab",
        };
        Some(Ok(CargoRun {
            before: before.to_owned(),
            package: package.unwrap_or_else(|| lab.to_owned()),
            example,
            features,
            behind: words.collect::<Vec<_>>().join(" "),
        }))
    }

    /// The build that makes it.
    fn build(&self) -> ProgramBuild {
        match (&self.example, &self.features, self.package.as_str()) {
            (Some(_), ..) => ProgramBuild::Words(&["-p", "roving-examples", "--examples"]),
            (None, None, "roving-lab") => ProgramBuild::Words(&["-p", "roving-lab"]),
            _ => ProgramBuild::AsTested(self.name().to_owned()),
        }
    }

    /// The program, below the folder of build output.
    fn program(&self) -> String {
        match &self.example {
            Some(example) => format!("debug/examples/{example}"),
            None => format!("debug/{}", self.name()),
        }
    }

    /// The name of the package's program.
    fn name(&self) -> &str {
        match self.package.as_str() {
            "roving-lab" => "roving",
            "roving-torture" => "torture",
            other => other,
        }
    }

    /// The line for the shell.
    fn line(&self, target: &Path) -> String {
        let program = target.join(self.program());
        format!("{}'{}' {}", self.before, program.display(), self.behind)
    }

    /// Whether a substitution keeps the program, and of the lab the command.
    fn same_as(&self, other: &CargoRun) -> bool {
        let command = |call: &CargoRun| {
            // Without a command the lab searches a tree, as `run uts` does.
            let mut words = call.behind.split_whitespace();
            let first = words.next().unwrap_or("run");
            (call.package == "roving-lab").then(|| first.to_owned())
        };
        self.program() == other.program() && command(self) == command(other)
    }
}

/// The commands of a page; or the line and the fault of a mark.
fn told(text: &str) -> std::result::Result<Vec<PageCommand>, String> {
    let lines: Vec<&str> = text.lines().collect();
    let numbered = || lines.iter().enumerate().map(|(at, line)| (at + 1, *line));
    let fences = reading::fences(numbered());
    let mut found = Vec::new();
    for (place, fence) in fences.iter().enumerate() {
        if !["sh", "bash", "console", "shell"].contains(&fence.info.as_str()) {
            if let Some(hidden) = hidden(fence) {
                return Err(format!(
                    "{}: `{hidden}` stands in a block of {}: it is not run unless that says sh",
                    fence.line, fence.info
                ));
            }
            continue;
        }
        let end = fence.line + fence.body.len() + 1;
        let near = fences.get(place + 1).filter(|next| {
            let between = lines.get(end..next.line - 1).unwrap_or_default();
            let heading = between.iter().any(|line| line.starts_with('#'));
            next.info == "text" && between.len() <= NEAR && !heading
        });
        let shown = near.map(|next| next.body.clone()).unwrap_or_default();
        let commands = commands(fence);
        let marks = mark(&lines, fence.line - 1);
        let fault = |why: &str| Err(format!("{}: {why}", fence.line));
        let deeds = match marks {
            None => commands.iter().map(|one| Ok(one.1.clone())).collect(),
            Some(Err(reason)) if reason.is_empty() => return fault("`not run` without a reason"),
            Some(Err(reason)) => vec![Err(reason); commands.len()],
            Some(Ok(deeds)) if deeds.len() != commands.len() => {
                return fault("a substitution needs a line for each command of its block");
            }
            Some(Ok(deeds)) => deeds,
        };
        let last = commands.len().saturating_sub(1);
        for (at, ((line, command), deed)) in commands.into_iter().zip(deeds).enumerate() {
            if let Ok(instead) = &deed
                && is_another(&command, instead)
            {
                return Err(format!(
                    "{line}: `{instead}` calls another program than the page"
                ));
            }
            found.push(PageCommand {
                line,
                command,
                deed,
                shown: if at == last {
                    shown.clone()
                } else {
                    Vec::new()
                },
            });
        }
    }
    Ok(found)
}

/// A command in a block that is not run.
fn hidden(fence: &reading::Fence) -> Option<&str> {
    let is_text = fence.info == "text";
    let mut lines = fence.body.iter().map(String::as_str).filter(|_| is_text);
    lines.find(|line| {
        let mut commands = ["cargo run", "cargo xtask", "roving ", "mpirun "].iter();
        commands.any(|command| line.trim_start_matches("$ ").starts_with(command))
    })
}

/// Whether a substitution calls another program, where both call one of ours.
fn is_another(command: &str, instead: &str) -> bool {
    let calls = CargoRun::in_command(command).zip(CargoRun::in_command(instead));
    matches!(calls, Some((Ok(one), Ok(other))) if !one.same_as(&other))
}

/// The commands of a block, with their lines; one that goes on after `\` is one.
fn commands(fence: &reading::Fence) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (at, line) in fence.body.iter().enumerate() {
        let text = line.trim().trim_start_matches("$ ");
        let more = text.strip_suffix('\\');
        let part = more.unwrap_or(text).trim();
        if open && let Some(last) = found.last_mut() {
            last.1.push(' ');
            last.1.push_str(part);
        } else if !part.is_empty() && !part.starts_with('#') {
            found.push((fence.line + at + 1, part.to_owned()));
        }
        open = more.is_some();
    }
    found
}

/// The commands that are run instead, line by line, or why one is not.
type Deeds = Vec<std::result::Result<String, String>>;

/// The mark in the comment that ends above a line, if there is one: what is run instead, or why
/// nothing is.
fn mark(lines: &[&str], below: usize) -> Option<std::result::Result<Deeds, String>> {
    let above = lines.get(..below)?;
    let end = above.iter().rposition(|line| !line.trim().is_empty())?;
    let start = above[..=end]
        .iter()
        .rposition(|line| line.contains("<!--"))?;
    let text = above[start..=end].join("\n");
    let inside = text.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    let inside = inside.trim();
    if let Some(reason) = inside.strip_prefix(NOT_RUN) {
        return Some(Err(reason.trim().to_owned()));
    }
    let deeds = inside.strip_prefix(RUN)?.trim().lines().map(|line| {
        let line = line.trim();
        match line.strip_prefix(NOT_RUN) {
            Some(reason) => Err(reason.trim().to_owned()),
            None => Ok(line.to_owned()),
        }
    });
    Some(Ok(deeds.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_marks_and_shown_output_are_read() {
        let page = "a\n```sh\ncargo run --release -- list # all\n```\nIt says:\n```text\nfib  12\n```\n\
            <!-- not run: it installs -->\n\n```sh\ncargo add x\nls \\\n  -l\n```\n\
            <!-- run:\ncargo run -- repro wool\nnot run: hours\n-->\n```bash\ncargo run --release -- repro\n\
            cargo run --release -- repro --full\n```\n## b\n```text\nno output of it\n```\n";
        let found = told(page).unwrap();
        let deeds: Vec<_> = found
            .iter()
            .map(|one| (one.line, one.deed.clone()))
            .collect();
        let said = |text: &str| Err(text.to_owned());
        assert_eq!(
            deeds,
            [
                (3, Ok("cargo run --release -- list # all".to_owned())),
                (12, said("it installs")),
                (13, said("it installs")),
                (21, Ok("cargo run -- repro wool".to_owned())),
                (22, said("hours")),
            ]
        );
        assert_eq!(found[2].command, "ls -l");
        assert_eq!(found[0].shown, ["fib  12"]);
        assert!(found[1..].iter().all(|one| one.shown.is_empty()));
    }

    #[test]
    fn a_command_in_a_block_of_text_is_a_fault() {
        for command in [
            "cargo run --release -- list",
            "$ roving list",
            "mpirun -n 2 a",
        ] {
            let fault = told(&format!("a\n```text\nb\n{command}\n```\n")).unwrap_err();
            assert!(
                fault.starts_with("2: ") && fault.contains(command),
                "{fault}"
            );
        }
        assert!(
            told("```text\nroving: a report\n// cargo run\n```\n")
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn marks_that_hide_something_are_faults() {
        let with = |mark: &str| told(&format!("{mark}\n```sh\ncargo run -- repro\n```\n"));
        assert!(with("<!-- run: cargo run -- repro wool -->").is_ok());
        for (bad, why) in [
            ("<!-- not run: -->", "without a reason"),
            (
                "<!-- run:\ncargo run -- repro\ncargo run -- list\n-->",
                "a line for each",
            ),
            ("<!-- run: cargo run -- list -->", "another program"),
            ("<!-- run: cargo run --example a -->", "another program"),
        ] {
            let fault = with(bad).unwrap_err();
            assert!(fault.contains(why), "{fault}");
        }
        // Any other comment is none of ours.
        assert!(with("<!-- text -->").unwrap()[0].deed.is_ok());
    }

    #[test]
    fn a_call_of_cargo_becomes_a_call_of_the_program() {
        let line = |command: &str| {
            let call = CargoRun::in_command(command).unwrap()?;
            Ok::<_, String>((call.build(), call.line(Path::new("/t"))))
        };
        let tested = |name: &str| ProgramBuild::AsTested(name.to_owned());
        let words = ProgramBuild::Words;
        let lab = || words(&["-p", "roving-lab"]);
        let examples = || words(&["-p", "roving-examples", "--examples"]);
        for (command, build, want) in [
            ("cargo run --release", lab(), "'/t/debug/roving' "),
            (
                "A=1 cargo run -- list -x  # all",
                lab(),
                "A=1 '/t/debug/roving' list -x",
            ),
            (
                "cargo run --release --example nqueens -- 14",
                examples(),
                "'/t/debug/examples/nqueens' 14",
            ),
            (
                "cargo run --profile torture -p roving-torture -- all",
                tested("torture"),
                "'/t/debug/torture' all",
            ),
        ] {
            assert_eq!(line(command), Ok((build, want.to_owned())));
        }
        assert!(
            line("cargo run --features wgpu -- run")
                .unwrap_err()
                .contains("wgpu")
        );
        let (build, _) = line("cargo run --features gpu -- run").unwrap();
        assert_eq!(build, tested("roving"));
        assert!(CargoRun::in_command("ls").is_none());
    }

    #[test]
    fn what_is_shown_must_be_said_figures_aside() {
        let shown = ["fib(40)   0.31 s on 8 workers", "", "…"].map(str::to_owned);
        assert_eq!(
            missing(&["x", "fib(25) 1,200.5 s on 2 workers"], &shown),
            None
        );
        assert_eq!(
            missing(&["fib(25) took 1 s"], &shown),
            Some(shown[0].as_str())
        );
        assert_eq!(missing(&[], &[]), None);
    }
}
