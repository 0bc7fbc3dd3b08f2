//! Pools where the system really has no more threads or no more memory; each case in a process of
//! its own, which is this program again.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "setrlimit")]

#[path = "common/child.rs"]
mod child;
mod common;
#[path = "common/system.rs"]
mod system;

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use child::{child, is_child, passed};
use common::watched;
use roving::{Pool, join};

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// The error of a pool whose threads, or their memory, the system refuses.
fn refused(workers: usize, stack: usize) -> String {
    let builder = Pool::builder().workers(workers).stack_size(stack);
    builder.build().unwrap_err().to_string()
}

#[test]
fn a_stack_that_is_too_large_is_an_error_with_its_remedy() {
    watched(|| {
        // More than an address has bits for.
        let error = refused(2, 1 << 50);
        assert!(
            error.starts_with("the thread of worker 0 could not be started"),
            "{error}"
        );
        assert!(error.contains("a smaller stack_size"), "{error}");
        let none = Pool::builder()
            .workers(3)
            .workers_at_least(1)
            .stack_size(1 << 50);
        assert!(none.build().is_err(), "not even one");
    });
}

#[test]
fn a_least_number_that_is_out_of_range_is_named() {
    for (least, workers) in [(0, 2), (3, 2)] {
        let builder = Pool::builder().workers(workers).workers_at_least(least);
        let error = builder.build().unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "workers_at_least({least}) is out of range for {workers} workers: say 1 to {workers}"
            )
        );
    }
}

#[test]
fn child_has_little_address_space() {
    if !is_child("child_has_little_address_space") {
        return;
    }
    let used_kib = system::memory_kib("VmSize").expect("Linux says how much is mapped");
    // Stacks so large that what is left when one is refused does for the threads that have begun:
    // std ends the process where a thread gets no memory for its signal stack.
    const STACK: usize = 256 << 20;
    let most = (used_kib << 10) + (9 * STACK as u64);
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: the limit has its place.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(set, 0);
    let error = refused(600, STACK);
    assert!(
        error.contains("could not be started") || error.contains("no memory"),
        "{error}"
    );
    for _ in 0..3 {
        let builder = Pool::builder().workers(600).workers_at_least(1);
        let pool = builder.stack_size(STACK).build().unwrap();
        assert!((1..600).contains(&pool.workers()), "{}", pool.workers());
        assert_eq!(pool.install(|| fib(15)), 610);
        assert!(
            pool.broadcast(|index| index)
                .into_iter()
                .eq(0..pool.workers())
        );
    }
}

#[test]
fn without_address_space_there_are_fewer_workers() {
    passed(&mut child("child_has_little_address_space"));
}

/// Uses the global pool when its thread ends.
struct UsesAtTheEnd;

impl Drop for UsesAtTheEnd {
    fn drop(&mut self) {
        assert_eq!(join(|| 1, || 2), (1, 2));
    }
}

thread_local! {
    static AT_THE_END: RefCell<Option<UsesAtTheEnd>> = const { RefCell::new(None) };
}

#[test]
fn child_starts_some_threads_of_the_global_pool() {
    if !is_child("child_starts_some_threads_of_the_global_pool") {
        return;
    }
    let used_kib = system::memory_kib("VmSize").expect("Linux says how much is mapped");
    // As above. The pool that is started then has smaller stacks.
    const STACK: usize = 256 << 20;
    limit_address_space((used_kib << 10) + (9 * STACK as u64));
    let begun = Arc::new(AtomicUsize::new(0));
    let at_start = Arc::clone(&begun);
    let builder = Pool::builder().workers(600).stack_size(STACK);
    let builder = builder.on_start(move |_| {
        at_start.fetch_add(1, SeqCst);
        AT_THE_END.set(Some(UsesAtTheEnd));
    });
    let error = builder.build_global().unwrap_err().to_string();
    assert!(error.contains("could not be started"), "{error}");
    assert!(begun.load(SeqCst) > 0);
    assert_eq!(join(|| 1, || 2), (1, 2));
}

/// They are ended again, and there is no global pool yet: so they start one when they end.
#[test]
fn threads_of_a_global_pool_that_cannot_be_started_use_another() {
    let mut child = child("child_starts_some_threads_of_the_global_pool");
    passed(child.env("ROVING_WORKERS", "2"));
}

/// Sets how much memory the process may map, as long as that is below the hard limit.
fn limit_address_space(most: libc::rlim_t) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit has its place.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &raw mut limit), 0);
        limit.rlim_cur = most.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &raw const limit), 0);
    }
}

#[test]
fn child_has_little_address_space_for_a_while() {
    if !is_child("child_has_little_address_space_for_a_while") {
        return;
    }
    let pool = Pool::builder().workers(1).stack_size(64 << 20).build();
    pool.unwrap().install(|| {
        let used_kib = system::memory_kib("VmSize").expect("Linux says how much is mapped");
        limit_address_space((used_kib << 10) + (16 << 20));
        // No thread can come for it.
        roving::blocking(|| ());
        limit_address_space(libc::RLIM_INFINITY);
        let (sender, receiver) = std::sync::mpsc::channel();
        roving::spawn(move || sender.send(7).unwrap());
        let patience = std::time::Duration::from_secs(120);
        assert_eq!(roving::blocking(|| receiver.recv_timeout(patience)), Ok(7));
    });
}

/// Memory that is there again is used: a thread that could not be started is not counted.
#[test]
fn a_worker_is_stood_in_for_when_there_is_memory_again() {
    passed(&mut child("child_has_little_address_space_for_a_while"));
}

#[test]
fn child_has_few_threads() {
    if !is_child("child_has_few_threads") {
        return;
    }
    let error = Pool::new(40).unwrap_err().to_string();
    assert!(error.contains("a higher limit on threads"), "{error}");
    let pool = Pool::builder()
        .workers(40)
        .workers_at_least(1)
        .build()
        .unwrap();
    assert!((1..40).contains(&pool.workers()), "{}", pool.workers());
    assert_eq!(pool.install(|| fib(15)), 610);
    drop(pool);
    // The global pool too, with a line that says so.
    assert_eq!(fib(15), 610);
    assert!((1..40).contains(&roving::current_workers()));
    roving::embed::shutdown_global().unwrap();
}

/// A control group that allows few threads; `None` where none can be made.
struct Group(PathBuf);

impl Group {
    fn new(threads: usize) -> Option<Group> {
        let roots = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
        let root = roots
            .iter()
            .find(|root| Path::new(root).join("cgroup.procs").exists())?;
        let group = Path::new(root).join(format!("roving-test-{}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let group = Group(group);
        fs::write(group.0.join("pids.max"), threads.to_string()).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its last process may not have left it yet.
        common::holds_within(std::time::Duration::from_secs(5), || {
            fs::remove_dir(&self.0).is_ok()
        });
    }
}

#[test]
fn with_a_limit_on_threads_there_are_fewer_workers() {
    let Some(group) = Group::new(12) else {
        eprintln!("no control group can be made here: skipped");
        return;
    };
    let procs = CString::new(
        group
            .0
            .join("cgroup.procs")
            .into_os_string()
            .into_encoded_bytes(),
    );
    let procs = procs.unwrap();
    let mut command = child("child_has_few_threads");
    command.env("ROVING_WORKERS", "40");
    // SAFETY: between fork and exec it makes system calls only.
    unsafe { command.pre_exec(move || enter(&procs)) };
    let output = match watched(|| command.output()) {
        Ok(output) => output,
        Err(error) => {
            eprintln!("no process can be put into a control group here ({error}): skipped");
            return;
        }
    };
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    let told = |line: &str| {
        line.starts_with("roving: the thread of worker") && line.contains("going on with")
    };
    assert!(text.lines().any(told), "{text}");
}

/// The calling process enters the group.
fn enter(procs: &CStr) -> io::Result<()> {
    // SAFETY: the path ends with a zero; the file is the caller's; "0" is the calling process.
    unsafe {
        let file = libc::open(procs.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let written = libc::write(file, c"0".as_ptr().cast(), 1);
        libc::close(file);
        match written {
            1 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
