//! Ports that a movable process is given.

use std::any::Any;

use roving_flow::{In, Out, Ports};

/// The ports of a process that can move: [`In`], [`Out`], and tuples, arrays, vectors, boxes and options of these.
///
/// ```
/// use roving_flow::{In, Out};
///
/// fn are_movable<P: roving_dist::MovablePorts>() {}
/// are_movable::<(In<u32>, Vec<Out<String>>, Option<In<()>>)>();
/// ```
pub trait MovablePorts: Ports {
    /// Calls `each` with each port, in the order in which [`Ports`] shows them.
    #[doc(hidden)]
    fn each(&mut self, each: &mut dyn FnMut(&mut dyn Any));
}

impl<T: 'static> MovablePorts for In<T> {
    fn each(&mut self, each: &mut dyn FnMut(&mut dyn Any)) {
        each(self);
    }
}

impl<T: 'static> MovablePorts for Out<T> {
    fn each(&mut self, each: &mut dyn FnMut(&mut dyn Any)) {
        each(self);
    }
}

impl<P: MovablePorts, const N: usize> MovablePorts for [P; N] {
    fn each(&mut self, each: &mut dyn FnMut(&mut dyn Any)) {
        self.iter_mut().for_each(|port| port.each(each));
    }
}

impl<P: MovablePorts> MovablePorts for Vec<P> {
    fn each(&mut self, each: &mut dyn FnMut(&mut dyn Any)) {
        self.iter_mut().for_each(|port| port.each(each));
    }
}

impl<P: MovablePorts> MovablePorts for Box<P> {
    fn each(&mut self, each: &mut dyn FnMut(&mut dyn Any)) {
        P::each(self, each);
    }
}

impl<P: MovablePorts> MovablePorts for Option<P> {
    fn each(&mut self, each: &mut dyn FnMut(&mut dyn Any)) {
        self.iter_mut().for_each(|port| port.each(each));
    }
}

impl MovablePorts for () {
    fn each(&mut self, _: &mut dyn FnMut(&mut dyn Any)) {}
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: MovablePorts),+> MovablePorts for ($($name,)+) {
            fn each(&mut self, each: &mut dyn FnMut(&mut dyn Any)) {
                #[allow(non_snake_case, reason = "one variable for each type")]
                let ($($name,)+) = self;
                $($name.each(each);)+
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
