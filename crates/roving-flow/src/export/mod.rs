//! Pictures of a network: Graphviz' language, and SVG of our own.
//!
//! Processes are coloured by the time that they ran, channels by the messages that went through. A
//! channel in which messages were left says how many. A stage is one node.

mod dot;
mod drawing;
mod layout;
mod svg;

use drawing::Drawing;

use crate::report::Report;

impl Report {
    /// Draws the network in Graphviz' language, coloured by load and traffic. Groups are clusters.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut network = Network::new();
    /// network.accounting(true);
    /// let (out, input) = network.channel("numbers");
    /// network.source("source", out, 0..1000);
    /// network.sink("sink", input, |_| {});
    /// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// let dot = report.to_dot();
    /// assert!(dot.starts_with("digraph") && dot.contains("p0 -> p1"));
    /// ```
    pub fn to_dot(&self) -> String {
        dot::write(&Drawing::of(self))
    }

    /// Draws the network as an SVG picture, coloured by load and traffic. It needs no other
    /// program.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, input) = network.channel("numbers");
    /// network.source("source", out, 0..1000);
    /// network.sink("sink", input, |_| {});
    /// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// let svg = report.to_svg();
    /// assert!(svg.starts_with("<svg") && svg.contains(">source<") && svg.contains("numbers: 1000"));
    /// ```
    pub fn to_svg(&self) -> String {
        svg::write(&Drawing::of(self))
    }
}
