//! A channel of a network across ranks, while it is built: what its type knows.

use std::any::Any;
use std::sync::Arc;

use roving_flow::raw::{Bridge, Side};
use roving_flow::{In, Out};
use serde::{Serialize, de::DeserializeOwned};

use super::incoming::{Incoming, IncomingOf};
use super::outgoing::{Outgoing, OutgoingOf};
use super::post::Post;

/// Whatever the tokens are.
pub(super) trait Joint: Send {
    /// Whether the port of that end has been dropped.
    fn is_gone(&self, side: Side) -> bool;
    /// Makes two channels of it, so that there is one between each port and the other rank also
    /// where that rank is the same: puts a port of a second channel into the place of `port`. False
    /// when that was done before.
    fn split(
        &mut self,
        flow: &mut roving_flow::Network<'_>,
        name: &str,
        port: &mut dyn Any,
    ) -> Option<Side>;
    /// Creates the producer's part, which sends to the rank of the consumer; the ranks are those of
    /// producer and consumer.
    fn outgoing(
        &mut self,
        channel: u32,
        way: (usize, usize),
        post: &Arc<Post>,
    ) -> Option<Arc<dyn Outgoing>>;
    /// Creates the consumer's part, which receives from the rank of the producer.
    fn incoming(
        &mut self,
        channel: u32,
        way: (usize, usize),
        post: &Arc<Post>,
    ) -> Option<Arc<dyn Incoming>>;
}

/// For tokens of type `T`.
pub(super) struct JointOf<T> {
    /// The producer's channel, and the consumer's as well unless that is another one.
    pub(super) bridge: Bridge<T>,
    /// The consumer's channel, where it is another one.
    pub(super) second: Option<Bridge<T>>,
    pub(super) capacity: Option<usize>,
}

impl<T: Serialize + DeserializeOwned + Send + 'static> Joint for JointOf<T> {
    fn is_gone(&self, side: Side) -> bool {
        match (side, &self.second) {
            (Side::Consumer, Some(second)) => second.is_gone(side),
            _ => self.bridge.is_gone(side),
        }
    }

    fn split(
        &mut self,
        flow: &mut roving_flow::Network<'_>,
        name: &str,
        port: &mut dyn Any,
    ) -> Option<Side> {
        if self.second.is_some() {
            return None;
        }
        let (out, input, bridge) = roving_flow::raw::bridged::<T>(flow, name, self.capacity);
        if let Some(port) = port.downcast_mut::<In<T>>() {
            *port = input;
            self.second = Some(bridge);
            return Some(Side::Consumer);
        }
        *port.downcast_mut::<Out<T>>()? = out;
        self.second = Some(std::mem::replace(&mut self.bridge, bridge));
        Some(Side::Producer)
    }

    fn outgoing(
        &mut self,
        channel: u32,
        way: (usize, usize),
        post: &Arc<Post>,
    ) -> Option<Arc<dyn Outgoing>> {
        let egress = self.bridge.egress()?;
        Some(OutgoingOf::new(channel, way, post, egress))
    }

    fn incoming(
        &mut self,
        channel: u32,
        way: (usize, usize),
        post: &Arc<Post>,
    ) -> Option<Arc<dyn Incoming>> {
        let ingress = match &mut self.second {
            None => self.bridge.ingress()?,
            Some(second) => second.ingress()?,
        };
        let ends = (ingress, self.second.take());
        Some(IncomingOf::new(channel, way, self.capacity, post, ends))
    }
}
