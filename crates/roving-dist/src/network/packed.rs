//! A process between two steps as it is sent to another rank, or recorded in a checkpoint: its
//! state, and what its channels have.

use std::any::Any;
use std::task::{Context, Poll};

use roving_flow::raw::Side;

use super::carried::{Shelf, key};
use super::cut_state::ProcessRecord;
use super::parcel::Parcel;
use super::part::NetworkPart;

impl NetworkPart {
    /// Whether all that a process has sent has left, while it sends nothing.
    pub(super) fn poll_left(&self, process: u32, context: &Context<'_>) -> Poll<()> {
        let outputs = self.shape.outputs(process).iter();
        for outgoing in outputs.filter_map(|channel| self.outgoing(*channel)) {
            if outgoing.poll_left(context).is_pending() {
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }

    /// Packs a process whose ports lie on that shelf, to be sent itself, when all that it has sent
    /// has left. An error describes a port that is missing.
    pub(super) fn pack(
        &self,
        process: u32,
        number: u64,
        state: Vec<u8>,
        shelf: &mut Shelf,
    ) -> Result<Parcel, String> {
        let mut parcel = Parcel {
            process,
            number,
            state,
            layout: shelf.layout.iter().copied().collect(),
            outputs: Vec::new(),
            inputs: Vec::new(),
        };
        for &channel in self.shape.inputs(process) {
            let place = self.shape.channels()[channel as usize].halves.1;
            let port = shelf.ports.get_mut(&key(place as usize, Side::Consumer));
            if let Some(incoming) = self.incoming(channel) {
                let port: Option<&mut dyn Any> = port.map(|port| &mut **port as _);
                let input = incoming
                    .leave(port)
                    .ok_or_else(|| self.kept(channel, "moves"))?;
                parcel.inputs.push((channel, input));
            }
        }
        for &channel in self.shape.outputs(process) {
            let place = self.shape.channels()[channel as usize].halves.0;
            let port = shelf.ports.get_mut(&key(place as usize, Side::Producer));
            if let Some(outgoing) = self.outgoing(channel) {
                let port: Option<&mut dyn Any> = port.map(|port| &mut **port as _);
                let output = outgoing
                    .leave(port)
                    .ok_or_else(|| self.kept(channel, "moves"))?;
                parcel.outputs.push((channel, output));
            }
        }
        Ok(parcel)
    }

    /// Records a process whose ports lie on that shelf in the cut of that number, when all that it
    /// has sent has left. An error describes a port that is missing.
    pub(super) fn record(
        &self,
        process: u32,
        number: u32,
        state: Vec<u8>,
        shelf: &mut Shelf,
    ) -> Result<(), String> {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for &channel in self.shape.inputs(process) {
            let place = self.shape.channels()[channel as usize].halves.1;
            let port = shelf.ports.get_mut(&key(place as usize, Side::Consumer));
            let Some(incoming) = self.incoming(channel) else {
                continue;
            };
            let closed = match port {
                Some(port) => incoming.record(&mut **port, number),
                None if incoming.has_port() => return Err(self.kept(channel, "is recorded")),
                None => Some(incoming.record_gone(number)),
            };
            inputs.push((channel, closed));
        }
        for &channel in self.shape.outputs(process) {
            let place = self.shape.channels()[channel as usize].halves.0;
            let port = shelf.ports.get(&key(place as usize, Side::Producer));
            let Some(outgoing) = self.outgoing(channel) else {
                continue;
            };
            let output = outgoing.record();
            if port.is_none() && outgoing.has_port() {
                return Err(self.kept(channel, "is recorded"));
            }
            if let Some(output) = output {
                self.mark(channel, number, output.sent);
            }
            outputs.push((channel, output));
        }
        let layout = shelf.layout.iter().copied().collect();
        let record = ProcessRecord {
            process,
            body: Some((state, layout)),
            outputs,
        };
        self.recorded(record, inputs);
        Ok(())
    }

    /// The complaint about a process that has a port that it does not return.
    fn kept(&self, channel: u32, what: &str) -> String {
        format!(
            "it has kept its port of channel `{}`, and {what}: a step returns all ports that it does not drop",
            self.shape.channel(channel)
        )
    }
}
