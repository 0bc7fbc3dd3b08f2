//! Ports that a movable process is given, and how they are laid aside where it is not.

use std::any::Any;
use std::collections::{HashMap, VecDeque};

use roving_flow::raw::{Side, each_port};
use roving_flow::{In, Out, Ports};

use sealed::Sealed;

/// The ports of a process that can move: [`In`], [`Out`], and tuples, arrays, vectors, boxes and
/// options of these.
///
/// ```
/// use roving_flow::{In, Out};
///
/// fn are_movable<P: roving_dist::MovablePorts>() {}
/// are_movable::<(In<u32>, Vec<Out<String>>, Option<In<()>>)>();
/// ```
///
/// The trait is sealed: another crate can ask for it, and cannot implement it.
///
/// ```compile_fail,E0277
/// struct Mine;
/// impl roving_dist::MovablePorts for Mine {}
/// ```
pub trait MovablePorts: Ports + Sealed {}

/// The methods of [`MovablePorts`]: out of the reach of other crates, which so cannot implement it.
pub(crate) mod sealed {
    use crate::network::carried::Shelf;

    pub trait Sealed: Sized {
        /// Puts each port on the shelf, and says how they stood.
        fn put_away(self, shelf: &mut Shelf);
        /// Takes ports as they stood elsewhere. None where there is another structure of ports.
        fn take_back(shelf: &mut Shelf) -> Option<Self>;
    }
}

/// The ports of a process that is elsewhere. A process may let ports change places and drop some,
/// so their layout is recorded.
#[doc(hidden)]
pub struct Shelf {
    pub(super) ports: HashMap<Key, Box<dyn Any + Send>>,
    /// Keys, and lengths of what holds as many as it likes.
    pub(super) layout: VecDeque<u64>,
    /// The addresses of the networks of the ports that the process is given.
    own: HashMap<Key, usize>,
    /// One that is not among these came instead, and has been dropped.
    is_strange: bool,
}

/// A port: the place of its channel in a rank's network, and its side there.
pub(super) type Key = u64;

pub(super) fn key(place: usize, side: Side) -> Key {
    (place as u64) << 1 | u64::from(side == Side::Producer)
}

/// The place of a key.
pub(super) fn place_of(key: Key) -> usize {
    (key >> 1) as usize
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}

/// A step has returned ports that are not those of its process, or fewer or more in one place.
pub(super) const STRANGE_PORTS: &str = "it returns other ports than those that it was given";

impl Shelf {
    /// An empty shelf for these ports and no others.
    pub(super) fn of(ports: &impl Ports) -> Shelf {
        let mut own = HashMap::new();
        each_port(ports, |place, side, address| {
            own.insert(key(place, side), address);
        });
        Shelf {
            ports: HashMap::new(),
            layout: VecDeque::new(),
            own,
            is_strange: false,
        }
    }

    /// Lays ports aside, as they stand. An error where they are not all ports of this shelf.
    pub(super) fn fill(&mut self, ports: impl MovablePorts) -> Result<(), &'static str> {
        self.layout.clear();
        ports.put_away(self);
        match std::mem::take(&mut self.is_strange) {
            false => Ok(()),
            true => Err(STRANGE_PORTS),
        }
    }

    fn put<P: Ports + Send + 'static>(&mut self, port: P) {
        let mut of_port = (0, 0);
        each_port(&port, |place, side, address| {
            of_port = (key(place, side), address);
        });
        let (key, address) = of_port;
        if self.own.get(&key) != Some(&address) {
            self.is_strange = true;
            return;
        }
        self.layout.push_back(key);
        self.ports.insert(key, Box::new(port));
    }

    fn take<P: Any>(&mut self) -> Option<P> {
        let key = self.layout.pop_front()?;
        let port = self.ports.remove(&key)?.downcast::<P>().ok()?;
        Some(*port)
    }
}

impl<T: Send + 'static> MovablePorts for In<T> {}
impl<T: Send + 'static> Sealed for In<T> {
    fn put_away(self, shelf: &mut Shelf) {
        shelf.put(self);
    }

    fn take_back(shelf: &mut Shelf) -> Option<Self> {
        shelf.take()
    }
}

impl<T: Send + 'static> MovablePorts for Out<T> {}
impl<T: Send + 'static> Sealed for Out<T> {
    fn put_away(self, shelf: &mut Shelf) {
        shelf.put(self);
    }

    fn take_back(shelf: &mut Shelf) -> Option<Self> {
        shelf.take()
    }
}

impl<P: MovablePorts, const N: usize> MovablePorts for [P; N] {}
impl<P: MovablePorts, const N: usize> Sealed for [P; N] {
    fn put_away(self, shelf: &mut Shelf) {
        self.into_iter().for_each(|port| port.put_away(shelf));
    }

    fn take_back(shelf: &mut Shelf) -> Option<Self> {
        let ports: Option<Vec<P>> = (0..N).map(|_| P::take_back(shelf)).collect();
        ports?.try_into().ok()
    }
}

impl<P: MovablePorts> MovablePorts for Vec<P> {}
impl<P: MovablePorts> Sealed for Vec<P> {
    fn put_away(self, shelf: &mut Shelf) {
        shelf.layout.push_back(self.len() as u64);
        self.into_iter().for_each(|port| port.put_away(shelf));
    }

    fn take_back(shelf: &mut Shelf) -> Option<Self> {
        let length = shelf.layout.pop_front()?;
        (0..length).map(|_| P::take_back(shelf)).collect()
    }
}

impl<P: MovablePorts> MovablePorts for Box<P> {}
impl<P: MovablePorts> Sealed for Box<P> {
    fn put_away(self, shelf: &mut Shelf) {
        P::put_away(*self, shelf);
    }

    fn take_back(shelf: &mut Shelf) -> Option<Self> {
        P::take_back(shelf).map(Box::new)
    }
}

impl<P: MovablePorts> MovablePorts for Option<P> {}
impl<P: MovablePorts> Sealed for Option<P> {
    fn put_away(self, shelf: &mut Shelf) {
        shelf.layout.push_back(u64::from(self.is_some()));
        if let Some(port) = self {
            port.put_away(shelf);
        }
    }

    fn take_back(shelf: &mut Shelf) -> Option<Self> {
        match shelf.layout.pop_front()? {
            0 => Some(None),
            _ => P::take_back(shelf).map(Some),
        }
    }
}

impl MovablePorts for () {}
impl Sealed for () {
    fn put_away(self, _: &mut Shelf) {}

    fn take_back(_: &mut Shelf) -> Option<Self> {
        Some(())
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: MovablePorts),+> MovablePorts for ($($name,)+) {}
        impl<$($name: MovablePorts),+> Sealed for ($($name,)+) {
            fn put_away(self, shelf: &mut Shelf) {
                #[allow(non_snake_case, reason = "one variable for each type")]
                let ($($name,)+) = self;
                $($name.put_away(shelf);)+
            }

            fn take_back(shelf: &mut Shelf) -> Option<Self> {
                Some(($($name::take_back(shelf)?,)+))
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
