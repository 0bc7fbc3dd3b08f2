//! A library with a pool is loaded and unloaded, a hundred times in one process: nothing of it
//! stays.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "dlopen, dlsym and dlclose")]

#[path = "common/child.rs"]
mod child;
mod common;

use std::env;
use std::ffi::{CStr, CString, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use child::{child, is_child, passed};
use common::{wait_until, watched};

const TEST: &str = "a_library_is_unloaded_a_hundred_times";
const ROUNDS: usize = 100;
/// The first rounds fill caches of the C library.
const WARM: usize = 20;
/// The variable that tells a child where the library lies.
const LIBRARY: &str = "ROVING_TEST_LIBRARY";

/// The library as cargo has built it with this test, if nothing that it was made of is newer.
fn built() -> Option<PathBuf> {
    let own = env::current_exe().ok()?;
    let library = own.parent()?.with_file_name("examples");
    let library = library.join("libunload_plugin.so");
    let modified = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    let made = modified(&library).ok()?;
    let told = fs::read_to_string(library.with_extension("d")).ok()?;
    let (_, sources) = told.trim().split_once(": ")?;
    let is_older = |source| modified(Path::new(source)).is_ok_and(|then| then < made);
    sources.split(' ').all(is_older).then_some(library)
}

/// Where the library lies: cargo builds it with all tests, but not with this one alone.
fn build() -> PathBuf {
    if let Some(library) = built() {
        return library;
    }
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "build",
        "--offline",
        "-p",
        "roving",
        "--example",
        "unload-plugin",
    ]);
    command
        .arg("--message-format=json")
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let messages = String::from_utf8(output.stdout).unwrap();
    let built = messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == "unload-plugin";
        let file = message["filenames"][0].as_str().filter(|_| is_it)?;
        Some(PathBuf::from(file))
    });
    built.expect("cargo names what it has built")
}

/// A library that is loaded.
struct Loaded(*mut c_void);

// SAFETY: a handle of the C library belongs to no thread.
unsafe impl Send for Loaded {}

impl Loaded {
    fn load(path: &CStr) -> Loaded {
        // SAFETY: the path ends with a zero, and the library's initialisers are those of Rust.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{}", error());
        Loaded(handle)
    }

    fn find(&self, name: &CStr) -> *mut c_void {
        // SAFETY: the library is loaded, and the name ends with a zero.
        let at = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!at.is_null(), "{}", error());
        at
    }

    fn work(&self, n: u32) -> u64 {
        // SAFETY: this is how the library declares it.
        let work: extern "C" fn(u32) -> u64 =
            unsafe { std::mem::transmute(self.find(c"plugin_work")) };
        work(n)
    }

    fn shut_down(&self, now: bool) -> i32 {
        // SAFETY: this is how the library declares it.
        let shut_down: extern "C" fn(bool) -> i32 =
            unsafe { std::mem::transmute(self.find(c"plugin_shut_down")) };
        shut_down(now)
    }

    fn unload(self) {
        // SAFETY: nothing of the library runs or is used any more: that is what is tested.
        assert_eq!(unsafe { libc::dlclose(self.0) }, 0, "{}", error());
    }
}

fn error() -> String {
    // SAFETY: the text is the C library's, until the next call.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "no error".to_owned();
    }
    // SAFETY: it is a string that ends with a zero.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn maps() -> String {
    fs::read_to_string("/proc/self/maps").unwrap()
}

fn is_mapped() -> bool {
    maps().contains("unload_plugin") || maps().contains("unload-plugin")
}

/// Threads, open files, mappings.
fn held() -> [usize; 3] {
    [
        entries("/proc/self/task"),
        entries("/proc/self/fd"),
        maps().lines().count(),
    ]
}

/// Uses the pool, and shuts it down, once or twice.
fn use_it(loaded: &Loaded, number: usize) {
    assert_eq!(loaded.work(15), 610 + 8 + 1 + 1 + 1);
    if number % 3 == 0 {
        // Shut down, and started again by the next use.
        assert_eq!(loaded.shut_down(false), 0);
        assert_eq!(loaded.work(10), 55 + 8 + 1 + 1 + 1);
    }
    assert_eq!(loaded.shut_down(number % 2 == 0), 0);
}

/// By a thread that has ended before the library is unloaded: its thread-local values are gone.
fn used_by_another_thread(path: &CStr, number: usize) {
    let loaded = Loaded::load(path);
    let loaded = thread::spawn(move || {
        use_it(&loaded, number);
        loaded
    });
    loaded.join().unwrap().unload();
    assert!(!is_mapped(), "round {number}: it stays in memory");
}

/// By the thread that unloads it: the C library keeps it until that thread has ended, because there
/// are destructors of thread-local values to run, and lets it go with the next one that is
/// unloaded.
fn used_by_the_same_thread(path: &CStr, number: usize) {
    let path_there = path.to_owned();
    let user = thread::spawn(move || {
        let loaded = Loaded::load(&path_there);
        use_it(&loaded, number);
        loaded.unload();
    });
    user.join().unwrap();
    Loaded::load(path).unload();
    assert!(!is_mapped(), "round {number}: it stays in memory");
}

/// One test, because it counts what the process holds.
#[test]
fn a_library_is_unloaded_a_hundred_times() {
    if is_child(TEST) {
        return [used_by_another_thread, used_by_the_same_thread]
            .into_iter()
            .for_each(leaves_nothing);
    }
    let path = watched(build);
    // Plainly, and with the threads and the files that the variables ask for.
    let trace = env::temp_dir().join(format!("roving-unload-{}.json", std::process::id()));
    let trace = trace.to_str().expect("a plain path");
    for (variable, value) in [
        ("ROVING_PROFILE", "0"),
        ("ROVING_WATCH", "1"),
        ("ROVING_TOP", "1"),
        ("ROVING_TRACE", trace),
    ] {
        let mut child = child(TEST);
        child.env(LIBRARY, &path).env(variable, value);
        // The C library keeps stacks and arenas for as many threads as there ever were at once,
        // and how many that are hangs on the system's load.
        child.env("GLIBC_TUNABLES", "glibc.pthread.stack_cache_size=0");
        passed(child.env("MALLOC_ARENA_MAX", "1"));
    }
    let _ = fs::remove_file(trace);
}

fn leaves_nothing(cycle: fn(&CStr, usize)) {
    let path = env::var_os(LIBRARY).expect("who has started this says where the library lies");
    let path = CString::new(path.into_encoded_bytes()).unwrap();
    let mut warm = [0; 3];
    for number in 0..ROUNDS {
        let threads = held()[0];
        watched(|| cycle(&path, number));
        // One that was joined may not have left the system's list yet.
        wait_until(|| held()[0] <= threads);
        if number == WARM {
            warm = held();
        }
    }
    let [threads, files, mappings] = held();
    assert_eq!([threads, files], warm[..2], "threads and files");
    assert!(
        mappings <= warm[2] + 2,
        "{mappings} mappings, {} before",
        warm[2]
    );
}
