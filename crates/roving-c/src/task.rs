//! Called by the macros of the header where their own code is not enough: the slow push and pop,
//! results that have no slot, and the checks of debug builds.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::thread::LocalKey;
use std::{process, ptr};

use roving::raw::foreign::{self, Code, Layout, Left, Opaque, Words};

/// Compared with what the header believes.
#[unsafe(no_mangle)]
pub(crate) static roving_layout_: Layout = foreign::LAYOUT;

/// Ends the process if a header believes something else: its inline code would write elsewhere.
///
/// # Safety
/// The layout is null, or a constant of a header.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_check_layout_(layout: *const Layout) {
    // SAFETY: the caller's promise.
    if unsafe { layout.as_ref() } != Some(&foreign::LAYOUT) {
        eprintln!(
            "roving: this program was built with a roving.h of another version than the library: \
             build it again"
        );
        process::abort();
    }
}

/// Called, by the function that stands in the slot, with the code of the task.
///
/// # Safety
/// As [`foreign::run`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn roving_run_(slot: *mut (), code: Code) -> Left {
    // SAFETY: the caller's promise.
    unsafe { foreign::run(slot, code) }
}

/// The calling thread's line pointer: `roving_worker` of the header.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn roving_here_() -> *const () {
    foreign::wire()
}

/// The slow push; null if the spawner has to run the task in place.
///
/// # Safety
/// The function hands a code to [`roving_run_`] that takes these words, of which there are 32
/// bytes, and can run on any worker.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_push_(run: Opaque, words: *const Words) -> *mut () {
    // SAFETY: the caller's promise; not all of the words need be set.
    unsafe { foreign::push(run, *words) }.unwrap_or(ptr::null_mut())
}

/// The slow pop; 1 if the task is the caller's to run, 0 if it has run and left its result.
///
/// # Safety
/// The calling thread pushed the slot, and has synced all that it spawned later.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_pop_(slot: *mut ()) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { foreign::pop(slot) }.into()
}

thread_local! {
    /// Results of tasks that were run in place, until they are synced: the newest last.
    static KEPT: RefCell<Vec<Words>> = const { RefCell::new(Vec::new()) };
    static KEPT_LATE: Late<Words> = const { late() };
    /// How many stand there, and in `SPAWNED`. Each call of one of the caller's functions looks, so
    /// they are here, without a destructor.
    static UNSYNCED: Cell<Unsynced> = const { Cell::new(Unsynced { kept: 0, noted: 0 }) };
}

/// A list for a thread that ends and has dropped the one that it had before, while destructors of
/// others still run there. It is never dropped: so it has no memory when it is empty.
type Late<T> = ManuallyDrop<RefCell<Vec<T>>>;

const fn late<T>() -> Late<T> {
    ManuallyDrop::new(RefCell::new(Vec::new()))
}

/// Changes the first, or the second if the first was dropped.
fn with_either<T, R>(
    first: &'static LocalKey<RefCell<Vec<T>>>,
    late: &'static LocalKey<Late<T>>,
    f: impl FnOnce(&mut Vec<T>) -> R,
) -> R {
    if first.try_with(|_| ()).is_ok() {
        return first.with_borrow_mut(f);
    }
    late.with(|all| {
        let mut all = all.borrow_mut();
        let result = f(&mut all);
        if all.is_empty() {
            *all = Vec::new();
        }
        result
    })
}

/// Counts what the calling thread has spawned and not synced, as far as it is not on a task stack.
#[derive(Clone, Copy)]
pub(crate) struct Unsynced {
    kept: usize,
    noted: usize,
}

impl Unsynced {
    #[inline]
    pub(crate) fn now() -> Unsynced {
        UNSYNCED.get()
    }

    /// One of the caller's functions, at whose beginning it was so, has returned: debug builds know
    /// what it has not synced.
    #[inline]
    pub(crate) fn check(self) {
        if UNSYNCED.get().noted != self.noted {
            left_unsynced("a function that was given to the library");
        }
    }

    /// A panic has left the function: nobody syncs what it has spawned.
    #[cold]
    pub(crate) fn forget_later(self) {
        with_kept(|kept| kept.truncate(self.kept));
        with_spawned(|all| all.truncate(self.noted));
    }
}

/// Changes the results that are kept.
fn with_kept<R>(f: impl FnOnce(&mut Vec<Words>) -> R) -> R {
    with_either(&KEPT, &KEPT_LATE, |all| {
        let result = f(all);
        let (kept, noted) = (all.len(), UNSYNCED.get().noted);
        UNSYNCED.set(Unsynced { kept, noted });
        result
    })
}

/// Changes the notes of debug builds.
fn with_spawned<R>(f: impl FnOnce(&mut Vec<Spawned>) -> R) -> R {
    with_either(&SPAWNED, &SPAWNED_LATE, |all| {
        let result = f(all);
        let (kept, noted) = (UNSYNCED.get().kept, all.len());
        UNSYNCED.set(Unsynced { kept, noted });
        result
    })
}

/// Keeps the result of a task that had no slot.
///
/// # Safety
/// `result` has that many bytes, 32 at most.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_keep_(result: *const c_void, bytes: usize) {
    let mut words = Words::uninit();
    // SAFETY: the caller's promise; both are whole objects.
    unsafe { ptr::copy_nonoverlapping(result.cast::<u8>(), words.as_mut_ptr().cast(), bytes) };
    with_kept(|kept| kept.push(words));
}

/// A result, aligned as those in slots are.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Aligned(Words);

/// Gives back what was kept last: where it stands until this thread calls this again.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn roving_kept_() -> *mut c_void {
    thread_local! {
        static LAST: Cell<Aligned> = const { Cell::new(Aligned(Words::uninit())) };
    }
    let Some(words) = with_kept(Vec::pop) else {
        misuse("a sync found no result: a task was synced twice, or on another thread");
    };
    LAST.with(|last| {
        last.set(Aligned(words));
        last.as_ptr().cast()
    })
}

/// A task that was spawned and not synced yet, as debug builds know it.
#[derive(Clone, Copy)]
struct Spawned {
    handle: usize,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
}

thread_local! {
    static SPAWNED: RefCell<Vec<Spawned>> = const { RefCell::new(Vec::new()) };
    static SPAWNED_LATE: Late<Spawned> = const { late() };
}

/// # Safety
/// Strings of the C compiler.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_note_spawn_(
    handle: usize,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
) {
    let spawned = Spawned {
        handle,
        name,
        file,
        line,
    };
    if foreign::depth().is_none() {
        misuse(&format!(
            "{}: it was spawned on a thread that is no worker: enter a pool by ROVING_RUN or \
             roving_pool_run",
            spawned.told()
        ));
    }
    with_spawned(|all| all.push(spawned));
}

/// # Safety
/// As [`roving_note_spawn_`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_note_sync_(
    handle: usize,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
) {
    let here = Spawned {
        handle,
        name,
        file,
        line,
    };
    let newest = with_spawned(|all| {
        let at = all.iter().rposition(|one| one.handle == handle);
        match at {
            Some(at) if at + 1 == all.len() => Ok(_ = all.pop()),
            Some(_) => Err(all.last().copied()),
            None => Err(None),
        }
    });
    match newest {
        Ok(()) => {}
        Err(Some(newer)) => misuse(&format!(
            "{}: it is synced before a task that was spawned later: {}",
            here.told(),
            newer.told()
        )),
        Err(None) => misuse(&format!(
            "{}: it is synced, but was not spawned by this thread, or was synced before",
            here.told()
        )),
    }
}

/// How many tasks the calling thread has spawned and not synced.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn roving_note_enter_() -> usize {
    UNSYNCED.get().noted
}

/// A task, or the function of a call, returns.
///
/// # Safety
/// As [`roving_note_spawn_`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_note_leave_(before: usize, name: *const c_char) {
    if UNSYNCED.get().noted != before {
        // SAFETY: a string of the C compiler.
        left_unsynced(&unsafe { CStr::from_ptr(name) }.to_string_lossy());
    }
}

#[cold]
fn left_unsynced(name: &str) -> ! {
    let left = with_either(&SPAWNED, &SPAWNED_LATE, |all| all.last().copied());
    let left = left.map_or("something of its caller was synced".to_owned(), |left| {
        format!("a task was not synced: {}", left.told())
    });
    misuse(&format!("{name} returned, and {left}"));
}

impl Spawned {
    fn told(&self) -> String {
        // SAFETY: made of strings of the C compiler.
        let (name, file) = unsafe { (CStr::from_ptr(self.name), CStr::from_ptr(self.file)) };
        let (name, file) = (name.to_string_lossy(), file.to_string_lossy());
        format!("{name} at {file}:{}", self.line)
    }
}

/// The program does what it must not, and cannot go on.
#[cold]
pub(crate) fn misuse(what: &str) -> ! {
    eprintln!("roving: misuse: {what}");
    std::process::abort()
}
