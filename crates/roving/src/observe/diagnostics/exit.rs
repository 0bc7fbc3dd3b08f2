//! Reports that are due when the program ends: tables and traces of its pools.
//!
//! A pool that is dropped writes its own; pools that live on, as the global one does, are asked
//! when the process exits.

use std::fs::File;
use std::io::{self, Write as _};
use std::mem;
use std::path::Path;
use std::slice;
use std::sync::Arc;

use super::env_vars::wishes;
use super::pools::Pools;
use super::record::Record;
use super::{server, table, trace_file};
use crate::machine::faults::{self, Point};
use crate::machine::os;
use crate::machine::per_process::{PerProcess, PerProcessGuard};
use crate::machine::prim::process_wide;
use crate::observe::trace;
use crate::workers::registry::Registry;
use crate::workers::settings::Debt;

/// The pools that owe something and live, and what those that are gone have left for the program's
/// trace.
#[derive(Default)]
struct Book {
    alive: Pools,
    left: Vec<Record>,
    settles_at_exit: bool,
}

/// Most pools of which a trace is kept after their end.
const LEFT_MAX: usize = 256;

process_wide! {
    static BOOK: PerProcess<Book> = PerProcess::new();
}

fn book() -> PerProcessGuard<'static, Book> {
    BOOK.lock()
}

/// A pool has been made.
pub(crate) fn enter(registry: &Arc<Registry>) {
    let debt = &registry.settings.debt;
    if !debt.is_any() {
        return;
    }
    if debt.has_trace() {
        trace::begin();
    }
    {
        let mut book = book();
        book.alive.enter(registry);
        // What a forked child owes at its exit, it does not pay.
        if !book.settles_at_exit && os::forks() == 0 {
            book.settles_at_exit = os::at_exit(at_exit);
        }
    }
    serve();
}

fn serve() {
    if let Some(path) = &wishes().top {
        server::serve(path);
    }
}

/// Ends what answers for pools, if none lives that owes an answer: before the code is unloaded.
#[inline]
pub(crate) fn rest() {
    if any_lives() {
        return;
    }
    server::stop();
    // One that has come meanwhile has found that it need not see to that.
    if any_lives() {
        serve();
    }
}

#[inline]
fn any_lives() -> bool {
    book().alive.any_lives()
}

/// A pool has ended.
pub(crate) fn settle(registry: &Registry) {
    let debt = &registry.settings.debt;
    if !debt.is_any() {
        return;
    }
    let record = Record::of(registry);
    pay(debt, &record);
    if debt.shared && os::forks() == 0 {
        let mut book = book();
        if book.left.len() < LEFT_MAX {
            book.left.push(record);
        }
    }
}

/// Writes the reports that concern one pool alone.
fn pay(debt: &Debt, record: &Record) {
    if debt.report {
        // Nobody is left to hear that standard error is closed.
        let _ = io::stderr().write_all(table::of(record).as_bytes());
    }
    if let Some(path) = &debt.trace {
        write(path, slice::from_ref(record));
    }
}

/// The pools that live.
pub(super) fn alive() -> Vec<Arc<Registry>> {
    book().alive.all()
}

extern "C" fn at_exit() {
    if os::forks() != 0 {
        // What is owed is the parent's business, and locks may be held by threads that are not
        // here.
        return;
    }
    let book = mem::take(&mut *book());
    let mut records = book.left;
    for registry in book.alive.all() {
        let record = Record::of(&registry);
        pay(&registry.settings.debt, &record);
        if registry.settings.debt.shared {
            records.push(record);
        }
        // Its threads run on; it is not to be dropped here.
        mem::forget(registry);
    }
    if let Some(path) = &wishes().trace {
        write(path, &records);
    }
    // The socket goes with it; where another process answers at that path, there is none of this
    // one.
    server::stop();
}

/// A trace that cannot be written is no reason to fail: the program's own work is done.
fn write(path: &Path, records: &[Record]) {
    if let Err(error) = try_to_write(path, records) {
        let path = path.display();
        os::say(&format!(
            "the trace cannot be written to {path}: {error}; name another file"
        ));
    }
}

fn try_to_write(path: &Path, records: &[Record]) -> io::Result<()> {
    faults::ask(Point::TraceFile)?;
    let mut file = File::create(path)?;
    faults::ask(Point::TraceFile)?;
    trace_file::write(records, &mut |text| file.write_all(text))
}
