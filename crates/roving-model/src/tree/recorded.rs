//! A tree of tasks that was recorded, read from text.

use std::io::{BufRead, Write};

use super::{Step, Then, Tree};
use crate::ModelError;

/// The first line of a recorded tree, and the number of its version.
const HEAD: &str = "roving-tree 1";
/// Most tasks: their places are numbers of 32 bits.
const TASKS_MAX: usize = u32::MAX as usize - 1;

/// One recorded task.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RecordedTask {
    ns: f32,
    after_ns: f32,
    /// The place of its first child; the others follow it, up to that of the next task.
    children: u32,
}

/// A tree of tasks as a program ran them, to be run again on any number of simulated workers.
///
/// The format is text, so that any program can write it. The first line is `roving-tree 1`. Each
/// line after it is one task, in the order in which a serial run begins them: its depth (0 for the
/// root), the nanoseconds that it works before it makes its children, and, if there are any, those
/// that it works after they have ended, between spaces. Empty lines and what follows a `#` are left
/// out. The children of a task are split in halves by joins.
///
/// ```
/// use roving_model::{Recorded, Runtime};
/// let text = "roving-tree 1\n0 100 50 # the root\n1 90000\n1 90000\n2 500\n";
/// let tree = Recorded::read(text.as_bytes())?;
/// assert_eq!((tree.tasks(), tree.work_ns()), (4, 180_650.0));
/// let outcome = Runtime::new(2).run(&tree)?;
/// assert!(outcome.time_ns < 180_650.0);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    nodes: Vec<RecordedTask>,
}

/// The tasks at places `first .. last`, which are siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiblingPlaces {
    first: u32,
    last: u32,
}

impl Recorded {
    /// Reads a tree. What is wrong is named with its line.
    pub fn read(source: impl BufRead) -> Result<Recorded, ModelError> {
        let mut lines = source.lines().enumerate();
        let head = lines.next().and_then(|(_, line)| line.ok());
        if head.as_deref().map(str::trim) != Some(HEAD) {
            let found = head.unwrap_or_default();
            let found: String = found.chars().take(40).collect();
            return Err(ModelError::new(
                "first line of a recorded tree",
                found,
                format!("`{HEAD}`"),
                "write that line",
            ));
        }
        let mut tasks: Vec<(u32, f32, f32)> = Vec::new();
        for (number, line) in lines {
            let place = number + 1;
            let line = line.map_err(|error| {
                ModelError::line(format!(
                    "line {place} of a recorded tree cannot be read: {error}"
                ))
            })?;
            let words = line.split('#').next().unwrap_or("");
            if words.trim().is_empty() {
                continue;
            }
            let deepest = tasks.last().map_or(0, |task| task.0 + 1);
            let task = parse(words, tasks.is_empty(), deepest).map_err(|why| {
                ModelError::line(format!(
                    "line {place} of a recorded tree, `{}`, {why}",
                    words.trim()
                ))
            })?;
            tasks.push(task);
            if tasks.len() > TASKS_MAX {
                return Err(ModelError::line(format!(
                    "a recorded tree holds at most {TASKS_MAX} tasks"
                )));
            }
        }
        if tasks.is_empty() {
            return Err(ModelError::line(
                "a recorded tree has no task: its second line is the root, as `0 100`",
            ));
        }
        Ok(Recorded {
            nodes: by_depth(&tasks),
        })
    }

    /// How many tasks it has.
    pub fn tasks(&self) -> usize {
        self.nodes.len()
    }

    /// All that its tasks do, in ns.
    pub fn work_ns(&self) -> f64 {
        self.nodes
            .iter()
            .map(|node| f64::from(node.ns) + f64::from(node.after_ns))
            .sum()
    }

    fn children(&self, place: u32) -> SiblingPlaces {
        let first = self.nodes[place as usize].children;
        let next = self.nodes.get(place as usize + 1);
        SiblingPlaces {
            first,
            last: next.map_or(self.nodes.len() as u32, |node| node.children),
        }
    }
}

/// One line: depth, ns, ns after.
fn parse(words: &str, is_first: bool, deepest: u32) -> Result<(u32, f32, f32), String> {
    let mut words = words.split_whitespace();
    let depth = words.next().and_then(|word| word.parse::<u32>().ok());
    let mut time = || {
        let word = words.next()?;
        Some(
            word.parse::<f32>()
                .ok()
                .filter(|ns| (0.0..=1e15).contains(ns)),
        )
    };
    let (ns, after_ns) = (time(), time());
    let (Some(depth), Some(Some(ns)), None | Some(Some(_)), None) =
        (depth, ns, after_ns, words.next())
    else {
        return Err(
            "is no task: want a depth and one or two times in ns, as `3 120` or `3 120 15`".into(),
        );
    };
    let allowed = if is_first { 0..=0 } else { 1..=deepest };
    if !allowed.contains(&depth) {
        return Err(format!(
            "has a depth that is not allowed: want {} to {}, below the task before it",
            allowed.start(),
            allowed.end()
        ));
    }
    Ok((depth, ns, after_ns.flatten().unwrap_or(0.0)))
}

/// Sorts by depth, and keeps the order within a depth: then siblings stand together, in the order
/// of their parents.
fn by_depth(tasks: &[(u32, f32, f32)]) -> Vec<RecordedTask> {
    let depths = tasks
        .iter()
        .map(|task| task.0 as usize + 1)
        .max()
        .unwrap_or(0);
    let mut starts = vec![0u32; depths + 1];
    for task in tasks {
        starts[task.0 as usize + 1] += 1;
    }
    for depth in 0..depths {
        starts[depth + 1] += starts[depth];
    }
    // The next free place of each depth. When a task comes, those of its children begin at the next
    // free one below it.
    let mut next = starts;
    let mut nodes = vec![
        RecordedTask {
            ns: 0.0,
            after_ns: 0.0,
            children: 0
        };
        tasks.len()
    ];
    for &(depth, ns, after_ns) in tasks {
        let place = next[depth as usize];
        next[depth as usize] += 1;
        nodes[place as usize] = RecordedTask {
            ns,
            after_ns,
            children: next[depth as usize + 1].min(tasks.len() as u32),
        };
    }
    nodes
}

impl Tree for Recorded {
    type Task = SiblingPlaces;

    fn root(&self) -> SiblingPlaces {
        SiblingPlaces { first: 0, last: 1 }
    }

    fn run(&self, task: SiblingPlaces) -> Step<SiblingPlaces> {
        let SiblingPlaces { first, last } = task;
        if last - first > 1 {
            return halves(first, last, 0.0, 0.0);
        }
        let RecordedTask { ns, after_ns, .. } = self.nodes[first as usize];
        let below = self.children(first);
        match below.last.saturating_sub(below.first) {
            0 => Step {
                ns: f64::from(ns) + f64::from(after_ns),
                then: Then::End,
            },
            1 => {
                // A plain call: nothing to share.
                let next = self.run(below);
                match next.then {
                    Then::Join {
                        first,
                        second,
                        after_ns: further_ns,
                    } => Step {
                        ns: f64::from(ns) + next.ns,
                        then: Then::Join {
                            first,
                            second,
                            after_ns: after_ns + further_ns,
                        },
                    },
                    then => Step {
                        ns: f64::from(ns) + next.ns + f64::from(after_ns),
                        then,
                    },
                }
            }
            _ => halves(below.first, below.last, f64::from(ns), after_ns),
        }
    }
}

fn halves(first: u32, last: u32, ns: f64, after_ns: f32) -> Step<SiblingPlaces> {
    let middle = first + (last - first).div_ceil(2);
    Step {
        ns,
        then: Then::Join {
            first: SiblingPlaces {
                first,
                last: middle,
            },
            second: SiblingPlaces {
                first: middle,
                last,
            },
            after_ns,
        },
    }
}

/// Writes recorded trees: call [`Recorder::task`] for each task in the order in which they begin.
///
/// ```
/// let mut recorder = roving_model::Recorder::new(Vec::new())?;
/// recorder.task(0, 10.0, 0.0)?;
/// recorder.task(1, 5.5, 0.0)?;
/// assert_eq!(recorder.finish()?, b"roving-tree 1\n0 10\n1 5.5\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Recorder<W: Write> {
    to: W,
}

impl<W: Write> Recorder<W> {
    /// Writes the first line.
    pub fn new(mut to: W) -> std::io::Result<Recorder<W>> {
        writeln!(to, "{HEAD}")?;
        Ok(Recorder { to })
    }

    /// Writes one task: its depth, what it does before its children, and after them.
    pub fn task(&mut self, depth: u32, ns: f32, after_ns: f32) -> std::io::Result<()> {
        match after_ns > 0.0 {
            true => writeln!(self.to, "{depth} {ns} {after_ns}"),
            false => writeln!(self.to, "{depth} {ns}"),
        }
    }

    /// Writes all that is left, and gives back what was written to.
    pub fn finish(mut self) -> std::io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Recorded, ModelError> {
        Recorded::read(text.as_bytes())
    }

    /// Depth-first work of a serial run, by the tree's own steps.
    fn serial(tree: &Recorded, task: SiblingPlaces, order: &mut Vec<f64>) {
        let Step { ns, then } = tree.run(task);
        order.push(ns);
        if let Then::Join {
            first,
            second,
            after_ns,
        } = then
        {
            serial(tree, first, order);
            serial(tree, second, order);
            order.push(f64::from(after_ns));
        }
    }

    #[test]
    fn a_tree_is_run_in_the_order_of_its_lines() {
        let text = "roving-tree 1\n0 1\n1 2\n2 3\n2 4\n3 5\n3 6\n2 7 70\n1 8\n2 9\n2 10\n";
        let tree = read(text).unwrap();
        let mut order = Vec::new();
        serial(&tree, tree.root(), &mut order);
        order.retain(|&ns| ns > 0.0);
        assert_eq!(order, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 77.0, 8.0, 9.0, 10.0]);
        assert_eq!(tree.work_ns(), order.iter().sum());
    }

    #[test]
    fn a_chain_is_one_call_after_the_other() {
        let tree = read("roving-tree 1\n\n0 1 2 # a\n1 3 4\n2 5\n3 1\n3 1\n").unwrap();
        let Step { ns, then } = tree.run(tree.root());
        assert_eq!(ns, 9.0);
        assert!(matches!(then, Then::Join { after_ns: 6.0, .. }));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, names) in [
            ("", "roving-tree 1"),
            ("roving-tree 2\n0 1\n", "roving-tree 2"),
            ("roving-tree 1\n", "0 100"),
            ("roving-tree 1\n1 5\n", "line 2"),
            ("roving-tree 1\n0 5\n2 5\n", "1 to 1"),
            ("roving-tree 1\n0 5\n0 5\n", "line 3"),
            ("roving-tree 1\n0 5\n1 x\n", "`1 x`"),
            ("roving-tree 1\n0 5\n1\n", "line 3"),
            ("roving-tree 1\n0 5\n1 1 1 1\n", "line 3"),
            ("roving-tree 1\n0 -5\n", "line 2"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(names) && !error.contains('\n'), "{error}");
        }
    }
}
