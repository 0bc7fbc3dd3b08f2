//! The builder of a network, as a program sees it: on one rank, or across several.

use std::fmt::Display;

#[cfg(feature = "dist")]
use roving_dist::MovablePorts;
use roving_flow::{In, Out, Ports};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The ports of a process that may move; without ranks, any.
#[cfg(not(feature = "dist"))]
pub(crate) trait MovablePorts: Ports {}

#[cfg(not(feature = "dist"))]
impl<P: Ports> MovablePorts for P {}

/// A message that may go from rank to rank.
pub(crate) trait Token: Serialize + DeserializeOwned + Send + 'static {}

impl<T: Serialize + DeserializeOwned + Send + 'static> Token for T {}

/// The body of a process that runs all its steps where it is.
async fn all_steps<P, S, Fut>(state: S, ports: P, mut step: impl FnMut(S, P) -> Fut)
where
    Fut: Future<Output = Option<(S, P)>>,
{
    let mut now = Some((state, ports));
    while let Some((state, ports)) = now {
        now = step(state, ports).await;
    }
}

/// A network that is built.
pub(crate) trait Builder<'env> {
    /// A channel in which so many messages may lie.
    fn bounded<T: Token>(&mut self, name: impl Display, capacity: usize) -> (Out<T>, In<T>);

    /// A process.
    fn process<P, F, Fut>(&mut self, name: impl Display, ports: P, body: F)
    where
        P: Ports + Send + 'env,
        F: FnOnce(P) -> Fut + Send + 'env,
        Fut: Future<Output = ()> + Send + 'env;

    /// A process on the first rank: one that keeps what was found, or has a file. On one rank it is
    /// as any other.
    fn first<P, F, Fut>(&mut self, name: impl Display, ports: P, body: F)
    where
        P: Ports + Send + 'env,
        F: FnOnce(P) -> Fut + Send + 'env,
        Fut: Future<Output = ()> + Send + 'env,
    {
        self.process(name, ports, body);
    }

    /// Whether processes are to be made by [`Self::movable`] where they can.
    fn may_move(&self) -> bool {
        false
    }

    /// A process by steps, which may move from rank to rank.
    fn movable<P, S, F, Fut>(&mut self, name: impl Display, ports: P, state: S, step: F)
    where
        P: MovablePorts + Send + 'env,
        S: Token,
        F: FnMut(S, P) -> Fut + Send + 'env,
        Fut: Future<Output = Option<(S, P)>> + Send + 'env,
    {
        self.process(name, ports, |ports| all_steps(state, ports, step));
    }

    /// A process by steps that is at first on the first rank, as [`Self::first`].
    fn first_movable<P, S, F, Fut>(&mut self, name: impl Display, ports: P, state: S, step: F)
    where
        P: MovablePorts + Send + 'env,
        S: Token,
        F: FnMut(S, P) -> Fut + Send + 'env,
        Fut: Future<Output = Option<(S, P)>> + Send + 'env,
    {
        self.movable(name, ports, state, step);
    }

    /// Processes that share the messages of a channel, and keep their order.
    fn stage<T, U, F>(&mut self, name: impl Display, k: usize, input: In<T>, out: Out<U>, f: F)
    where
        T: Token,
        U: Token,
        F: FnMut(T) -> U + Clone + Send + 'env;
}

impl<'env> Builder<'env> for roving_flow::Network<'env> {
    fn bounded<T: Token>(&mut self, name: impl Display, capacity: usize) -> (Out<T>, In<T>) {
        self.bounded(name, capacity)
    }

    fn process<P, F, Fut>(&mut self, name: impl Display, ports: P, body: F)
    where
        P: Ports + Send + 'env,
        F: FnOnce(P) -> Fut + Send + 'env,
        Fut: Future<Output = ()> + Send + 'env,
    {
        self.process(name, ports, body);
    }

    fn stage<T, U, F>(&mut self, name: impl Display, k: usize, input: In<T>, out: Out<U>, f: F)
    where
        T: Token,
        U: Token,
        F: FnMut(T) -> U + Clone + Send + 'env,
    {
        self.stage(name, k, input, out, f);
    }
}

/// A network across ranks.
#[cfg(feature = "dist")]
pub(crate) struct Across<'n, 'env> {
    pub(crate) network: &'n mut roving_dist::Network<'env>,
    pub(crate) may_move: bool,
}

#[cfg(feature = "dist")]
impl<'env> Builder<'env> for Across<'_, 'env> {
    fn bounded<T: Token>(&mut self, name: impl Display, capacity: usize) -> (Out<T>, In<T>) {
        self.network.bounded(name, capacity)
    }

    fn process<P, F, Fut>(&mut self, name: impl Display, ports: P, body: F)
    where
        P: Ports + Send + 'env,
        F: FnOnce(P) -> Fut + Send + 'env,
        Fut: Future<Output = ()> + Send + 'env,
    {
        self.network.process(name, ports, body);
    }

    fn first<P, F, Fut>(&mut self, name: impl Display, ports: P, body: F)
    where
        P: Ports + Send + 'env,
        F: FnOnce(P) -> Fut + Send + 'env,
        Fut: Future<Output = ()> + Send + 'env,
    {
        self.network.pin(&name, 0);
        self.network.process(name, ports, body);
    }

    fn may_move(&self) -> bool {
        self.may_move
    }

    fn movable<P, S, F, Fut>(&mut self, name: impl Display, ports: P, state: S, step: F)
    where
        P: MovablePorts + Send + 'env,
        S: Token,
        F: FnMut(S, P) -> Fut + Send + 'env,
        Fut: Future<Output = Option<(S, P)>> + Send + 'env,
    {
        match self.may_move {
            true => self.network.movable(name, ports, state, step),
            false => self.process(name, ports, |ports| all_steps(state, ports, step)),
        }
    }

    fn first_movable<P, S, F, Fut>(&mut self, name: impl Display, ports: P, state: S, step: F)
    where
        P: MovablePorts + Send + 'env,
        S: Token,
        F: FnMut(S, P) -> Fut + Send + 'env,
        Fut: Future<Output = Option<(S, P)>> + Send + 'env,
    {
        self.network.pin(&name, 0);
        self.movable(name, ports, state, step);
    }

    fn stage<T, U, F>(&mut self, name: impl Display, k: usize, input: In<T>, out: Out<U>, f: F)
    where
        T: Token,
        U: Token,
        F: FnMut(T) -> U + Clone + Send + 'env,
    {
        self.network.stage(name, k, input, out, f);
    }
}
