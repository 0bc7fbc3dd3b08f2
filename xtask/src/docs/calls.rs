//! The commands that pages tell people to type: the `roving` command must know their words.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;
use crate::{Result, reading, suite};

/// How a page calls the lab: this, perhaps a profile and features, then [`WORDS`].
const CALL: &str = "cargo run ";
/// The mark before the words for the lab.
const WORDS: &str = " -- ";
/// Its commands whose next word is a workload.
const WITH_WORKLOAD: [&str; 2] = ["run", "compare"];

/// Asks the lab itself, built without optimisation: each command, flag and workload that a page
/// names must be in its help or its list.
pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let program = suite::binary(workspace, "roving")?;
    let mut lab = Lab {
        list: ask(&program, &["list"])?,
        helps: BTreeMap::new(),
    };
    let mut calls = 0;
    for page in reading::files(&workspace.root, &["md"]) {
        let text = std::fs::read_to_string(&page).map_err(|error| error.to_string())?;
        for (line, words) in calls_in(&text) {
            calls += 1;
            let command = words.first().cloned().unwrap_or_default();
            lab.helps.entry(command).or_insert_with_key(|command| {
                ask(&program, &[command, "--help"]).unwrap_or_default()
            });
            for complaint in lab.judge(&words) {
                step.fail(format!("{}:{line}: {complaint}", workspace.short(&page)));
            }
        }
    }
    println!("{calls} calls of the lab on pages are known to it");
    Ok(())
}

/// The laboratory's own description.
struct Lab {
    list: String,
    helps: BTreeMap<String, String>,
}

impl Lab {
    /// Lists the words of a command that the laboratory does not know.
    fn judge(&self, words: &[String]) -> Vec<String> {
        let Some(command) = words.first() else {
            return Vec::new();
        };
        let help = self
            .helps
            .get(command)
            .map(String::as_str)
            .unwrap_or_default();
        if help.is_empty() {
            return vec![format!("the lab has no command `{command}`")];
        }
        let mut found = Vec::new();
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            let name = flag.split('=').next().unwrap_or(flag);
            if !has_word(help, name) {
                found.push(format!("`{command}` has no `{name}`"));
            }
        }
        let workload = words.get(1).filter(|word| !word.starts_with('-'));
        if let (true, Some(workload)) = (WITH_WORKLOAD.contains(&command.as_str()), workload)
            && !has_word(&self.list, workload)
            && !help.contains(&format!("`{workload}`"))
        {
            found.push(format!("the lab has no workload `{workload}`"));
        }
        found
    }
}

fn ask(program: &Path, words: &[&str]) -> Result<String> {
    let seen = tool::quiet(Command::new(program).args(words))?;
    let asked = words.join(" ");
    if seen.ok {
        Ok(seen.lines.join("\n"))
    } else {
        Err(format!("`roving {asked}` failed"))
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_')
        .any(|one| one == word)
}

/// The line and the words of each call, in code blocks and between backticks.
fn calls_in(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices(CALL) {
            let rest = &line[at + CALL.len()..];
            // A command that the checks run in another one's place stands in a comment of the page.
            let rest = rest.split_once("-->").map_or(rest, |(call, _)| call);
            let rest = rest.split(['`', '#', '|']).next().unwrap_or_default();
            // Other programs are called by their names.
            let Some((build, rest)) = rest.split_once(WORDS) else {
                continue;
            };
            if build.contains("--example") || build.contains("-p ") || build.contains("--bin") {
                continue;
            }
            let words = rest.split_whitespace().map(str::to_owned).collect();
            found.push((index + 1, words));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(call: &str) -> Vec<String> {
        let helps = BTreeMap::from([
            (
                "run".to_owned(),
                "Usage: roving run [--steal <AMOUNT>] [--profile]".to_owned(),
            ),
            ("list".to_owned(), "Usage: roving list".to_owned()),
        ]);
        let lab = Lab {
            list: "uts   trees\nfib   numbers".into(),
            helps,
        };
        let calls = calls_in(&format!("text `cargo run --release -- {call}`, more"));
        lab.judge(&calls[0].1)
    }

    #[test]
    fn known_words_are_clean() {
        for good in ["run uts --steal half", "run fib --profile", "list"] {
            assert!(judge(good).is_empty(), "{good}");
        }
    }

    /// A command names what it takes beside the workloads of the list.
    #[test]
    fn a_word_that_the_help_quotes_is_known() {
        let lab = Lab {
            list: "uts   trees".into(),
            helps: BTreeMap::from([(
                "compare".to_owned(),
                "A workload. Or `sleepers`: programs whose leaves sleep".to_owned(),
            )]),
        };
        let judge = |workload: &str| lab.judge(&["compare".to_owned(), workload.to_owned()]);
        assert!(judge("sleepers").is_empty() && judge("uts").is_empty());
        assert_eq!(judge("programs").len(), 1);
    }

    #[test]
    fn unknown_commands_flags_and_workloads_are_found() {
        for bad in ["walk uts", "run nuts", "run uts --fast", "list --all"] {
            assert_eq!(judge(bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn calls_are_found_with_their_lines() {
        let text = "a\n```sh\ncargo run --release -- list # all\ncargo run --release\n\
            cargo run --profile measure --features rivals -- bench\n\
            cargo run --release --example nqueens -- 14\n```\n\
            <!-- run: cargo run --release --features gpu -- run fib -->\n";
        let words = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let calls = [
            (3, words("list")),
            (5, words("bench")),
            (8, words("run fib")),
        ];
        assert_eq!(calls_in(text), calls);
    }
}
