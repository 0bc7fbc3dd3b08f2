//! The plan of a network: many names in one string, and which parts belong together.

use std::fmt::{Display, Write};
use std::ops::Range;

use crate::machine::prim::Arc;

/// A list of names. A network may have millions, so a name costs its letters and four bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    text: String,
    ends: Vec<u32>,
}

impl Names {
    /// Adds a name. Beyond 4 GiB of names, further ones are empty.
    pub(crate) fn push(&mut self, prefix: &str, name: impl Display) -> u32 {
        let start = self.text.len();
        let written = write!(self.text, "{prefix}{name}");
        if written.is_err() || u32::try_from(self.text.len()).is_err() {
            self.text.truncate(start);
        }
        self.ends.push(self.text.len() as u32);
        self.ends.len() as u32 - 1
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, index: usize) -> &str {
        let start = match index {
            0 => 0,
            _ => self.ends[index - 1] as usize,
        };
        &self.text[start..self.ends[index] as usize]
    }
}

/// Processes and channels that were added together, and are one thing in pictures and counts.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// How many of its processes share the work; they come first.
    pub(crate) workers: usize,
    pub(crate) processes: Range<usize>,
    /// Those between its own processes.
    pub(crate) channels: Range<usize>,
}

/// The names and the stages of a network, as it was built.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkPlan {
    pub(crate) processes: Arc<Names>,
    pub(crate) channels: Arc<Names>,
    /// In the order of their processes.
    pub(crate) stages: Arc<Vec<Stage>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let mut names = Names::default();
        for (index, name) in ["one", "", "three"].into_iter().enumerate() {
            assert_eq!(names.push("a/", name) as usize, index);
        }
        assert_eq!(names.len(), 3);
        assert_eq!(names.get(0), "a/one");
        assert_eq!(names.get(1), "a/");
        assert_eq!(names.get(2), "a/three");
    }
}
