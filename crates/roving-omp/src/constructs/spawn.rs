//! The way of a task from the call that makes it to where it runs.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::{ptr, slice};

use roving::raw::hosted;

use crate::task::body::{Block, Code, Copy, TaskBody};
use crate::task::depend::{self, Children};
use crate::task::events;
use crate::task::node::{Awaited, LinkedTask};
use crate::task::{Heritage, RunningTask};
use crate::team::tasks::{self, is_cancelled, run};
use crate::team::thread::Thread;

/// The flags of a task, as a compiler passes them.
pub(crate) mod flag {
    pub(crate) const FINAL: u32 = 1 << 1;
    pub(crate) const DEPEND: u32 = 1 << 3;
    pub(crate) const UP: u32 = 1 << 8;
    pub(crate) const GRAINSIZE: u32 = 1 << 9;
    pub(crate) const IF: u32 = 1 << 10;
    pub(crate) const NOGROUP: u32 = 1 << 11;
    pub(crate) const REDUCTION: u32 = 1 << 12;
    pub(crate) const DETACH: u32 = 1 << 13;
    pub(crate) const STRICT: u32 = 1 << 14;
}

/// A task that is asked for.
pub(crate) struct TaskRequest {
    pub(crate) code: Code,
    pub(crate) data: *mut (),
    pub(crate) copy: Option<Copy>,
    pub(crate) size: usize,
    pub(crate) align: usize,
    /// Its `if` clause.
    pub(crate) may_wait: bool,
    pub(crate) flags: u32,
    pub(crate) depend: *const *const usize,
    pub(crate) event: *mut *const LinkedTask,
}

impl TaskRequest {
    /// A task of data with this size and alignment that depends on nothing.
    pub(crate) fn plain(
        code: Code,
        data: *mut (),
        copy: Option<Copy>,
        (size, align): (usize, usize),
    ) -> TaskRequest {
        TaskRequest {
            code,
            data,
            copy,
            size,
            align,
            may_wait: true,
            flags: 0,
            depend: ptr::null(),
            event: ptr::null_mut(),
        }
    }

    /// A copy of the data.
    pub(crate) fn copied(&self) -> Block {
        Block::copied(self.data, (self.size, self.align), self.copy)
    }
}

/// Words that a task can have in its slot.
const WORDS: usize = 3;
const WORD: usize = size_of::<usize>();
/// The data of a task of C. Bytes between its parts need not be set.
type Words = [MaybeUninit<usize>; WORDS];

/// A plain task whose data is small.
struct Small {
    code: Code,
    heritage: *const Heritage,
    words: Words,
}

// SAFETY: code, data and heritage are there for whichever thread runs it.
unsafe impl Send for Small {}

impl Small {
    #[inline]
    fn run(self) {
        let mut words = self.words;
        let data = (&raw mut words).cast();
        // SAFETY: code and data go together, and the heritage stays until the region ends.
        unsafe { run(Thread::current(), self.code, self.heritage, data) };
    }
}

/// A plain task with more data.
struct Large {
    code: Code,
    heritage: *const Heritage,
    data: Block,
}

// SAFETY: as for `Small`.
unsafe impl Send for Large {}

impl Large {
    fn run(self) {
        // SAFETY: as for `Small`.
        unsafe { run(Thread::current(), self.code, self.heritage, self.data.at()) };
    }
}

/// Makes a task of plain code and small data, if it is one that is pushed and nothing more. The
/// parameters come one by one: what stands in memory is written in parts, and to read it whole at
/// once takes longer than the rest. Compilers leave it outside of its two callers, unless they are
/// told: that is an eighth of the instructions of a task.
#[inline(always)]
pub(crate) fn small(code: Code, data: *const (), size: usize) -> bool {
    let thread = Thread::current();
    let task = thread.task();
    if task.heritage().is_final {
        return false;
    }
    if thread.team().threads() == 1 {
        let own = RunningTask::explicit(task.frame(), task.heritage_at());
        if !is_cancelled(thread, task.heritage()) {
            // SAFETY: code and data go together. What it spawns runs at once, too, or stands where
            // its parent's children do.
            thread.within(&own, || unsafe { code(data.cast_mut()) });
        }
        return true;
    }
    thread.team().meeting.begin_tasks();
    let mut words = [MaybeUninit::uninit(); WORDS];
    // SAFETY: the data is of that size, and fits.
    unsafe { copy_words(data, &mut words, size) };
    let small = Small {
        code,
        heritage: task.heritage_at(),
        words,
    };
    // SAFETY: what it uses stays until the region ends, and that of the program's until its task
    // waits for it.
    let pushed = unsafe { hosted::add(move || small.run()) };
    pushed.unwrap_or_else(|run| run());
    true
}

/// Whether data is small enough for [`small`].
#[inline]
pub(crate) fn is_small(size: usize, align: usize) -> bool {
    size <= WORDS * WORD && align <= WORD
}

/// Makes a task.
#[inline(never)]
pub(crate) fn task(asked: &TaskRequest) {
    let thread = Thread::current();
    let task = thread.task();
    let is_plain = asked.flags & (flag::DEPEND | flag::DETACH | flag::FINAL) == 0;
    let waits = asked.may_wait && thread.team().threads() > 1;
    if !(is_plain && waits) || task.heritage().is_final {
        return other(thread, asked);
    }
    if is_small(asked.size, asked.align) && asked.copy.is_none() {
        small(asked.code, asked.data, asked.size);
        return;
    }
    // Nothing ends what the compiler's code has copied for a task that does not run.
    if !is_cancelled(thread, task.heritage()) {
        push_large(thread, asked.code, asked.copied());
    }
}

/// Makes a plain task of the data in that block, which the compiler's code has copied there. It may
/// point into itself, as a string of C++ does: it stays where it is.
pub(crate) fn task_with(asked: &TaskRequest, data: Block) {
    let thread = Thread::current();
    let waits = asked.may_wait && thread.team().threads() > 1;
    if !waits || asked.flags & flag::FINAL != 0 || thread.task().heritage().is_final {
        // It runs here, before the block goes.
        at_once(thread, asked);
        return;
    }
    push_large(thread, asked.code, data);
}

fn push_large(thread: &Thread, code: Code, data: Block) {
    thread.team().meeting.begin_tasks();
    let large = Large {
        code,
        heritage: thread.task().heritage_at(),
        data,
    };
    // SAFETY: what it uses stays until it is waited for, as that of a small one.
    let pushed = unsafe { hosted::add(move || large.run()) };
    pushed.unwrap_or_else(|run| run());
}

/// # Safety
/// `from` has `size` bytes, at most as many as there are words for.
#[inline]
unsafe fn copy_words(from: *const (), to: &mut Words, size: usize) {
    let from = from.cast::<MaybeUninit<usize>>();
    // SAFETY: by the size.
    unsafe {
        match size {
            8 => to[0] = from.read_unaligned(),
            16 => {
                to[0] = from.read_unaligned();
                to[1] = from.add(1).read_unaligned();
            }
            24 => *to = from.cast::<Words>().read_unaligned(),
            _ => ptr::copy_nonoverlapping(from.cast::<u8>(), to.as_mut_ptr().cast(), size),
        }
    }
}

/// A task that runs at once, or has a node.
#[inline(never)]
fn other(thread: &Thread, asked: &TaskRequest) {
    let needs_node = asked.flags & (flag::DEPEND | flag::DETACH) != 0;
    match needs_node {
        false => _ = at_once(thread, asked),
        true => with_node(thread, asked),
    }
}

/// Runs the task in the place of the call, unless it is left out. Returns whether it has run.
fn at_once(thread: &Thread, asked: &TaskRequest) -> bool {
    let own;
    let mut heritage = thread.task().heritage_at();
    if asked.flags & flag::FINAL != 0 {
        own = Heritage {
            is_final: true,
            ..*thread.task().heritage()
        };
        heritage = &own;
    }
    let block = asked.copy.is_some().then(|| asked.copied());
    let data = block.as_ref().map_or(asked.data, Block::at);
    // SAFETY: code and data go together. A final task's own heritage stays: what it spawns runs at
    // once, too, and is waited for where it has an event.
    unsafe { run(thread, asked.code, heritage, data) }
}

/// A node for a child of the calling task.
fn node_of(thread: &Thread, detaches: bool) -> Arc<LinkedTask> {
    let (task, team) = (thread.task(), thread.team());
    let meets = (&team.loose.mail, &team.meeting);
    // SAFETY: those of the calling task and of its team. A final task waits until each of its
    // children is over; its group and its region wait until the node has left the counts.
    unsafe { LinkedTask::new(task.heritage_at(), &task.family(), meets, detaches) }
}

fn with_node(thread: &Thread, asked: &TaskRequest) {
    let task = thread.task();
    let detaches = asked.flags & flag::DETACH != 0;
    let runs_here = !asked.may_wait || task.heritage().is_final || asked.flags & flag::FINAL != 0;
    let node = node_of(thread, detaches);
    if runs_here {
        node.count();
    }
    if detaches {
        events::expect(&node, asked.code);
    }
    if detaches && !asked.event.is_null() {
        let event = Arc::into_raw(Arc::clone(&node));
        // SAFETY: there the compiler wants the event's name, which the task's data begins with.
        unsafe {
            *asked.event = event;
            if !asked.data.is_null() {
                *asked.data.cast() = event;
            }
        }
    }
    let list = match asked.flags & flag::DEPEND {
        0 => Vec::new(),
        // SAFETY: a list of the compiler's.
        _ => unsafe { depend::read(asked.depend) },
    };
    let mut children = task.children.borrow_mut();
    children.get_or_insert_default().enter(&node, &list);
    drop(children);
    thread.team().meeting.begin_tasks();
    if !runs_here {
        let data = asked.copied();
        let code = asked.code;
        return tasks::enter(node, thread, TaskBody { code, data });
    }
    wait_for(thread, &node);
    let has_run = at_once(thread, asked);
    tasks::end_part(&node, Awaited::with_code(has_run));
    if detaches {
        wait_for_children(thread, || node.is_over());
    }
}

/// Waits until all that the node, a counted child of the calling task, depends on has ended.
fn wait_for(thread: &Thread, node: &Arc<LinkedTask>) {
    if !node.is_free() {
        tasks::wait_for_these(thread.team(), thread, slice::from_ref(node), || {
            node.is_free()
        });
    }
}

/// Waits until something is so that counted children of the calling task bring about.
fn wait_for_children(thread: &Thread, done: impl Fn() -> bool) {
    let family = thread.task().family();
    tasks::wait_until(thread.team(), thread, |node| node.is_of(&family), done);
}

/// `taskwait`.
#[inline]
pub(crate) fn wait() {
    let thread = Thread::current();
    let task = thread.task();
    task.drain();
    if task.children.borrow().is_some() {
        wait_for_counted(thread);
    }
}

/// The calling task waits for the rest of its children, and keeps nothing of them.
#[cold]
fn wait_for_counted(thread: &Thread) {
    let children = &thread.task().children;
    let are_over = |children: &Option<Box<Children>>| {
        children.as_ref().is_none_or(|children| children.are_over())
    };
    if !are_over(&children.borrow()) {
        wait_for_children(thread, || are_over(&children.borrow()));
    }
    if let Some(children) = &mut *children.borrow_mut() {
        children.forget();
    }
}

/// `taskwait` with dependences.
///
/// # Safety
/// The list is a compiler's.
pub(crate) unsafe fn wait_depend(list: *const *const usize) {
    let thread = Thread::current();
    let task = thread.task();
    if task.children.borrow().is_none() {
        return;
    }
    // SAFETY: the caller's promise.
    let list = unsafe { depend::read(list) };
    let node = {
        let node = node_of(thread, false);
        node.count();
        let mut children = task.children.borrow_mut();
        children.get_or_insert_default().enter(&node, &list);
        node
    };
    wait_for(thread, &node);
    tasks::end_part(&node, Awaited::Code);
}

/// An event has come.
///
/// # Safety
/// The name is one that [`task`] gave, and not used before. The node stays until then, also one
/// that has been left out.
pub(crate) unsafe fn fulfill(event: *const LinkedTask) {
    // SAFETY: the caller's promise.
    let node = unsafe { Arc::from_raw(event) };
    tasks::end_part(&node, Awaited::Event);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A compiler's data for a task: there is nothing between its parts, and behind them.
    #[repr(C)]
    struct Parts(u32, u64, u32);

    #[test]
    fn data_is_copied_with_what_stands_between_its_parts() {
        let parts = Parts(1, 2, 3);
        let copy = |size| {
            let mut words = [MaybeUninit::uninit(); WORDS];
            // SAFETY: it has so many bytes at least, and they fit.
            unsafe { copy_words((&raw const parts).cast(), &mut words, size) };
            words
        };
        // SAFETY: its parts were copied.
        let copied: Parts = unsafe { std::mem::transmute(copy(size_of::<Parts>())) };
        assert_eq!((copied.0, copied.1, copied.2), (1, 2, 3));
        for size in [12, 16] {
            // SAFETY: of a word, and of the next, which was copied at least in half.
            let [first, next] =
                [0, 1].map(|at| unsafe { copy(size)[at].as_ptr().cast::<u32>().read() });
            assert_eq!((first, next), (1, 2));
        }
    }
}
