//! A channel of a network across ranks, while it is built: what its type knows.

use std::sync::Arc;

use roving_flow::bridge::{Bridge, Side};
use serde::{Serialize, de::DeserializeOwned};

use super::incoming::{Incoming, IncomingOf};
use super::outgoing::{Outgoing, OutgoingOf};
use super::post::Post;

/// Whatever the tokens are.
pub(super) trait Joint: Send {
    /// Whether the port of that end has been dropped.
    fn is_gone(&self, side: Side) -> bool;
    /// What sends to the rank of the consumer.
    fn outgoing(&mut self, channel: u32, to: usize, post: &Arc<Post>) -> Option<Arc<dyn Outgoing>>;
    /// What receives from the rank of the producer.
    fn incoming(
        &mut self,
        channel: u32,
        from: usize,
        post: &Arc<Post>,
    ) -> Option<Arc<dyn Incoming>>;
}

/// For tokens of type `T`.
pub(super) struct JointOf<T> {
    pub(super) bridge: Bridge<T>,
    pub(super) capacity: Option<usize>,
}

impl<T: Serialize + DeserializeOwned + Send + 'static> Joint for JointOf<T> {
    fn is_gone(&self, side: Side) -> bool {
        self.bridge.is_gone(side)
    }

    fn outgoing(&mut self, channel: u32, to: usize, post: &Arc<Post>) -> Option<Arc<dyn Outgoing>> {
        let egress = self.bridge.egress()?;
        Some(OutgoingOf::new(channel, to, post, egress))
    }

    fn incoming(
        &mut self,
        channel: u32,
        from: usize,
        post: &Arc<Post>,
    ) -> Option<Arc<dyn Incoming>> {
        let ingress = self.bridge.ingress()?;
        Some(IncomingOf::new(channel, from, self.capacity, post, ingress))
    }
}
