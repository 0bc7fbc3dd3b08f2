//! The seam below the public face: channels whose two processes are in different places, which a
//! crate that carries messages from one to the other builds its networks with. `roving-dist` stands
//! on it, and on the hidden `Placement::check`. Semantic versioning does not cover it: what is said
//! of [`roving::raw`] holds here, with its version.
//!
//! Such a channel is there in both places. Where its producer is, an [`Egress`] takes what is sent;
//! where its consumer is, an [`Ingress`] puts it in. Neither is a process: what a process does to
//! its channel calls their hook at once, in the place of that process.
//!
//! ```
//! use roving_flow::raw::{self, Bridge, DueWaker, Egress, Ingress, Side};
//! use roving_flow::{In, Network, Out};
//!
//! // The producer is here, and its consumer elsewhere.
//! let mut here = Network::new();
//! let (mut out, input, mut bridge): (_, _, Bridge<u32>) = raw::bridged(&mut here, "numbers", Some(2));
//! raw::each_port(&out, |channel, side, _| assert_eq!((channel, side), (0, Side::Producer)));
//! drop(input);
//! assert!(bridge.is_gone(Side::Consumer));
//! let mut egress: Egress<u32> = bridge.egress().expect("the consumer's end is free");
//! egress.hook(|| { /* there is something to take */ });
//! out.try_send(7)?;
//! let number = egress.take()?;
//! assert_eq!((egress.sent(), egress.known_taken(), egress.capacity()), ((1, false), 0, Some(2)));
//!
//! // There it is put in, in the place of the producer.
//! let mut there = Network::new();
//! let (out_there, mut input, mut bridge) = raw::bridged::<u32>(&mut there, "numbers", Some(2));
//! drop(out_there);
//! let mut ingress: Ingress<u32> = bridge.ingress().expect("the producer's end is free");
//! ingress.hook(|| { /* the consumer has taken something */ });
//! let due: DueWaker = ingress.give(number).expect("there is a consumer");
//! due.wake(); // where no lock is held: another executor's waker may run anything
//! assert_eq!((input.try_recv(), ingress.taken()), (Ok(7), (1, false)));
//!
//! // The producer hears of it, and has room for two again.
//! egress.taken_there(1).wake();
//! egress.grow(4).wake();
//! egress.reopen().wake();
//! assert!(!egress.is_stopped() && !ingress.is_stopped());
//!
//! // Both processes move on: the producer goes on counting where it was, and so does the consumer.
//! raw::forget_room(&mut out);
//! egress.resume(9, 8, Some(4)).wake();
//! assert_eq!(raw::take_unread(&mut input), None);
//! ingress.resume(8);
//! assert_eq!((egress.sent().0, ingress.taken().0), (9, 8));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a network says of itself, and how several that wait for each other are judged:
//!
//! ```
//! use roving_flow::raw::{self, Inside, Side, Verdict, Waiting};
//! use roving_flow::Network;
//!
//! let mut network = Network::new();
//! let (mut out, mut input) = network.bounded::<u32>("numbers", 1);
//! let inside: Inside = raw::inside(&network);
//! raw::metered(&mut network);
//! raw::at_rest(&mut network, || { /* only somebody else can let it go on */ });
//! raw::beside(&mut network, async { /* a task that is no process */ });
//! network.process("sends", (), async move |()| _ = out.send(1).await);
//! network.process("takes", (), async move |()| assert_eq!(input.recv().await, Some(1)));
//! let canceller = network.canceller();
//! network.run(&roving::Pool::new(1)?)?;
//! assert!(raw::cancel(&canceller).is_empty(), "too late");
//! raw::fence(std::sync::atomic::Ordering::SeqCst); // what was given is seen before anybody asks
//! inside.has_given();
//! inside.look();
//! inside.grow(0, 1, 2);
//! assert!(inside.is_over() && !inside.is_stopped() && inside.is_kahn_network());
//! assert!(inside.waits().is_empty() && inside.failed_so_far().is_none());
//! assert_eq!(inside.spent().len(), 2);
//! assert!(inside.messages().is_empty(), "the channel is gone");
//! let _a_hint: bool = inside.has_writers();
//!
//! // Process 0 waits for room in channel 0, and process 1 for a message in channel 1.
//! let wait = |process, target, side| Waiting {
//!     process,
//!     channel: process,
//!     side,
//!     target: Some(target),
//!     capacity: Some(1),
//!     sent: 1,
//!     taken: 0,
//! };
//! let waits = [wait(0, 1, Side::Producer), wait(1, 0, Side::Consumer)];
//! let stuck = raw::stuck(&waits);
//! let grows = Verdict::Grow { channel: 0, from: 1, to: 2 };
//! assert_eq!((stuck.len(), raw::verdicts(&stuck, None)), (2, vec![grows]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Which processes move to another place, by what they have taken so far:
//!
//! ```
//! use std::time::Duration;
//! use roving_flow::Placement;
//! use roving_flow::raw::{Across, Figures};
//!
//! let mut policy = Across::new(&Placement::partitioned(), vec![(0, 1)], vec![true; 2], 2)
//!     .expect("a placement by parts");
//! let figures = Figures {
//!     at: Duration::from_millis(1),
//!     workers: 2,
//!     processes: vec![(Duration::ZERO, false); 2],
//!     messages: vec![0],
//!     looks: Duration::ZERO,
//! };
//! assert_eq!(policy.look(&[0, 1], &figures), None, "nothing has been seen yet");
//! ```

mod ends;
mod inside;
mod verdict;

use std::sync::Arc;

use crate::channel::words::ChannelEnd;
use crate::network::Network;
use crate::port::Ports;
use crate::port::sealed::Visitor;

pub use crate::machine::prim::fence;
pub use crate::machine::unwind::DueWaker;
pub use crate::placement::{Across, Figures};
pub use ends::{Bridge, Egress, Ingress, bridged, forget_room, take_unread};
pub use inside::{Inside, at_rest, beside, cancel, inside, metered};
pub use verdict::{Verdict, Waiting, stuck, verdicts};

/// An end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// That of the process that sends.
    Producer,
    /// That of the process that receives.
    Consumer,
}

impl Side {
    pub(crate) fn of(end: ChannelEnd) -> Side {
        match end {
            ChannelEnd::Reader => Side::Consumer,
            ChannelEnd::Writer => Side::Producer,
        }
    }

    fn end(self) -> ChannelEnd {
        match self {
            Side::Producer => ChannelEnd::Writer,
            Side::Consumer => ChannelEnd::Reader,
        }
    }
}

/// Calls `each` with the channel index of each of these ports, its side, and the
/// address of its network.
pub fn each_port<P: Ports + ?Sized>(ports: &P, mut each: impl FnMut(usize, Side, usize)) {
    ports.visit(&mut Visitor(&mut |words, end| {
        let address = Arc::as_ptr(words.shared()).addr();
        each(words.index(), Side::of(end), address);
    }));
}

/// Returns an address that no other network has while there is a port of this one.
///
/// ```
/// use roving_flow::raw::{address_of, each_port};
///
/// let mut network = roving_flow::Network::new();
/// let (out, _input) = network.channel::<u32>("numbers");
/// each_port(&out, |_, _, address| assert_eq!(address, address_of(&network)));
/// ```
pub fn address_of(network: &Network<'_>) -> usize {
    Arc::as_ptr(&network.shared).addr()
}
