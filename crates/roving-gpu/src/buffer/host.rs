//! The copy of a buffer on the host, as bytes for back-ends.

use std::any::Any;

use super::element::Element;
use crate::backend::{HostBytes, HostBytesMut};

/// The copy on the host.
pub(super) struct Host<T>(pub(super) Vec<T>);

impl<T: Element> Clone for Host<T> {
    fn clone(&self) -> Self {
        Host(self.0.clone())
    }
}

impl<T: Element> HostBytes for Host<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl<T: Element> HostBytesMut for Host<T> {
    fn bytes(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
