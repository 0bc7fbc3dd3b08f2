//! Each mistake, made.
#![allow(unsafe_code)] // copies by address

use crate::compiler::Text;
use crate::driver::{Driver, Handle, PretendedMachine};
use crate::refusal::{Answer, NOT_READY, Refusal};

/// A device with two streams.
struct Two {
    driver: Driver,
    context: Handle,
    streams: [Handle; 2],
}

fn two() -> Two {
    let mut driver = Driver::new(PretendedMachine {
        devices: 2,
        ..PretendedMachine::default()
    });
    let context = driver.retain(0).unwrap();
    driver.set_current(Some(context)).unwrap();
    let streams = [driver.new_stream().unwrap(), driver.new_stream().unwrap()];
    Two {
        driver,
        context,
        streams,
    }
}

impl Two {
    fn room(&mut self) -> u64 {
        self.driver.alloc(8).unwrap()
    }

    fn up(&mut self, stream: usize, pinned: u64, to: u64) -> Answer<()> {
        // SAFETY: pinned, or refused.
        unsafe { self.driver.copy_in(self.streams[stream], to, pinned, 8) }
    }

    fn down(&mut self, stream: usize, from: u64, pinned: u64) -> Answer<()> {
        // SAFETY: pinned, or refused.
        unsafe { self.driver.copy_out(self.streams[stream], pinned, from, 8) }
    }
}

fn read(pinned: u64) -> u64 {
    // SAFETY: a live pinned block of 8 bytes, aligned as all are.
    unsafe { *(pinned as *const u64) }
}

fn write(pinned: u64, number: u64) {
    // SAFETY: a live pinned block of 8 bytes, aligned as all are.
    unsafe { *(pinned as *mut u64) = number }
}

#[track_caller]
fn mistake<T: std::fmt::Debug>(answer: Answer<T>, words: &str) {
    match answer {
        Err(Refusal::Mistake(text)) => assert!(text.contains(words), "{text}"),
        other => panic!("not a mistake: {other:?}"),
    }
}

#[test]
fn a_result_is_there_when_it_was_waited_for() {
    let mut two = two();
    let (room, from, to) = (
        two.room(),
        two.driver.pin(8).unwrap(),
        two.driver.pin(8).unwrap(),
    );
    write(from, 1);
    two.up(0, from, room).unwrap();
    two.down(0, room, to).unwrap();
    // Pinned memory is read when the copy runs.
    write(from, 2);
    assert_ne!(read(to), 2);
    two.driver.wait_stream(two.streams[0]).unwrap();
    assert_eq!(read(to), 2);
}

#[test]
fn streams_that_nothing_orders_may_not_meet() {
    let mut two = two();
    let (room, a, b) = (
        two.room(),
        two.driver.pin(8).unwrap(),
        two.driver.pin(8).unwrap(),
    );
    two.up(0, a, room).unwrap();
    mistake(two.down(1, room, b), "no event and no wait orders the two");
}

#[test]
fn readers_may_meet_and_a_writer_may_not_meet_them() {
    let mut two = two();
    let room = two.room();
    let pinned = [0; 3].map(|_| two.driver.pin(8).unwrap());
    two.down(0, room, pinned[0]).unwrap();
    two.down(1, room, pinned[1]).unwrap();
    mistake(
        two.up(0, pinned[2], room),
        "no event and no wait orders the two",
    );
}

#[test]
fn an_event_orders_two_streams() {
    let mut two = two();
    let (room, a, b) = (
        two.room(),
        two.driver.pin(8).unwrap(),
        two.driver.pin(8).unwrap(),
    );
    let event = two.driver.new_event(false).unwrap();
    write(a, 7);
    two.up(0, a, room).unwrap();
    two.driver.record(event, two.streams[0]).unwrap();
    two.driver.follow(two.streams[1], event).unwrap();
    two.down(1, room, b).unwrap();
    // The other stream is waited for as well, by way of the event.
    two.driver.wait_stream(two.streams[1]).unwrap();
    assert_eq!(read(b), 7);
    two.up(0, a, room).unwrap();
}

/// The event holds what was before it, not what came after.
#[test]
fn an_event_orders_only_what_was_before_it() {
    let mut two = two();
    let (room, a, b) = (
        two.room(),
        two.driver.pin(8).unwrap(),
        two.driver.pin(8).unwrap(),
    );
    let event = two.driver.new_event(false).unwrap();
    mistake(two.driver.follow(two.streams[1], event), "never recorded");
    two.driver.record(event, two.streams[0]).unwrap();
    two.up(0, a, room).unwrap();
    two.driver.follow(two.streams[1], event).unwrap();
    mistake(two.down(1, room, b), "no event and no wait orders the two");
}

#[test]
fn a_wait_of_the_host_orders_two_streams() {
    let mut two = two();
    let (room, a, b) = (
        two.room(),
        two.driver.pin(8).unwrap(),
        two.driver.pin(8).unwrap(),
    );
    two.up(0, a, room).unwrap();
    two.driver.wait_stream(two.streams[0]).unwrap();
    two.down(1, room, b).unwrap();
}

#[test]
fn memory_is_freed_once_and_not_used_after_that() {
    let mut two = two();
    let (room, pinned) = (two.room(), two.driver.pin(8).unwrap());
    two.driver.free_on(two.streams[0], room).unwrap();
    mistake(two.driver.free_on(two.streams[0], room), "freed that");
    mistake(two.up(0, pinned, room), "after");
    two.driver.wait_stream(two.streams[0]).unwrap();
    mistake(two.driver.free_now(room), "no block begins");
    mistake(two.up(0, pinned, room), "where no memory is");
}

#[test]
fn memory_is_not_freed_while_it_may_be_in_use() {
    let mut two = two();
    let (room, pinned) = (two.room(), two.driver.pin(8).unwrap());
    two.up(0, pinned, room).unwrap();
    mistake(two.driver.free_now(room), "may still use");
    mistake(two.driver.unpin(pinned), "may still use");
    mistake(
        two.driver.free_on(two.streams[1], room),
        "no event and no wait",
    );
    two.driver.wait_stream(two.streams[0]).unwrap();
    two.driver.unpin(pinned).unwrap();
    two.driver.free_now(room).unwrap();
}

/// Memory that a stream allocated is there for others when they are behind that.
#[test]
fn memory_in_the_order_of_a_stream_is_of_that_stream_at_first() {
    let mut two = two();
    let pinned = two.driver.pin(8).unwrap();
    let room = two.driver.alloc_on(two.streams[0], 8).unwrap();
    mistake(two.up(1, pinned, room), "an allocation");
}

#[test]
fn copies_stay_in_their_blocks() {
    let mut two = two();
    let (room, pinned) = (two.driver.alloc(7).unwrap(), two.driver.pin(8).unwrap());
    mistake(two.up(0, pinned, room), "1 bytes too many of a block of 7");
    mistake(two.up(0, pinned, room + 7), "where no memory is");
}

#[test]
fn objects_are_what_they_are_said_to_be() {
    let mut two = two();
    let event = two.driver.new_event(true).unwrap();
    mistake(
        two.driver.wait_stream(event),
        "a stream is asked for, and a event was given",
    );
    mistake(two.driver.wait_stream(0), "default stream");
    mistake(two.driver.record(0x9990, two.streams[0]), "never was");
    two.driver.destroy_event(event).unwrap();
    mistake(two.driver.record(event, two.streams[0]), "was destroyed");
    two.driver.destroy_stream(two.streams[1]).unwrap();
    mistake(two.driver.wait_stream(two.streams[1]), "was destroyed");
}

#[test]
fn the_current_context_is_that_of_the_object() {
    let mut two = two();
    let other = two.driver.retain(1).unwrap();
    two.driver.set_current(Some(other)).unwrap();
    mistake(two.driver.wait_stream(two.streams[0]), "another context");
    two.driver.set_current(None).unwrap();
    mistake(
        two.driver.wait_stream(two.streams[0]),
        "no context is current",
    );
    two.driver.release(1).unwrap();
    mistake(two.driver.set_current(Some(other)), "was destroyed");
    mistake(two.driver.release(1), "nobody has");
    two.driver.set_current(Some(two.context)).unwrap();
}

#[test]
fn a_context_goes_when_nothing_is_in_it() {
    let mut two = two();
    let room = two.room();
    assert_eq!(two.driver.retain(0).unwrap(), two.context);
    two.driver.release(0).unwrap();
    for stream in two.streams {
        two.driver.destroy_stream(stream).unwrap();
    }
    assert_eq!(two.driver.left().len(), 1);
    let mut leak = two;
    mistake(leak.driver.release(0), "1 blocks of memory");
    leak.driver.retain(0).unwrap();
    leak.driver.free_now(room).unwrap();
    leak.driver.release(0).unwrap();
    assert!(leak.driver.left().is_empty());
}

#[test]
fn times_are_those_of_events_that_have_come() {
    let mut two = two();
    let [from, to] = [0; 2].map(|_| two.driver.new_event(true).unwrap());
    mistake(two.driver.elapsed_ms(from, to), "never recorded");
    two.driver.record(from, two.streams[0]).unwrap();
    two.driver.record(to, two.streams[0]).unwrap();
    assert_eq!(
        two.driver.elapsed_ms(from, to),
        Err(Refusal::Code(NOT_READY))
    );
    assert_eq!(two.driver.query(to), Err(Refusal::Code(NOT_READY)));
    assert_eq!(two.driver.query(to), Err(Refusal::Code(NOT_READY)));
    two.driver.query(to).unwrap();
    assert!(two.driver.elapsed_ms(from, to).unwrap() >= 0.0);
    let untimed = two.driver.new_event(false).unwrap();
    mistake(two.driver.elapsed_ms(untimed, to), "made without");
}

#[test]
fn a_held_device_does_nothing() {
    let mut two = two();
    let (room, pinned) = (two.room(), two.driver.pin(8).unwrap());
    let event = two.driver.new_event(false).unwrap();
    two.driver.is_held = true;
    two.up(0, pinned, room).unwrap();
    two.driver.record(event, two.streams[0]).unwrap();
    for _ in 0..9 {
        assert_eq!(two.driver.query(event), Err(Refusal::Code(NOT_READY)));
    }
    assert_eq!(two.driver.counted("waiting"), 2);
    mistake(two.driver.wait_stream(two.streams[0]), "that is held");
    two.driver.is_held = false;
    two.driver.wait_stream(two.streams[0]).unwrap();
    assert_eq!(two.driver.counted("waiting"), 0);
}

const TEXT: &str = r#"
    extern "C" __global__ void add(const unsigned *from, unsigned *to, unsigned count) {
        unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
        if (at < count) to[at] += from[at];
    }
    extern "C" __global__ void turn(unsigned *numbers) {
        __shared__ unsigned kept[64];
        kept[threadIdx.x] = numbers[threadIdx.x];
        __syncthreads();
        numbers[threadIdx.x] = kept[63 - threadIdx.x];
    }
    extern "C" __global__ void share(unsigned *numbers) {
        extern __shared__ unsigned kept[];
        kept[threadIdx.x] = numbers[threadIdx.x];
        __syncthreads();
        numbers[threadIdx.x] = kept[63 - threadIdx.x];
    }
"#;

/// `TEXT`, which includes nothing.
fn text() -> Text {
    Text {
        source: TEXT.into(),
        name: "text".into(),
        headers: Vec::new(),
        folders: Vec::new(),
    }
}

/// A block of 256 bytes, which are 64 numbers, and a kernel of `TEXT`.
fn kernel(two: &mut Two, name: &str) -> Option<(u64, Handle)> {
    let module = match two.driver.compiler.compile(&text(), "sm_90") {
        Ok(module) => module,
        Err(log) if log.contains("no C++ compiler") => {
            eprintln!("skipped: there is no C++ compiler");
            return None;
        }
        Err(log) => panic!("{log}"),
    };
    let module = std::ffi::CString::new(module).unwrap();
    let module = two.driver.load(&module).unwrap();
    Some((
        two.driver.alloc(256).unwrap(),
        two.driver.function(module, name).unwrap(),
    ))
}

/// 64 threads in one block.
const ONE: [[u32; 3]; 2] = [[1, 1, 1], [64, 1, 1]];

/// Code for another generation is refused, text for an earlier one is not.
#[test]
fn modules_are_for_the_device() {
    let mut two = two();
    if kernel(&mut two, "turn").is_none() {
        return;
    }
    for (target, is_right) in [
        ("sm_80", false),
        ("sm_90", true),
        ("compute_80", true),
        ("compute_100", false),
    ] {
        let module = two.driver.compiler.compile(&text(), target).unwrap();
        let module = std::ffi::CString::new(module).unwrap();
        assert_eq!(two.driver.load(&module).is_ok(), is_right, "{target}");
    }
}

#[test]
fn kernels_run_with_barriers() {
    let mut two = two();
    let Some((room, turn)) = kernel(&mut two, "turn") else {
        return;
    };
    let numbers: Vec<u32> = (0..64).collect();
    let mut turned = vec![0_u32; 64];
    let (at, stream) = (turned.as_mut_ptr() as u64, two.streams[0]);
    // SAFETY: both vectors have 256 bytes, and the second copy has ended when it returns.
    unsafe {
        two.driver
            .copy_in(stream, room, numbers.as_ptr() as u64, 256)
    }
    .unwrap();
    two.driver
        .launch(turn, ONE, 0, stream, |_, _| room.to_ne_bytes().into())
        .unwrap();
    // SAFETY: the vector has 256 bytes, and the copy has ended when it returns.
    unsafe { two.driver.copy_out(stream, at, room, 256) }.unwrap();
    assert_eq!(turned, numbers.into_iter().rev().collect::<Vec<_>>());
    assert_eq!(two.driver.counted("copies that wait"), 2);
    // It has waited since its last kernel.
    assert_eq!(two.driver.counted("round trips"), 0);
    two.driver
        .launch(turn, ONE, 0, stream, |_, _| room.to_ne_bytes().into())
        .unwrap();
    assert_eq!(two.driver.counted("round trips"), 1);
}

#[test]
fn kernels_are_ordered_by_what_they_read_and_write() {
    let mut two = two();
    let Some((from, add)) = kernel(&mut two, "add") else {
        return;
    };
    let [a, b] = [0; 2].map(|_| two.driver.alloc(256).unwrap());
    let launch = |two: &mut Two, stream: usize, from: u64, to: u64, count: u32| {
        two.driver
            .launch(add, ONE, 0, two.streams[stream], |index, _| match index {
                0 => from.to_ne_bytes().into(),
                1 => to.to_ne_bytes().into(),
                _ => count.to_ne_bytes().into(),
            })
    };
    launch(&mut two, 0, from, a, 64).unwrap();
    // The source is read by both.
    launch(&mut two, 1, from, b, 64).unwrap();
    mistake(launch(&mut two, 1, a, b, 64), "`add` (operation");
    mistake(launch(&mut two, 1, 8, b, 64), "where no memory is");
}

#[test]
fn a_kernel_that_writes_too_much_is_found() {
    let mut two = two();
    let Some((from, add)) = kernel(&mut two, "add") else {
        return;
    };
    let to = two.driver.alloc(200).unwrap();
    let stream = two.streams[0];
    let given = |index, _| match index {
        0 => from.to_ne_bytes().into(),
        1 => to.to_ne_bytes().into(),
        _ => 64_u32.to_ne_bytes().into(),
    };
    two.driver.launch(add, ONE, 0, stream, given).unwrap();
    mistake(
        two.driver.wait_stream(stream),
        "`add` wrote outside of a block of 200 bytes",
    );
}

#[test]
fn a_module_stays_until_its_kernels_have_run() {
    let mut two = two();
    let Some((room, turn)) = kernel(&mut two, "turn") else {
        return;
    };
    let stream = two.streams[0];
    two.driver
        .launch(turn, ONE, 0, stream, |_, _| room.to_ne_bytes().into())
        .unwrap();
    let module = turn - 16;
    mistake(two.driver.unload(module), "before its kernels have run");
    two.driver.wait_stream(stream).unwrap();
    two.driver.unload(module).unwrap();
    mistake(
        two.driver
            .launch(turn, ONE, 0, stream, |_, _| room.to_ne_bytes().into()),
        "a function is used that was destroyed",
    );
}

/// Memory that a launch sizes is as large as it says, and no larger.
#[test]
fn what_a_block_shares_ends_where_the_launch_says() {
    for (shared, leave, is_taken, is_right) in [
        (256, None, true, true),
        (252, None, true, false),
        (49 << 10, None, false, true),
        (49 << 10, Some(50 << 10), true, true),
    ] {
        let mut two = two();
        let Some((room, share)) = kernel(&mut two, "share") else {
            return;
        };
        let stream = two.streams[0];
        if let Some(leave) = leave {
            two.driver.share(share, leave).unwrap();
        }
        let given = |_, _| room.to_ne_bytes().into();
        let launched = two.driver.launch(share, ONE, shared, stream, given);
        assert_eq!(launched.is_ok(), is_taken, "{shared}");
        assert_eq!(two.driver.wait_stream(stream).is_ok(), is_right, "{shared}");
        if is_right {
            assert!(two.driver.share(share, 1 << 20).is_err());
        }
    }
}

/// Memory of two devices, of which the first is written; a stream of the second, whose context is
/// current; and an event behind what writes.
struct Between {
    two: Two,
    contexts: [Handle; 2],
    /// To and from.
    rooms: [u64; 2],
    pinned: u64,
    stream: Handle,
    event: Handle,
}

fn between() -> Between {
    let mut two = two();
    let (near, pinned) = (two.room(), two.driver.pin(8).unwrap());
    write(pinned, 7);
    two.up(0, pinned, near).unwrap();
    let event = two.driver.new_event(false).unwrap();
    two.driver.record(event, two.streams[0]).unwrap();
    let other = two.driver.retain(1).unwrap();
    two.driver.set_current(Some(other)).unwrap();
    let stream = two.driver.new_stream().unwrap();
    let rooms = [two.room(), near];
    Between {
        contexts: [other, two.context],
        two,
        rooms,
        pinned,
        stream,
        event,
    }
}

impl Between {
    fn copy(&mut self) -> Answer<()> {
        let driver = &mut self.two.driver;
        driver.copy_between(self.stream, self.rooms, self.contexts, 8)
    }

    fn follow(&mut self) {
        self.two.driver.follow(self.stream, self.event).unwrap();
    }
}

#[test]
fn devices_copy_from_each_other_behind_events() {
    let mut all = between();
    all.follow();
    all.copy().unwrap();
    let driver = &mut all.two.driver;
    let pinned = driver.pin(8).unwrap();
    // SAFETY: pinned.
    unsafe { driver.copy_out(all.stream, pinned, all.rooms[0], 8) }.unwrap();
    driver.wait_stream(all.stream).unwrap();
    assert_eq!(read(pinned), 7);
}

#[test]
fn a_copy_between_devices_is_ordered_with_what_either_does() {
    mistake(between().copy(), "no event and no wait orders the two");
    let mut all = between();
    all.follow();
    all.copy().unwrap();
    // The first device writes again, and has not waited for the second.
    all.two.driver.set_current(Some(all.contexts[1])).unwrap();
    mistake(all.two.up(0, all.pinned, all.rooms[1]), "still reads");
    mistake(all.two.driver.free_now(all.rooms[1]), "may still use");
}

#[test]
fn a_copy_between_devices_names_the_contexts_of_its_memory() {
    let mut all = between();
    all.follow();
    all.contexts.swap(0, 1);
    mistake(all.copy(), "another context than that of its memory");
    let mut all = between();
    all.follow();
    all.contexts[1] += 1;
    mistake(all.copy(), "a context is used that never was");
    let mut all = between();
    all.follow();
    all.two.driver.set_current(Some(all.contexts[1])).unwrap();
    mistake(all.copy(), "of another context than the current one");
}

#[test]
fn contexts_look_at_each_other_once_and_where_they_can() {
    for peers in [true, false] {
        let mut driver = Driver::new(PretendedMachine {
            devices: 2,
            peers,
            ..PretendedMachine::default()
        });
        let contexts = [0, 1].map(|device| driver.retain(device).unwrap());
        driver.set_current(Some(contexts[0])).unwrap();
        assert_eq!(driver.is_peer(0, 1), Ok(peers));
        assert_eq!(driver.is_peer(0, 0), Ok(false));
        let code = |code| Err(Refusal::Code(code));
        let [first, again] = [(); 2].map(|()| driver.open_peer(contexts[1]));
        let pool = driver.open_pool(17, 0);
        match peers {
            true => assert_eq!([first, again, pool], [Ok(()), code(704), Ok(())]),
            false => assert_eq!([first, again, pool], [code(1), code(1), code(1)]),
        }
        mistake(driver.open_pool(18, 0), "a pool is used that never was");
        mistake(driver.open_peer(7), "a context is used that never was");
    }
}
