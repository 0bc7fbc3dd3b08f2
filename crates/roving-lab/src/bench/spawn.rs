//! The row about spawning very many tasks from one: time and memory of each.

use super::Scale;
use super::probe::{self, Probe};
use super::record::{Bound::AtMost, RowRecord};
use crate::compare::compare;
use crate::compare::field::Field;
use crate::io::figures::counted;
use crate::io::input::CommandFailure;
use crate::rivals::Runtime;
use crate::timing::lanes::find;
use crate::workloads::WorkloadJob;

/// The bounds to reach and to hope for, in ns a task, on 1 and on 2 workers.
const NANOS: [(usize, f64, f64); 2] = [(1, 15.0, 5.0), (2, 40.0, 10.0)];
/// The bounds to reach and to hope for on the memory that waiting tasks hold, in MiB.
const MEBIBYTES: (f64, f64) = (64.0, 1.0);

/// `flat`: a million empty tasks, warm.
pub(super) fn flat(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let field = Field::new(WorkloadJob::parse("flat", Some(scale.flat))?)?;
    // Forte's scope now and then never ends here, which would end the bench.
    let runtimes = [
        Runtime::Roving,
        Runtime::Rayon,
        Runtime::Chili,
        Runtime::Tbb,
        Runtime::OpenMp,
    ];
    record
        .absent
        .push("forte: its scope sometimes never ends with so many tasks".into());
    record
        .absent
        .push("chili has no spawn: what is measured is a tree of joins".into());
    let compared = compare(&field, &runtimes, &[1, 2], scale.rounds(9))?;
    let factor = 1e9 / field.items() as f64;
    let of = format!("flat {}", scale.flat);
    for one in &compared.series {
        record.series(&of, one, "ns/task", factor);
    }
    for (who, why) in &compared.absent {
        record.absent.push(format!("{}: {why}", who.name()));
    }
    for (workers, must, stretch) in NANOS {
        let ours = find(&compared.series, "roving", workers);
        let ours = ours.ok_or_else(|| CommandFailure::Run("roving was not measured".into()))?;
        let what = format!("{of}, {}: time per task", counted(workers, "worker"));
        record.claim(
            what,
            "ns",
            ours.times.median() * factor,
            AtMost(must),
            AtMost(stretch),
        );
    }
    memory(&mut record, scale, &of)?;
    Ok(record)
}

/// The memory over that of the process before it made a pool, each in a process of its own.
fn memory(record: &mut RowRecord, scale: &Scale, of: &str) -> Result<(), CommandFailure> {
    if crate::machine::memory::restart_peak().is_none() {
        record
            .absent
            .push("memory: this system does not say how much is held".into());
        return Ok(());
    }
    for runtime in [Runtime::Roving, Runtime::Rayon] {
        for (workers, ..) in NANOS {
            let probe = Probe::FlatMemory {
                runtime,
                workers,
                tasks: scale.flat.to_owned(),
            };
            let mebibytes = probe::ask(&probe)? / f64::from(1 << 20);
            let (name, on) = (runtime.name(), counted(workers, "worker"));
            let what = format!("{of}, {name}, {on}: peak memory over that before the pool");
            record.single(&what, "MiB", mebibytes);
            if runtime == Runtime::Roving {
                let (must, stretch) = MEBIBYTES;
                let what = format!("{of}, {on}: peak memory over base");
                record.claim(what, "MiB", mebibytes, AtMost(must), AtMost(stretch));
            }
        }
    }
    Ok(())
}
