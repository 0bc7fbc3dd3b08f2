//! How far the processors of this machine are from each other, by what Linux says of its caches and
//! memory.

use std::fs;
use std::path::Path;

use crate::distances::Distances;

/// Two threads of one core share all caches.
const SAME_CORE: u32 = 1;
/// Two cores with a last-level cache in common.
const SAME_CACHE: u32 = 2;
/// Two cores of one memory node without one.
const SAME_NODE: u32 = 4;

impl Distances {
    /// Reads the distances between the processors that this process may use, in ascending order:
    /// part `i` is at the `i`th, counted round, as workers are in a pool that pins them. Two
    /// threads of a core are at distance 1, cores with a common last-level cache at 2, others of a
    /// memory node at 4, and memory nodes in proportion to the system's own figures. Uniform where
    /// the system has none, and for more than [`PARTS_MAX`](crate::PARTS_MAX) parts.
    ///
    /// ```
    /// let distances = roving_partition::Distances::of_machine(2);
    /// assert_eq!(distances.parts(), 2);
    /// ```
    pub fn of_machine(parts: usize) -> Distances {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let allowed = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let processors = allowed.map(numbers).unwrap_or_default();
        of_processors(Path::new("/sys/devices/system"), &processors, parts)
    }
}

fn of_processors(system: &Path, processors: &[usize], parts: usize) -> Distances {
    if processors.is_empty() {
        return Distances::uniform(parts);
    }
    let about: Vec<ProcessorDescription> = processors
        .iter()
        .map(|&of| ProcessorDescription::read(system, of))
        .collect();
    let at = |part: usize| &about[part % about.len()];
    let distances = Distances::new(parts, |a, b| at(a).distance(at(b)));
    distances.unwrap_or_else(|_| Distances::uniform(parts))
}

/// The system's description of a processor; empty where it gives none.
struct ProcessorDescription {
    processor: usize,
    core: Vec<usize>,
    cache: Vec<usize>,
    node: usize,
    /// To each node, 10 for its own.
    nodes: Vec<usize>,
}

impl ProcessorDescription {
    fn read(system: &Path, processor: usize) -> ProcessorDescription {
        let read = |path: String| fs::read_to_string(system.join(path)).unwrap_or_default();
        let list = |path: String| numbers(&read(path));
        let cpu = format!("cpu/cpu{processor}");
        let caches = (0..8).map(|index| list(format!("{cpu}/cache/index{index}/shared_cpu_list")));
        let node = (0..1024)
            .take_while(|node| system.join(format!("node/node{node}")).exists())
            .find(|node| list(format!("node/node{node}/cpulist")).contains(&processor))
            .unwrap_or(0);
        let distances = read(format!("node/node{node}/distance"));
        ProcessorDescription {
            processor,
            core: list(format!("{cpu}/topology/thread_siblings_list")),
            cache: caches.max_by_key(Vec::len).unwrap_or_default(),
            node,
            nodes: distances
                .split_whitespace()
                .filter_map(|of| of.parse().ok())
                .collect(),
        }
    }

    fn distance(&self, other: &ProcessorDescription) -> u32 {
        if self.node != other.node {
            // A local access is 10 there, and 4 here.
            let told = self
                .nodes
                .get(other.node)
                .copied()
                .unwrap_or(20)
                .clamp(11, 255);
            return told as u32 * SAME_NODE / 10;
        }
        if self.core.contains(&other.processor) || self.processor == other.processor {
            return SAME_CORE;
        }
        match self.cache.contains(&other.processor) {
            true => SAME_CACHE,
            false => SAME_NODE,
        }
    }
}

/// Of a list as Linux writes them: `0-3,8,10-11`. What is no number is left out.
fn numbers(list: &str) -> Vec<usize> {
    let mut numbers = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            numbers.extend(first..=last.min(first.saturating_add(4095)));
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{numbers, of_processors};

    #[test]
    fn lists_are_read_as_linux_writes_them() {
        assert_eq!(numbers("\t0-2,5,7-8\n"), [0, 1, 2, 5, 7, 8]);
        assert_eq!(numbers(""), Vec::<usize>::new());
        assert_eq!(numbers(&format!("{0}-{0}", usize::MAX)), [usize::MAX]);
    }

    /// Two nodes; in each, two pairs of cores with a cache each; two threads a core.
    #[test]
    fn cores_caches_and_nodes_are_told_apart() {
        let name = format!("roving-topology-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        for cpu in 0..16 {
            let (core, cache) = (cpu / 2 * 2, cpu / 4 * 4);
            let write = |path: &str, text: String| {
                let path = root.join(format!("cpu/cpu{cpu}/{path}"));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            };
            write(
                "topology/thread_siblings_list",
                format!("{core}-{}\n", core + 1),
            );
            write(
                "cache/index0/shared_cpu_list",
                format!("{core}-{}\n", core + 1),
            );
            write(
                "cache/index1/shared_cpu_list",
                format!("{cache}-{}\n", cache + 3),
            );
        }
        for node in 0..2 {
            let path = root.join(format!("node/node{node}"));
            fs::create_dir_all(&path).unwrap();
            fs::write(
                path.join("cpulist"),
                format!("{}-{}\n", node * 8, node * 8 + 7),
            )
            .unwrap();
            fs::write(path.join("distance"), ["10 32\n", "32 10\n"][node]).unwrap();
        }
        let all: Vec<usize> = (0..16).collect();
        let distances = of_processors(&root, &all, 16);
        let to = [1, 2, 4, 8].map(|other| distances.between(0, other));
        assert_eq!(to, [1, 2, 4, 12]);
        assert!(of_processors(&root, &[], 4).is_uniform());
        assert!(of_processors(&root, &[0, 1], 2).is_uniform());
        fs::remove_dir_all(&root).unwrap();
    }
}
