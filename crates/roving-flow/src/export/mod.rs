//! Pictures of a network: Graphviz' language, and SVG of our own.
//!
//! Processes are coloured by the time that they ran, channels by the messages that went through. A
//! channel in which messages were left says how many.

mod dot;
mod layout;
mod svg;

use crate::live::Queue;
use crate::report::{ChannelReport, ProcessReport, Report};

/// A drawing: its nodes and edges.
pub(crate) struct Drawing {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

struct Node {
    name: String,
    /// More about it, for a second line.
    label: String,
    /// From 0 to 1, compared with the others.
    load: f64,
}

struct Edge {
    name: String,
    label: String,
    from: usize,
    to: usize,
    load: f64,
}

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

/// `value` as a share of the largest; 0 where that is 0.
fn share(value: f64, largest: f64) -> f64 {
    if largest > 0.0 { value / largest } else { 0.0 }
}

impl Drawing {
    fn of(report: &Report) -> Drawing {
        let busy = |process: &ProcessReport| {
            let account = process.account;
            account.map_or(0.0, |account| account.busy.as_secs_f64())
        };
        let busiest = report.processes().map(|one| busy(&one)).fold(0.0, f64::max);
        let node = |process: ProcessReport| Node {
            name: process.name.to_string(),
            label: match process.account {
                Some(account) => format!("{:.1?}", account.busy),
                None => String::new(),
            },
            load: share(busy(&process), busiest),
        };
        let mut nodes: Vec<Node> = report.processes().map(node).collect();
        let outside = nodes.len();
        let is_used = |one: &ChannelReport| one.producer.is_some() || one.consumer.is_some();
        let channels: Vec<ChannelReport> = report.channels().filter(is_used).collect();
        let is_opening = |one: &ChannelReport| one.producer.is_none() || one.consumer.is_none();
        if channels.iter().any(is_opening) {
            nodes.push(Node {
                name: "outside".to_owned(),
                label: String::new(),
                load: 0.0,
            });
        }
        let most = channels.iter().map(|one| one.messages).max().unwrap_or(0);
        let edges = channels.iter().map(|one| Edge {
            name: one.name.to_string(),
            label: match Queue::from(one.clone()) {
                queue if queue.sent == queue.received => format!("{}: {}", one.name, one.messages),
                queue => format!("{}: {}, holds {queue}", one.name, one.messages),
            },
            from: one.producer.unwrap_or(outside),
            to: one.consumer.unwrap_or(outside),
            load: share(one.messages as f64, most as f64),
        });
        Drawing {
            edges: edges.collect(),
            nodes,
        }
    }
}

/// From white (0) to red (1), as `#rrggbb`.
fn heat(load: f64) -> String {
    let fade = |least: f64| (255.0 - (255.0 - least) * load.clamp(0.0, 1.0)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", fade(244.0), fade(96.0), fade(64.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn drawing(edges: &[(usize, usize)]) -> Drawing {
        let count = edges.iter().map(|&(a, b)| a.max(b) + 1).max().unwrap_or(1);
        let node = |index| Node {
            name: format!("group/n\"{index}<"),
            label: "1 ms".to_owned(),
            load: 0.5,
        };
        let edge = |(index, &(from, to)): (usize, &(usize, usize))| Edge {
            name: format!("c{index}"),
            label: format!("c{index}: 1"),
            from,
            to,
            load: 1.0,
        };
        Drawing {
            nodes: (0..count).map(node).collect(),
            edges: edges.iter().enumerate().map(edge).collect(),
        }
    }

    #[test]
    fn more_load_is_more_red() {
        assert_eq!(heat(0.0), "#ffffff");
        assert_eq!(heat(1.0), "#f46040");
        assert_eq!(heat(f64::NAN.max(0.0)), "#ffffff");
    }
}
