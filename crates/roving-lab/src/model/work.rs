//! The simulated work: a workload of the lab with measured costs, or a recorded tree.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use roving_model::{Costs, Fib, Flat, Outcome, Recorded, Runtime};

use super::probes::{one_worker_ns, serial_ns};
use super::uts::{AnyHash, UtsTree};
use crate::io::input::{BadInput, CommandFailure};
use crate::workloads::WorkloadJob;
use crate::workloads::uts::Params;

/// The kind of work.
#[derive(Debug)]
enum WorkKind {
    Uts(Params),
    Fib(u8),
    /// Tasks, and what each does, as in the input.
    Flat(u32, String),
    File(Recorded),
}

/// One work, and what its unit takes.
#[derive(Debug)]
pub(crate) struct ModelWork {
    /// As the user called it.
    pub(crate) name: String,
    shape: WorkKind,
    /// A node, a call or a task, in ns.
    pub(crate) unit_ns: f64,
    /// The time to spawn a flat task, in ns.
    spawn_ns: f64,
}

const ALLOWED: &str = "uts:TREE, fib:N, flat:TASKSxLENGTH, or tree:FILE";

impl ModelWork {
    /// Reads `uts:T3`, `fib:30`, `flat:1e5x10us` or `tree:FILE`. Costs are not measured yet.
    pub(crate) fn parse(text: &str) -> Result<ModelWork, CommandFailure> {
        let bad = || BadInput::new("--work", text, ALLOWED, "take uts:T3");
        let (kind, input) = text.split_once(':').ok_or_else(bad)?;
        let shape = match kind {
            "tree" => WorkKind::File(read(Path::new(input))?),
            "uts" | "fib" | "flat" => {
                shape(&WorkloadJob::parse(kind, Some(input))?, input).ok_or_else(bad)?
            }
            _ => return Err(bad().into()),
        };
        Ok(ModelWork {
            name: text.to_owned(),
            shape,
            unit_ns: 1.0,
            spawn_ns: 0.0,
        })
    }

    /// Takes `unit_ns` for the unit, or measures it by small serial runs.
    pub(crate) fn calibrate(
        &mut self,
        costs: &Costs,
        unit_ns: Option<f64>,
    ) -> Result<(), CommandFailure> {
        let small = match &self.shape {
            // Trees of the same kind, of four million nodes.
            WorkKind::Uts(params) if params.is_geometric() => Some(("uts", "T1".to_owned())),
            WorkKind::Uts(_) => Some(("uts", "T3".to_owned())),
            WorkKind::Fib(_) => Some(("fib", "27".to_owned())),
            WorkKind::Flat(tasks, each) => {
                let empty = one_worker_ns("flat", "20000", 3)? / 20_000.0;
                self.spawn_ns = (empty - costs.join).max(0.0);
                Some(("flat", format!("{}x{each}", (*tasks).min(1000))))
            }
            WorkKind::File(_) => None,
        };
        self.unit_ns = match (unit_ns, small) {
            (Some(unit_ns), _) => unit_ns,
            (None, None) => 1.0,
            (None, Some((workload, input))) => {
                let (ns, items) = serial_ns(workload, &input, 3)?;
                ns / items.max(1) as f64
            }
        };
        Ok(())
    }

    /// Sets the length of a unit of work.
    pub(crate) fn with_unit(&mut self, unit_ns: f64) {
        self.unit_ns = unit_ns;
    }

    /// The name of the unit.
    pub(crate) fn unit(&self) -> &'static str {
        match self.shape {
            WorkKind::Uts(_) => "node",
            WorkKind::Fib(_) => "call",
            WorkKind::Flat(..) => "task",
            WorkKind::File(_) => "recorded ns",
        }
    }

    /// Whether the unit's length is part of the work.
    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self.shape, WorkKind::File(_))
    }

    /// Simulates it.
    pub(crate) fn simulate(
        &self,
        pool: &Runtime,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Outcome, CommandFailure> {
        let outcome = match &self.shape {
            WorkKind::Uts(params) => {
                let tree = UtsTree::new(*params, AnyHash::detect(), self.unit_ns);
                pool.run_with(&tree, progress)
            }
            WorkKind::Fib(n) => {
                let fib = Fib {
                    n: *n,
                    call_ns: self.unit_ns,
                };
                pool.run_with(&fib, progress)
            }
            WorkKind::Flat(tasks, _) => {
                let flat = Flat {
                    tasks: *tasks,
                    task_ns: self.unit_ns,
                    spawn_ns: self.spawn_ns,
                };
                pool.run_with(&flat, progress)
            }
            WorkKind::File(tree) => pool.run_with(tree, progress),
        };
        outcome.map_err(|error| BadInput::line(error.to_string()).into())
    }

    /// Writes a UTS tree as a recorded one.
    pub(crate) fn record(&self, path: &Path) -> Result<(), CommandFailure> {
        let WorkKind::Uts(params) = &self.shape else {
            let allowed = "a UTS tree, as uts:T3";
            let bad = BadInput::new("--work", &self.name, allowed, "leave --record out");
            return Err(bad.into());
        };
        let file = File::create(path).map_err(|error| {
            let allowed = format!("a file that can be written ({error})");
            BadInput::new("--record", path.display(), allowed, "take another place")
        })?;
        let tree = UtsTree::new(*params, AnyHash::detect(), self.unit_ns);
        let written = tree.record(BufWriter::new(file));
        written.map_err(|error| {
            CommandFailure::Run(format!("{} was not written: {error}", path.display()))
        })?;
        Ok(())
    }
}

fn shape(job: &WorkloadJob, input: &str) -> Option<WorkKind> {
    match job {
        WorkloadJob::Uts(uts) if !uts.has_task_per_node() => Some(WorkKind::Uts(uts.params().0)),
        WorkloadJob::Fib(fib) => Some(WorkKind::Fib(fib.number())),
        WorkloadJob::Flat(flat) => {
            let each = input.split_once('x').map_or("0", |(_, each)| each);
            Some(WorkKind::Flat(
                u32::try_from(flat.tasks()).ok()?,
                each.to_owned(),
            ))
        }
        _ => None,
    }
}

fn read(path: &Path) -> Result<Recorded, CommandFailure> {
    let name = path.display();
    let file = File::open(path).map_err(|error| {
        let allowed = format!("a recorded tree that can be read ({error})");
        BadInput::new("--work tree:", &name, allowed, "write one by --record")
    })?;
    let tree = Recorded::read(BufReader::new(file));
    tree.map_err(|error| BadInput::line(format!("{name}: {error}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_are_read_and_simulated() {
        for (text, unit) in [
            ("uts:-t0 -b100 -q0.2 -m4 -r0", "node"),
            ("fib:12", "call"),
            ("flat:300x5us", "task"),
        ] {
            let mut work = ModelWork::parse(text).unwrap();
            work.calibrate(&Costs::default(), Some(40.0)).unwrap();
            assert_eq!((work.unit(), work.unit_ns), (unit, 40.0));
            let outcome = work.simulate(&Runtime::new(3), &mut |_| ()).unwrap();
            assert!(outcome.tasks > 30, "{text}");
        }
        for text in ["uts", "sort:3", "fib:99", "tree:/nowhere/at all", "flat:0"] {
            let error = ModelWork::parse(text).unwrap_err().to_string();
            assert!(!error.contains('\n') && error.contains("want"), "{error}");
        }
    }
}
