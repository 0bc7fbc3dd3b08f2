//! The report about a pool that makes no progress.

use std::backtrace::Backtrace;
use std::slice;
use std::time::Duration;

use super::decimals::Seconds;
use super::system;
use super::text::{self, cut, cut_last, put};
use crate::observe::watch::guard::{Section, open_sections};
use crate::workers::registry::Registry;
use crate::workers::sleep::Parts;
use crate::workers::watched_parks::{self, ParkReason, ParkTable, WatchedThread};

/// Frames of the program that are shown of each wait.
const FRAMES_MAX: usize = 3;

/// The report, if something waits that should not: nothing has moved for that long.
pub(super) fn of(registry: &Registry, watch: &ParkTable, since: Duration) -> Option<String> {
    let (mut busy, mut waiting) = (Vec::new(), 0);
    for (seat, entry) in watch.entries() {
        // Who has nothing to do is no part of it.
        if entry.waits.is_empty() && registry.rests(seat) {
            continue;
        }
        waiting += usize::from(!entry.waits.is_empty());
        busy.push((seat, entry));
    }
    let sections = open_sections();
    let outsiders = holders_outside(&busy, &sections);
    if !is_starved(registry, &busy) && !wants_held(&busy, &sections) && outsiders.is_empty() {
        return None;
    }
    // Last: who has begun to move since then has perhaps just brought the task that waits.
    if busy.iter().any(|(_, entry)| is_running(entry.number)) {
        return None;
    }
    let mut text = format!(
        "roving: pool `{}`: nothing has moved for {} s: of {} workers and the threads in their place {} wait and {} \
         are stuck in tasks\n",
        registry.settings.name,
        Seconds(since, 1),
        registry.workers(),
        waiting,
        busy.len() - waiting,
    );
    for (seat, entry) in &busy {
        thread(&mut text, registry, *seat, entry, &sections);
    }
    outsiders.iter().for_each(|held| outsider(&mut text, held));
    conclusion(&mut text, &busy, &sections, &outsiders);
    Some(text)
}

/// Whether it does something, as far as the system says.
fn is_running(thread: Option<u32>) -> bool {
    thread.and_then(system::is_runnable).unwrap_or(false)
}

/// Whether tasks wait: for a worker, or for each other. Events, and regions that block, may take
/// long.
fn is_starved(registry: &Registry, busy: &[(usize, WatchedThread)]) -> bool {
    let (mut any_waits, mut any_is_stuck) = (false, false);
    for (_, entry) in busy {
        if entry.waits.iter().any(|wait| wait.why == ParkReason::Task) {
            return true;
        }
        any_waits |= !entry.waits.is_empty();
        any_is_stuck |= entry.waits.is_empty();
    }
    let shown = || (0..registry.in_use.count()).any(|seat| registry.seats[seat].stack.public() > 0);
    any_waits && any_is_stuck || !busy.is_empty() && (registry.has_jobs() || shown())
}

/// Whether a thread of the pool wants a lock that one of them holds, perhaps itself.
fn wants_held(busy: &[(usize, WatchedThread)], sections: &[Section]) -> bool {
    let is_here = |section: &Section| entry_of(busy, section).is_some();
    let held = |name| {
        let is_it = |other: &Section| other.is_held && other.name == name && is_here(other);
        sections.iter().any(is_it)
    };
    let mut all = sections.iter();
    all.any(|section| !section.is_held && is_here(section) && held(section.name))
}

/// The sections of threads that are none of the pool's, for whose locks tasks of the pool wait: the
/// thread may wait for such a task. One that runs is about to let go.
fn holders_outside<'s>(
    busy: &[(usize, WatchedThread)],
    sections: &'s [Section],
) -> Vec<&'s Section> {
    let is_stuck = |section: &Section| {
        let entry = entry_of(busy, section);
        !section.is_held && entry.is_some_and(|entry| entry.waits.is_empty())
    };
    let is_wanted = |name| {
        let mut all = sections.iter();
        all.any(|other| other.name == name && is_stuck(other))
    };
    let is_outside = |held: &&Section| held.is_held && entry_of(busy, held).is_none();
    let outside = sections.iter().filter(is_outside);
    outside
        .filter(|held| is_wanted(held.name) && !is_running(held.system_number))
        .collect()
}

/// That of the thread which is in the section, if it is one of the pool's.
fn entry_of<'e>(
    busy: &'e [(usize, WatchedThread)],
    section: &Section,
) -> Option<&'e WatchedThread> {
    let mut entries = busy.iter().map(|(_, entry)| entry);
    entries.find(|entry| entry.thread == section.thread)
}

fn thread(
    text: &mut String,
    registry: &Registry,
    seat: usize,
    entry: &WatchedThread,
    sections: &[Section],
) {
    let name = |seat| text::seat(seat, registry.workers());
    put(text, format_args!("  {}", name(seat)));
    system_thread(text, entry.number);
    if let Some(other) = registry.seats[seat].works_for() {
        put(text, format_args!(", in a task of {}", name(other)));
    }
    match entry.waits.last() {
        None if entry.number.is_none() => {
            text.push_str(", is stuck in a task, or computes: the system does not say\n");
        }
        None => text.push_str(", is stuck: it blocks, but not in `roving::blocking`\n"),
        Some(wait) => {
            let what = match wait.why {
                ParkReason::Task => "waits for tasks that others have",
                ParkReason::Event => "waits for an event or another pool",
                ParkReason::Blocks => "is in a region that blocks",
            };
            let time = Seconds(wait.since.elapsed(), 1);
            put(text, format_args!(", {what}, for {time} s\n"));
            place(text, &wait.stack);
        }
    }
    for section in sections {
        if section.thread == entry.thread {
            lock(text, section);
        }
    }
}

/// As the system sees the thread, if it does.
fn system_thread(text: &mut String, number: Option<u32>) {
    if let Some(number) = number {
        put(
            text,
            format_args!(" (thread {number}, {})", system::state(number)),
        );
    }
}

fn lock(text: &mut String, section: &Section) {
    let word = if section.is_held { "holds" } else { "wants" };
    put(
        text,
        format_args!("    {word} \"{}\", since {}\n", section.name, section.at),
    );
}

/// A thread that is none of the pool's, and holds what a task wants.
fn outsider(text: &mut String, held: &Section) {
    text.push_str("  a thread outside of the pool");
    system_thread(text, held.system_number);
    text.push('\n');
    lock(text, held);
}

/// The program's innermost frames of a stack, and by which call it came to wait.
fn place(text: &mut String, stack: &Backtrace) {
    let stack = stack.to_string();
    let (call, frames) = frames(&stack);
    if let Some(call) = call {
        put(text, format_args!("    in `{call}`, called\n"));
    }
    for (number, frame) in frames.iter().enumerate() {
        if number == FRAMES_MAX {
            break;
        }
        let word = if number == 0 { "at" } else { "from" };
        let (at, comma) = frame.at.map_or(("", ""), |at| (at, ", "));
        put(
            text,
            format_args!("    {word} {at}{comma}{}\n", frame.symbol),
        );
    }
}

/// A frame of a stack.
#[derive(Debug, PartialEq, Eq)]
struct Frame<'t> {
    symbol: &'t str,
    at: Option<&'t str>,
}

/// The function of this crate that the program has called, and the program's own frames, innermost
/// first. Functions that were inlined are named without their crate, so files decide as well.
fn frames(stack: &str) -> (Option<&str>, Vec<Frame<'_>>) {
    let frames = parse(stack);
    // The frame that captured the stack says where this crate's files are.
    let source = frames.iter().find_map(|frame| {
        let (path, _) = cut_last(cut_last(frame.at?, ":")?.0, ":")?;
        path.strip_suffix(watched_parks::FILE)
    });
    let source = source.unwrap_or_default();
    // What stands above the first of our own, if there is one, is how the stack was captured.
    let mut is_below = !frames
        .iter()
        .any(|frame| matches!(whose(frame, source), Whose::Own));
    let (mut call, mut program) = (None, Vec::new());
    for frame in frames {
        match whose(&frame, source) {
            Whose::Own if program.is_empty() => {
                is_below = true;
                call = Some(call_of(frame.symbol));
            }
            Whose::Programs if is_below => program.push(frame),
            _ => {}
        }
    }
    (call.filter(|_| !program.is_empty()), program)
}

/// To whom a frame of a stack belongs.
enum Whose {
    /// This crate.
    Own,
    /// The standard library, or the C library.
    Others,
    Programs,
}

/// The files of this crate lie at `source`, if that is known.
#[inline(never)]
fn whose(frame: &Frame<'_>, source: &str) -> Whose {
    let begins = |with| frame.at.is_some_and(|at| at.starts_with(with));
    if is_of(frame.symbol, &["roving"]) || !source.is_empty() && begins(source) {
        return Whose::Own;
    }
    let is_others = is_of(frame.symbol, &["std", "core", "alloc", "rust"])
        || STRANGERS.contains(&frame.symbol)
        || begins("/rustc/");
    match is_others {
        true => Whose::Others,
        false => Whose::Programs,
    }
}

/// With what the C library begins a thread, or a program; and a frame without a symbol, of which
/// nothing can be said.
const STRANGERS: [&str; 8] = [
    "<unknown>",
    "start_thread",
    "clone",
    "clone3",
    "__clone3",
    "__GI___clone3",
    "_start",
    "main",
];

fn parse(stack: &str) -> Vec<Frame<'_>> {
    let mut frames: Vec<Frame<'_>> = Vec::new();
    let mut rest = stack;
    while !rest.is_empty() {
        let (line, further) = cut(rest, "\n").unwrap_or((rest, ""));
        rest = further;
        let line = line.trim_ascii_start();
        if let Some(at) = line.strip_prefix("at ") {
            if let Some(frame) = frames.last_mut() {
                frame.at = Some(at);
            }
        } else if let Some((number, symbol)) = cut(line, ": ") {
            if number.bytes().all(|byte| byte.is_ascii_digit()) {
                frames.push(Frame { symbol, at: None });
            }
        }
    }
    frames
}

/// The name by which the program has called that function. Where a build keeps no lines nothing is
/// said of what was inlined, and of a join all is but its slow paths.
fn call_of(symbol: &str) -> &str {
    match symbol.strip_prefix("roving::forkjoin::join::") {
        Some(_) => "join",
        None => last_name(symbol),
    }
}

/// The function's own name, without its path and its types.
fn last_name(symbol: &str) -> &str {
    let path = match cut(symbol, "<") {
        None | Some(("", _)) => symbol,
        Some((path, _)) => path.strip_suffix("::").unwrap_or(path),
    };
    cut_last(path, "::").map_or(path, |(_, name)| name)
}

/// Whether the function is one of these crates', or an implementation for a type of theirs.
#[inline(never)]
fn is_of(symbol: &str, crates: &[&str]) -> bool {
    let mut symbol = symbol;
    while let Some(b'<' | b'&' | b'_') = symbol.as_bytes().first() {
        symbol = &symbol[1..];
    }
    let mut crates = crates.iter();
    crates.any(|&name| {
        let rest = symbol.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with("::") || name == "rust" && rest.starts_with('_'))
    })
}

/// Which lock is held across a wait, or by who wants it, and what to do about it.
fn conclusion(
    text: &mut String,
    busy: &[(usize, WatchedThread)],
    sections: &[Section],
    outsiders: &[&Section],
) {
    let is_told = |of: &[Section], name| {
        let is_it =
            |one: &Section| one.is_held && one.name == name && entry_of(busy, one).is_some();
        of.iter().any(is_it)
    };
    for (number, section) in sections.iter().enumerate() {
        let Some(holder) = entry_of(busy, section) else {
            continue;
        };
        if !section.is_held || is_told(&sections[..number], section.name) {
            continue;
        }
        let name = section.name;
        let wants = |other: &&Section| {
            other.name == name && !other.is_held && entry_of(busy, other).is_some()
        };
        let wanted = sections.iter().find(wants);
        let by_itself = wanted.is_some_and(|other| other.thread == section.thread);
        let what = match (by_itself, wanted.is_some(), holder.waits.is_empty()) {
            (true, ..) => "is wanted by the thread that holds it",
            (_, true, false) => "is held across a wait, and a task needs it",
            (_, false, false) => "is held across a wait, and a task may need it",
            (_, _, true) => continue,
        };
        advice(text, name, what);
    }
    for held in outsiders {
        let what = "is held by a thread outside of the pool, and a task needs it";
        advice(text, held.name, what);
    }
    let any_held = !outsiders.is_empty()
        || sections
            .iter()
            .any(|section| is_told(slice::from_ref(section), section.name));
    if !any_held && busy.iter().all(|(_, entry)| entry.waits.is_empty()) {
        text.push_str("  tasks wait while the workers block: block inside of `roving::blocking`\n");
    }
}

fn advice(text: &mut String, name: &str, what: &str) {
    put(
        text,
        format_args!(
            "  \"{name}\" {what}: let go of it before the parallel call, or keep what needs it out of the tasks\n"
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_frames_are_found() {
        let stack = "   0: std::backtrace::Backtrace::create\n   1: roving::workers::watched_parks::ParkTable::begin\n             at /cargo/roving/src/workers/watched_parks/watch.rs:70:20\n   2: <roving::workers::worker::Worker as core::Foo>::bar\n   3: core::ops::function::FnOnce::call_once\n   4: roving::forkjoin::join::join\n             at /cargo/roving/src/forkjoin/join.rs:60:5\n   5: app::transfer\n             at ./src/main.rs:21:9\n   6: app::main::{{closure}}\n   7: std::panicking::try\n   8: __rust_try\n   9: <unknown>\n  10: roving_flow::run\n";
        let (call, frames) = frames(stack);
        assert_eq!(call, Some("join"));
        let symbols: Vec<_> = frames.iter().map(|frame| frame.symbol).collect();
        assert_eq!(
            symbols,
            [
                "app::transfer",
                "app::main::{{closure}}",
                "roving_flow::run"
            ]
        );
        assert_eq!(frames[0].at, Some("./src/main.rs:21:9"));
        let inlined = "   0: begin\n             at ./src/workers/watched_parks/watch.rs:70:20\n   1: blocking_for<(), x>\n             at ./src/workers/wait/wait_loop.rs:254:29\n   2: call_once<x>\n             at /rustc/5980/library/core/src/ops/function.rs:250:5\n   3: join<app::a, app::b>\n             at ./src/forkjoin/join.rs:42:5\n   4: transfer<u8>\n             at ./tests/app.rs:7:9\n";
        let (call, frames) = super::frames(inlined);
        assert_eq!(call, Some("join"));
        assert_eq!(frames.len(), 1);
        assert_eq!(frames[0].at, Some("./tests/app.rs:7:9"));
        let without_lines = "   0: roving::workers::watched_parks::ParkTable::begin\n   1: roving::forkjoin::join::pop_slowly\n   2: roving::forkjoin::join::join_by_registers\n   3: app::transfer\n";
        let (call, frames) = super::frames(without_lines);
        assert_eq!((call, frames.len()), (Some("join"), 1));
        assert_eq!(super::frames("disabled backtrace"), (None, Vec::new()));
    }
}
