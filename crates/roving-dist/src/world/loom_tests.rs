//! The threads of one rank at its engine, and two ranks with a mailbox, under loom.

use std::sync::{Arc, Mutex};

use loom::thread;

use super::link::{FIRST_TAG, Link};
use super::plan::Plan;
use super::transport::{Packet, Transport};
use super::{local, record};
use crate::error::Error;
use crate::prim::explore_within;

/// Keeps what it is told to send. Its lock is none of loom's: the engine's is the one that is
/// explored.
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Transport for Kept {
    fn send_batch(&mut self, _: usize, batch: &mut Vec<u8>) -> Result<(), Error> {
        let bytes = std::mem::take(batch);
        let mut rest = &bytes[..];
        while let Some((_, bytes)) = record::split(&mut rest) {
            self.0.lock().unwrap().extend(bytes);
        }
        Ok(())
    }

    fn send_bulk(&mut self, _: usize, _: u32, bytes: Vec<u8>) -> Result<(), Error> {
        self.0.lock().unwrap().extend(bytes);
        Ok(())
    }

    fn receive(&mut self, _: &mut Vec<(usize, Packet)>) -> Result<bool, Error> {
        Ok(false)
    }

    fn heard(&self, _: usize) -> u64 {
        0
    }

    fn keep(&mut self, _: Vec<u8>) {}

    fn is_sent(&mut self) -> Result<bool, Error> {
        Ok(true)
    }

    fn abort(&mut self, _: i32) {}

    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

fn link() -> (Arc<Link>, Arc<Mutex<Vec<u8>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let transport = Box::new(Kept(Arc::clone(&sent)));
    let link = Link::new((0, 2), transport, Arc::default(), false, true);
    (Arc::new(link), sent)
}

/// A thread that finds the engine taken leaves its message to the thread that has it.
#[test]
fn loom_no_message_stays_behind_where_the_engine_is_taken() {
    explore_within(Some(3), || {
        let (link, sent) = link();
        let there = Arc::clone(&link);
        let thread = thread::spawn(move || {
            there.send(1, FIRST_TAG, b"a");
            there.flush();
        });
        link.send(1, FIRST_TAG, b"b");
        link.flush();
        thread.join().unwrap();
        assert!(!link.is_faulty());
        let mut sent = sent.lock().unwrap().clone();
        sent.sort_unstable();
        assert_eq!(sent, b"ab");
    });
}

/// A message that is sent while another thread polls has left when both threads have gone their
/// ways.
#[test]
fn loom_no_message_stays_behind_who_polls() {
    explore_within(Some(3), || {
        let (link, sent) = link();
        let there = Arc::clone(&link);
        let thread = thread::spawn(move || there.poll());
        link.send(1, FIRST_TAG, b"b");
        link.flush();
        thread.join().unwrap();
        assert!(!link.is_faulty());
        assert_eq!(*sent.lock().unwrap(), b"b");
    });
}

/// A message of a rank to itself, while another thread calls the handlers, is left to that thread.
#[test]
fn loom_no_message_to_itself_stays_behind_who_handles_one() {
    explore_within(Some(3), || {
        let (link, _) = link();
        let handled = Arc::new(Mutex::new(Vec::<u8>::new()));
        let hears = Arc::clone(&handled);
        link.open(FIRST_TAG, move |_, bytes| {
            hears.lock().unwrap().extend(bytes)
        });
        link.poll();
        let there = Arc::clone(&link);
        let thread = thread::spawn(move || {
            there.send(0, FIRST_TAG, b"a");
            there.flush();
        });
        link.send(0, FIRST_TAG, b"b");
        link.flush();
        thread.join().unwrap();
        assert!(!link.is_faulty());
        let mut handled = handled.lock().unwrap().clone();
        handled.sort_unstable();
        assert_eq!(handled, b"ab");
    });
}

/// A sign of life that finds the engine taken has left before the handlers are called, which may
/// take long.
#[test]
fn loom_no_sign_of_life_waits_for_a_handler() {
    explore_within(Some(3), || {
        let (link, sent) = link();
        let there = Arc::clone(&link);
        let beats = thread::spawn(move || there.send_apart(1, FIRST_TAG, b"b"));
        let beats = Arc::new(Mutex::new(Some(beats)));
        let (long, left) = (Arc::clone(&beats), Arc::clone(&sent));
        let end = move || {
            let beats = long.lock().unwrap().take();
            if let Some(beats) = beats {
                beats.join().unwrap();
            }
            assert_eq!(*left.lock().unwrap(), b"b");
        };
        let handled = end.clone();
        link.open(FIRST_TAG, move |_, _| handled());
        link.send(0, FIRST_TAG, b"a");
        // It finds the engine taken where the other thread is faster.
        link.poll();
        end();
        link.poll();
        assert!(!link.is_faulty());
    });
}

/// The hint that a mailbox holds something may come late, and is not lost.
#[test]
fn loom_no_packet_stays_in_a_mailbox() {
    explore_within(Some(3), || {
        let mut ends = local::ends(&Plan::new(2));
        let (mut to, mut from) = (ends.remove(1), ends.remove(0));
        let mut got = Vec::new();
        let thread = thread::spawn(move || {
            for byte in 0..2 {
                from.send_bulk(1, FIRST_TAG, vec![byte]).unwrap();
            }
        });
        to.receive(&mut got).unwrap();
        thread.join().unwrap();
        to.receive(&mut got).unwrap();
        let bytes = got.iter().map(|(_, packet)| match packet {
            Packet::Bulk(_, bytes) | Packet::Batch(bytes) => &bytes[..],
        });
        assert_eq!(bytes.collect::<Vec<_>>(), [[0], [1]]);
    });
}
