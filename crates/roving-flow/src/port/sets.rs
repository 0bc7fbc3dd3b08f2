//! The arguments of a process: any structure of ports.

use super::ports::{In, Out};
use crate::channel::words::ChannelEnd;
use sealed::{Sealed, Visitor};

/// Ports that a process is given, so that the network knows which process holds which end: [`In`],
/// [`Out`], and tuples, arrays, vectors and options of these. The closure of a process captures
/// everything else.
///
/// ```
/// use roving_flow::{In, Network, Out};
///
/// let mut network = Network::new();
/// let channels: Vec<(Out<u32>, In<u32>)> = (0..3).map(|i| network.channel(i)).collect();
/// let (outs, ins): (Vec<_>, Vec<_>) = channels.into_iter().unzip();
/// network.process("deal", outs, |outs: Vec<Out<u32>>| async move {
///     for (number, mut out) in (0..).zip(outs) {
///         out.send(number).await.unwrap();
///     }
/// });
/// network.process("add", (ins, None::<In<u32>>), |(ins, _): (Vec<In<u32>>, _)| async move {
///     let mut sum = 0;
///     for mut port in ins {
///         sum += port.recv().await.unwrap();
///     }
///     assert_eq!(sum, 3);
/// });
/// network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// ```
///
/// The trait is sealed: another crate can ask for it, and cannot implement it.
///
/// ```compile_fail,E0277
/// struct Mine;
/// impl roving_flow::Ports for Mine {}
/// ```
pub trait Ports: Sealed {}

/// The method of [`Ports`]: out of the reach of other crates, which so cannot implement it.
pub(crate) mod sealed {
    use crate::channel::words::{ChannelEnd, Words};

    pub trait Sealed {
        fn visit(&self, visitor: &mut Visitor<'_>);
    }

    /// The callback that [`Sealed::visit`] gives each port to.
    pub struct Visitor<'v>(pub(crate) &'v mut dyn FnMut(&Words, ChannelEnd));

    impl std::fmt::Debug for Visitor<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Visitor").finish_non_exhaustive()
        }
    }
}

impl<T> Ports for In<T> {}
impl<T> Sealed for In<T> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        (visitor.0)(self.words(), ChannelEnd::Reader);
    }
}

impl<T> Ports for Out<T> {}
impl<T> Sealed for Out<T> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        (visitor.0)(self.words(), ChannelEnd::Writer);
    }
}

impl<P: Ports> Ports for [P] {}
impl<P: Ports> Sealed for [P] {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        self.iter().for_each(|port| port.visit(visitor));
    }
}

impl<P: Ports, const N: usize> Ports for [P; N] {}
impl<P: Ports, const N: usize> Sealed for [P; N] {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        self.as_slice().visit(visitor);
    }
}

impl<P: Ports> Ports for Vec<P> {}
impl<P: Ports> Sealed for Vec<P> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        self.as_slice().visit(visitor);
    }
}

impl<P: Ports + ?Sized> Ports for Box<P> {}
impl<P: Ports + ?Sized> Sealed for Box<P> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        P::visit(self, visitor);
    }
}

impl<P: Ports> Ports for Option<P> {}
impl<P: Ports> Sealed for Option<P> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        self.iter().for_each(|port| port.visit(visitor));
    }
}

impl Ports for () {}
impl Sealed for () {
    fn visit(&self, _: &mut Visitor<'_>) {}
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: Ports),+> Ports for ($($name,)+) {}
        impl<$($name: Ports),+> Sealed for ($($name,)+) {
            fn visit(&self, visitor: &mut Visitor<'_>) {
                #[allow(non_snake_case)]
                let ($($name,)+) = self;
                $($name.visit(visitor);)+
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
