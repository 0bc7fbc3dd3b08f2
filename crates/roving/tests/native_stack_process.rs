//! The message for a full native stack of a worker, and that nothing else gets it: each case in a
//! process of its own, which is this program again.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "handlers of signals")]

#[path = "common/child.rs"]
mod child;
mod common;

use std::hint::black_box;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Output;
use std::thread;

use child::{child, is_child};
use common::{tries, watched};
use roving::Pool;

const SAID: &str = "roving: the native stack of a worker is full: ";

/// Runs a role in another process. Returns by which signal it ended, and what it said.
fn end_of(role: &str) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = watched(|| child(role).output().unwrap());
    (
        status.signal(),
        String::from_utf8_lossy(&stderr).into_owned(),
    )
}

fn shallow() -> Pool {
    let builder = Pool::builder().workers(1).name("shallow");
    builder.stack_size(300 << 10).build().unwrap()
}

fn nest(depth: u64) -> u64 {
    roving::join(|| nest(depth + 1), || black_box(depth)).0 + black_box(1)
}

fn touch(address: usize) {
    // SAFETY: none of this is safe; the process is to end here.
    unsafe { std::ptr::without_provenance_mut::<u8>(black_box(address)).write_volatile(1) }
}

fn handler() -> usize {
    // SAFETY: all-zero is a value of it, and the call writes no more than its size.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let read = libc::sigaction(libc::SIGSEGV, std::ptr::null(), &raw mut action);
        assert_eq!(read, 0);
        action.sa_sigaction
    }
}

#[test]
fn child_overflows() {
    if is_child("child_overflows") {
        shallow().install(|| nest(0));
    }
}

#[test]
fn child_overflows_in_its_second_pool() {
    if is_child("child_overflows_in_its_second_pool") {
        assert_eq!(shallow().install(|| 1), 1);
        let _other = Pool::new(2).unwrap();
        shallow().install(|| nest(0));
    }
}

#[test]
fn child_overflows_after_a_pool_inside() {
    if is_child("child_overflows_after_a_pool_inside") {
        shallow().install(|| {
            let inner = Pool::builder().workers(1).stack_size(1 << 20);
            inner.build().unwrap().install(|| 1);
            nest(0)
        });
    }
}

#[test]
fn child_overflows_beside_a_pool() {
    if is_child("child_overflows_beside_a_pool") {
        let _pool = shallow();
        let thread = thread::Builder::new().stack_size(300 << 10);
        let _ = thread.spawn(|| nest_alone(0)).unwrap().join();
    }
}

#[test]
fn child_touches_a_bad_address() {
    if is_child("child_touches_a_bad_address") {
        shallow().install(|| touch(4096));
    }
}

#[test]
fn child_is_sent_the_signal() {
    if is_child("child_is_sent_the_signal") {
        let _pool = shallow();
        // The handler of the standard library takes the first for a fault, which comes again.
        for _ in 0..2 {
            // SAFETY: the call takes no pointer.
            unsafe { libc::raise(libc::SIGSEGV) };
        }
    }
}

#[expect(unconditional_recursion, reason = "that is what it is for")]
fn nest_alone(depth: u64) -> u64 {
    nest_alone(black_box(depth + 1)) + black_box(1)
}

#[test]
fn an_overflow_says_which_limit_to_raise() {
    for role in [
        "child_overflows",
        "child_overflows_in_its_second_pool",
        "child_overflows_after_a_pool_inside",
    ] {
        let (signal, text) = end_of(role);
        assert_eq!(signal, Some(libc::SIGABRT), "{role}: {text}");
        let ours = text.find(SAID).unwrap_or_else(|| panic!("{role}: {text}"));
        let line = text[ours..].lines().next().unwrap();
        assert!(
            line.ends_with("`stack_size` of its pool's builder."),
            "{line}"
        );
        let kib = line[SAID.len()..].split(' ').next().unwrap();
        let kib: usize = kib.parse().unwrap();
        assert!((300..400).contains(&kib), "{line}");
        let name = text.find("'shallow-0'").expect("std names the thread");
        assert!(
            ours < name && text.contains("has overflowed its stack"),
            "{text}"
        );
        assert_eq!(text.matches("roving:").count(), 1, "{text}");
    }
}

#[test]
fn any_other_fault_is_handled_as_without_pools() {
    let (signal, text) = end_of("child_overflows_beside_a_pool");
    assert_eq!(signal, Some(libc::SIGABRT), "{text}");
    assert!(text.contains("has overflowed its stack"), "{text}");
    assert!(!text.contains("roving:"), "{text}");
    for role in ["child_touches_a_bad_address", "child_is_sent_the_signal"] {
        let (signal, text) = end_of(role);
        assert_eq!(signal, Some(libc::SIGSEGV), "{role}: {text}");
        assert!(!text.contains("roving:"), "{role}: {text}");
    }
}

/// The only test here that has pools in this process.
#[test]
fn the_handler_goes_with_the_last_pool() {
    let before = handler();
    // First ones and last ones at the same time.
    watched(|| {
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..tries(1000) {
                        drop(shallow());
                    }
                });
            }
        });
    });
    assert_eq!(handler(), before);
    for _ in 0..3 {
        let (one, two) = (Pool::new(2).unwrap(), Pool::new(1).unwrap());
        // Its threads have begun.
        two.broadcast(|_| ());
        one.broadcast(|_| ());
        assert_ne!(handler(), before);
        drop(one);
        assert_ne!(handler(), before);
        drop(two);
        assert_eq!(handler(), before);
    }
}
