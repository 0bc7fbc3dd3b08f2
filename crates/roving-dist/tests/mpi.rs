//! Ranks that are processes. Each test starts `mpirun` on this test program, in which [`rank`]
//! plays a role; without `mpirun` it says so, and does nothing.

mod common;

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{hash, mpirun, nodes, tree, watched};
use roving::Pool;
use roving_dist::raw::Mail;
use roving_dist::{Bag, Checkpoints, Local, World};

/// The role that a rank plays: its name, and a word for it.
const ROLE: &str = "ROVING_DIST_ROLE";
const WORD: &str = "ROVING_DIST_WORD";
/// How long one `mpirun` may take before a test gives up.
const RUN_MAX: Duration = Duration::from_secs(300);
/// How soon all ranks must be gone after one of them is, on a busy machine too: else none of them
/// notices it.
const END_MAX: Duration = Duration::from_secs(180);

/// The program that `mpirun` starts; it does nothing otherwise.
#[test]
fn rank() {
    let Ok(role) = env::var(ROLE) else {
        return;
    };
    let world = World::init().unwrap();
    let word = env::var(WORD).unwrap_or_default();
    if role == "handle" {
        return fail_in_a_handler(world);
    }
    match &*role {
        "meet" => meet(&world),
        "count" => count(&world),
        "panic" => panic_on_one(&world),
        "fail" => fail_on_one(&world),
        "stall" => stall(&world),
        "search" => search(&world, &word),
        _ => panic!("no role `{role}`"),
    }
    world.finish().unwrap();
}

/// Starts so many ranks of this program in a role; none without `mpirun`.
fn start(ranks: usize, role: &str, word: &str) -> Option<Child> {
    start_by(mpirun(ranks, env::current_exe().unwrap()), role, word)
}

/// Starts this program in a role by that `mpirun`.
fn start_by(mut mpirun: Command, role: &str, word: &str) -> Option<Child> {
    let started = mpirun
        .args(["--exact", "rank", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(WORD, word)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    match started {
        Ok(child) => Some(child),
        Err(error) => {
            println!("skipped: no mpirun here ({error})");
            None
        }
    }
}

/// The end of a run: whether it succeeded, and what it printed.
fn end(child: Child) -> (bool, String) {
    let output = watched(RUN_MAX, || child.wait_with_output().unwrap());
    let (said, warned) = (&output.stdout, &output.stderr);
    let text = format!(
        "{}\n{}",
        String::from_utf8_lossy(said),
        String::from_utf8_lossy(warned)
    );
    (output.status.success(), text)
}

/// So many bytes, other ones for each rank, which are made and compared by words: by bytes that
/// took most of the time of the exchange.
fn bytes_of(rank: usize, size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size + 8);
    for at in 0..size.div_ceil(8) {
        bytes.extend_from_slice(&hash((at + size * rank) as u64).to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

/// All sizes of messages, in both directions at once.
fn meet(world: &World) {
    let (rank, ranks) = (world.rank(), world.ranks());
    for size in [
        0, 1, 16, 1999, 2000, 2001, 3990, 4000, 4097, 70_000, 3_000_000,
    ] {
        let all = world.all_gather(&bytes_of(rank, size)).unwrap();
        assert_eq!(all.len(), ranks);
        for (from, part) in all.iter().enumerate() {
            assert_eq!(part.len(), size, "from rank {from}");
            let is_right = *part == bytes_of(from, size);
            assert!(is_right, "from rank {from}, {size} bytes");
        }
    }
    for _ in 0..1000 {
        world.barrier().unwrap();
    }
    if rank == 0 {
        println!("met {ranks}");
    }
}

#[test]
fn ranks_exchange_messages_of_all_sizes() {
    for ranks in [1, 2, 3, 8] {
        let Some(child) = start(ranks, "meet", "") else {
            return;
        };
        let (succeeded, text) = end(child);
        assert!(
            succeeded && text.contains(&format!("met {ranks}")),
            "{text}"
        );
    }
}

/// A hundred bags, each of another tree.
fn count(world: &World) {
    let pool = Pool::new(1).unwrap();
    for run in 0..100 {
        let root = (run, 0);
        let found = Bag::new(world).run(&pool, [root], tree, |a, b| a + b);
        assert_eq!(found.unwrap(), nodes(root), "run {run}");
    }
    if world.rank() == 0 {
        println!("counted on {}", world.ranks());
    }
}

#[test]
fn counts_are_exact_on_1_2_4_and_8_processes_in_100_runs() {
    for ranks in [1, 2, 4, 8] {
        let Some(child) = start(ranks, "count", "") else {
            return;
        };
        let (succeeded, text) = end(child);
        assert!(
            succeeded && text.contains(&format!("counted on {ranks}")),
            "{text}"
        );
    }
}

/// Rank 1 panics in a task while the others wait for it: there are tasks until it gets one.
fn panic_on_one(world: &World) {
    let pool = Pool::new(1).unwrap();
    let rank = world.rank();
    let _ = Bag::new(world).run(
        &pool,
        0..1000_u64,
        |number, local: &mut Local<'_, _, u64>| {
            thread::sleep(Duration::from_millis(1));
            assert!(rank != 1, "rank 1 has had enough");
            local.push(number);
        },
        |a, b| a + b,
    );
    println!("not reached");
}

#[test]
fn a_panic_on_one_rank_ends_all_with_its_name() {
    let start_time = Instant::now();
    let Some(child) = start(3, "panic", "") else {
        return;
    };
    let (succeeded, text) = end(child);
    assert!(!succeeded && !text.contains("not reached"), "{text}");
    assert!(
        text.contains("roving: rank 1 of 3: a task of a bag panicked: rank 1 has had enough"),
        "{text}"
    );
    assert!(start_time.elapsed() < END_MAX, "{text}");
}

/// Rank 2 gives up while the others wait for it.
fn fail_on_one(world: &World) {
    if world.rank() == 2 {
        world.fail("no more paper");
    }
    let _ = world.barrier();
    println!("not reached");
}

#[test]
fn an_error_on_one_rank_ends_all_with_its_name() {
    let Some(child) = start(3, "fail", "") else {
        return;
    };
    let (succeeded, text) = end(child);
    assert!(!succeeded && !text.contains("not reached"), "{text}");
    assert!(
        text.contains("roving: rank 2 of 3: no more paper"),
        "{text}"
    );
}

/// Rank 1 gives up when a message comes, while rank 0 waits for it.
fn fail_in_a_handler(world: World) {
    // It does not come to its end.
    let world: &World = Box::leak(Box::new(world));
    let mail = Mail::new(world, move |_, _| drop(world.fail("no more ink")));
    if world.rank() == 0 {
        mail.send(1, b"one");
        mail.flush();
    }
    let _ = mail.wait(|| false);
    println!("not reached");
}

#[test]
fn an_error_in_a_handler_ends_all_by_mpi() {
    let Some(child) = start(2, "handle", "") else {
        return;
    };
    let (succeeded, text) = end(child);
    assert!(!succeeded, "{text}");
    assert!(text.contains("roving: rank 1 of 2: no more ink"), "{text}");
    assert!(!text.contains("signal 6"), "{text}");
}

/// Rank 0 sends a large message to rank 1 while it handles another one for `STALL`: MPI gets on
/// with the large one only when somebody calls it, to send a sign of life for instance.
fn stall(world: &World) {
    let flag = || Arc::new(AtomicBool::new(false));
    // Ordering: SeqCst, all; nothing is in a hurry here.
    let is_set = |flag: &AtomicBool| flag.load(Ordering::SeqCst);
    let (handles, arrived) = (flag(), flag());
    let (begins, comes) = (Arc::clone(&handles), Arc::clone(&arrived));
    let long = Mail::new(world, move |_, _| {
        begins.store(true, Ordering::SeqCst);
        thread::sleep(STALL);
    });
    let large = Mail::new(world, move |_, bytes| {
        assert!(bytes == bytes_of(0, LARGE), "{} bytes", bytes.len());
        comes.store(true, Ordering::SeqCst);
    });
    let begun = Instant::now();
    if world.rank() == 0 {
        // Not flushed: it is not this thread that handles it.
        long.send(0, b"long");
        while !is_set(&handles) {
            thread::sleep(Duration::from_millis(1));
        }
        large.send(1, &bytes_of(0, LARGE));
        large.flush();
    } else {
        large.wait(|| is_set(&arrived)).unwrap();
        println!("came after {:?}", begun.elapsed());
    }
    world.barrier().unwrap();
}

/// How long rank 0 handles a message; a rank may be silent for a second.
const STALL: Duration = Duration::from_secs(6);
/// More than what TCP takes at once.
const LARGE: usize = 64 << 20;

#[test]
fn a_rank_whose_large_message_is_under_way_for_long_lives() {
    let program = env::current_exe().unwrap();
    let mut command = mpirun(2, program);
    command
        .env("ROVING_DIST_SILENCE_S", "1")
        // Shared memory would bring all of it at once.
        .env("OMPI_MCA_btl", "self,tcp")
        .env("OMPI_MCA_btl_tcp_if_include", "lo");
    let Some(child) = start_by(command, "stall", "") else {
        return;
    };
    let (succeeded, text) = end(child);
    assert!(succeeded && text.contains("came after"), "{text}");
}

/// A bag with checkpoints in the directory `word`, slow enough to be killed.
fn search(world: &World, word: &str) {
    println!("rank {} is {}", world.rank(), std::process::id());
    let pool = Pool::new(1).unwrap();
    let checkpoints = Checkpoints::to(word)
        .every(Duration::from_millis(5))
        .resume(true);
    let work = |node, local: &mut Local<'_, _, _>| {
        std::hint::black_box((0..15_000).fold(0, |sum, step| hash(sum ^ step)));
        tree(node, local);
    };
    let bag = Bag::new(world).checkpoints(checkpoints);
    let found = bag.run(&pool, [(7, 0)], work, |a, b| a + b).unwrap();
    if world.rank() == 0 {
        println!("found {found} nodes");
    }
}

/// The last checkpoint in that directory.
fn latest(directory: &str) -> Option<Vec<u8>> {
    fs::read(Path::new(directory).join("latest")).ok()
}

/// One run of which one rank is killed after a while, in every second draw after a checkpoint;
/// whether it came to its end before, and what was said.
fn search_and_kill(directory: &str, ranks: usize, draw: u64) -> Option<(bool, String, usize)> {
    let before = latest(directory);
    let mut child = start(ranks, "search", directory)?;
    let victim = draw as usize % ranks;
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let (sender, process) = mpsc::channel();
    let reader = thread::spawn(move || {
        let (mut text, mut line) = (String::new(), String::new());
        while said.read_line(&mut line).unwrap_or(0) > 0 {
            if let Some((_, process)) = line.split_once(&format!("rank {victim} is ")) {
                let _ = sender.send(process.trim().to_owned());
            }
            text.push_str(&std::mem::take(&mut line));
        }
        text
    });
    let mut killed = Instant::now();
    if let Ok(process) = process.recv_timeout(END_MAX) {
        let runs = |child: &mut Child| child.try_wait().unwrap().is_none();
        while draw % 2 == 0 && latest(directory) == before && runs(&mut child) {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_micros(hash(draw) % 250_000));
        let killer = Command::new("kill")
            .args(["-9", &process])
            .stderr(Stdio::null())
            .status();
        drop(killer);
        killed = Instant::now();
    }
    let mut warned = String::new();
    let stderr = child.stderr.as_mut().unwrap();
    watched(RUN_MAX, || stderr.read_to_string(&mut warned).unwrap());
    let succeeded = watched(RUN_MAX, || child.wait().unwrap()).success();
    assert!(
        succeeded || killed.elapsed() < END_MAX,
        "ends late: {warned}"
    );
    Some((succeeded, reader.join().unwrap() + &warned, victim))
}

/// The ends of runs that were killed.
#[derive(Debug, Default)]
struct Ends {
    killed: usize,
    /// Resumed from a checkpoint.
    resumed: usize,
    /// That of another number of ranks.
    moved: usize,
}

/// A search that is killed up to three times, on another number of ranks each time, and then is
/// not; none without `mpirun`.
fn search_to_the_end(seed: u64, ends: &mut Ends) -> Option<()> {
    let expected = format!("found {} nodes", nodes((7, 0)));
    let name = format!("roving-killed-{}-{seed}", std::process::id());
    let directory = env::temp_dir().join(name);
    let _ = fs::remove_dir_all(&directory);
    let word = directory.to_str().unwrap();
    let latest = || latest(word);
    let mut saved_by = None;
    for attempt in 0.. {
        let draw = hash(seed * 100 + attempt);
        let ranks = 1 + (draw >> 8) as usize % 4;
        let before = latest();
        ends.resumed += usize::from(saved_by.is_some());
        ends.moved += usize::from(saved_by.is_some_and(|saved_by| saved_by != ranks));
        let (succeeded, text) = if attempt <= seed % 3 {
            let (succeeded, text, victim) = search_and_kill(word, ranks, draw)?;
            if !succeeded {
                ends.killed += 1;
                if latest() != before {
                    saved_by = Some(ranks);
                }
                assert!(
                    text.contains(&format!("process rank {victim} with PID")),
                    "{text}"
                );
                continue;
            }
            (succeeded, text)
        } else {
            end(start(ranks, "search", word)?)
        };
        assert!(succeeded && text.contains(&expected), "{text}");
        break;
    }
    let left = fs::read_dir(&directory).unwrap().count();
    assert_eq!(left, 0, "a run that has ended leaves nothing");
    let _ = fs::remove_dir_all(&directory);
    Some(())
}

#[test]
fn killed_ranks_end_the_run_with_their_names_and_others_resume_to_the_exact_count() {
    let kills = match env::var_os("ROVING_DEEP") {
        Some(_) => 200,
        None => 5,
    };
    let mut ends = Ends::default();
    for seed in 0.. {
        if search_to_the_end(seed, &mut ends).is_none() {
            return;
        }
        if ends.killed >= kills && ends.moved > 0 {
            break;
        }
    }
    println!("{ends:?}");
}
