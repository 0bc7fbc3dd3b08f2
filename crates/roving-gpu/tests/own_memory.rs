//! Memory objects of a program's own back-end: their drop is code of the program, which may use the
//! devices, and may panic.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::card::{Card, Hook};
use common::numbers::{ADD_ONE, BYTES, LEN, STEP, add, buffer, told};
use common::{Gate, within};
use roving_gpu::{Buffer, Choice, Devices, Writes};

/// The device, and what loses it.
fn own(bytes: u64, then: Hook) -> (Devices, Arc<AtomicBool>) {
    let is_lost = Arc::new(AtomicBool::new(false));
    let lose = Arc::clone(&is_lost);
    let backend = Card {
        then,
        is_lost,
        ..Card::new("own", bytes)
    };
    let builder = Devices::builder().backend(backend).choice(Choice::Gpu);
    (builder.writes(Writes::Back).build().unwrap(), lose)
}

/// Each way in which a device lets go of memory, one after the other: 6 pieces in all.
fn let_go(devices: &Devices, lose: &AtomicBool) {
    let on_device = || {
        let numbers = buffer();
        add(devices, &STEP, &ADD_ONE, &numbers);
        numbers
    };
    // Its buffer goes.
    drop(on_device());
    // Others need the room.
    let old = on_device();
    assert_eq!(old.read()[..], [2; LEN]);
    let new = [(); 2].map(|()| on_device());
    assert_eq!(old.read()[..], [2; LEN]);
    // The device is lost, with the memory of the task that is there and of those that have ended.
    drop(new);
    let kept = on_device();
    lose.store(true, Ordering::SeqCst);
    add(devices, &STEP, &ADD_ONE, &old);
    assert_eq!(old.read()[..], [12; LEN]);
    assert!(told(|| drop(kept.read())).contains("lost"));
}

#[test]
fn memory_may_use_its_device_when_it_is_dropped() {
    within("own memory".to_owned(), || {
        static DROPPED: AtomicUsize = AtomicUsize::new(0);
        static DEVICES: Mutex<Option<Devices>> = Mutex::new(None);
        static OTHERS: Mutex<Vec<Buffer<u32>>> = Mutex::new(Vec::new());
        let asks: Hook = Arc::new(|| {
            DROPPED.fetch_add(1, Ordering::SeqCst);
            let devices = DEVICES.lock().unwrap().clone();
            if let Some(devices) = devices {
                assert_eq!(devices.profile().devices.len(), 1);
                let other = OTHERS.lock().unwrap().pop();
                drop(other);
            }
        });
        let (devices, lose) = own(2 * BYTES, asks);
        *DEVICES.lock().unwrap() = Some(devices.clone());
        OTHERS.lock().unwrap().extend((0..2).map(|_| buffer()));
        let_go(&devices, &lose);
        assert_eq!(DROPPED.load(Ordering::SeqCst), 6);
        *DEVICES.lock().unwrap() = None;
    });
}

/// Nobody who comes next is told of it, and nothing else is left undone.
#[test]
fn memory_may_panic_when_it_is_dropped() {
    within("broken memory".to_owned(), || {
        static DROPPED: AtomicUsize = AtomicUsize::new(0);
        let panics: Hook = Arc::new(|| {
            DROPPED.fetch_add(1, Ordering::SeqCst);
            panic!("the memory is broken");
        });
        let (devices, lose) = own(2 * BYTES, panics);
        let_go(&devices, &lose);
        assert_eq!(DROPPED.load(Ordering::SeqCst), 6);
    });
}

/// There is room when it is dropped: a task that has no other side does not fail before that.
#[test]
fn who_needs_the_room_waits_for_the_drop() {
    within("slow memory".to_owned(), || {
        static GATE: Gate = Gate::new();
        let (devices, _lose) = own(BYTES, Arc::new(|| GATE.pass()));
        let old = buffer();
        add(&devices, &STEP, &ADD_ONE, &old);
        assert_eq!(old.read()[..], [2; LEN]);
        let closed = GATE.close();
        thread::scope(|scope| {
            scope.spawn(|| drop(old));
            closed.wait();
            let new = buffer();
            scope.spawn(move || {
                add(&devices, &STEP, &ADD_ONE, &new);
                assert_eq!(new.read()[..], [2; LEN]);
            });
            thread::sleep(Duration::from_millis(50));
            drop(closed);
        });
    });
}
