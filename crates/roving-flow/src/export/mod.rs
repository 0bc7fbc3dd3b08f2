//! Pictures of a network: Graphviz' language, and SVG of our own.
//!
//! Processes are coloured by the time that they ran, channels by the messages that went through. A
//! channel in which messages were left says how many. A stage is one node.

mod dot;
mod layout;
mod svg;

use std::collections::HashSet;

use crate::live::Queue;
use crate::report::{ChannelReport, ProcessAccount, ProcessReport, Report};

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
        let Nodes {
            mut nodes,
            node_of,
            inner,
        } = Nodes::of(report);
        let outside = nodes.len();
        let is_used = |one: &ChannelReport| one.producer.is_some() || one.consumer.is_some();
        let channels = report.channels().enumerate();
        let channels = channels.filter(|(index, one)| is_used(one) && !inner.contains(index));
        let channels: Vec<ChannelReport> = channels.map(|(_, one)| one).collect();
        let is_opening = |one: &ChannelReport| one.producer.is_none() || one.consumer.is_none();
        if channels.iter().any(is_opening) {
            nodes.push(Node::new("outside".to_owned(), None, 0.0));
        }
        let node = |process: Option<usize>| process.map_or(outside, |process| node_of[process]);
        let most = channels.iter().map(|one| one.messages).max().unwrap_or(0);
        let edges = channels.iter().map(|one| Edge {
            name: one.name.to_string(),
            label: match Queue::from(one.clone()) {
                queue if queue.sent == queue.received => format!("{}: {}", one.name, one.messages),
                queue => format!("{}: {}, holds {queue}", one.name, one.messages),
            },
            from: node(one.producer),
            to: node(one.consumer),
            load: share(one.messages as f64, most as f64),
        });
        Drawing {
            edges: edges.collect(),
            nodes,
        }
    }
}

/// The nodes of a network: processes and stages.
#[derive(Default)]
struct Nodes {
    nodes: Vec<Node>,
    /// The node of each process.
    node_of: Vec<usize>,
    /// Channels inside of stages.
    inner: HashSet<usize>,
}

impl Nodes {
    /// A stage is one node, which is as busy as the busiest of its processes: that one sets the
    /// pace.
    fn of(report: &Report) -> Nodes {
        let busy = |process: &ProcessReport| {
            let account = process.account;
            account.map_or(0.0, |account| account.busy.as_secs_f64())
        };
        let busiest = report.processes().map(|one| busy(&one)).fold(0.0, f64::max);
        let mut all = Nodes::default();
        let mut stages = report.stages().peekable();
        // Behind the last process of the last node.
        let mut end = 0;
        for (index, process) in report.processes().enumerate() {
            let load = share(busy(&process), busiest);
            match (
                stages.next_if(|stage| stage.processes.start == index),
                all.nodes.last_mut(),
            ) {
                (Some(stage), _) => {
                    end = stage.processes.end;
                    all.nodes
                        .push(Node::new(stage.to_string(), stage.account, load));
                    all.inner.extend(stage.channels);
                }
                (None, Some(stage)) if index < end => stage.load = stage.load.max(load),
                (None, _) => {
                    let name = process.name.to_string();
                    all.nodes.push(Node::new(name, process.account, load));
                }
            }
            all.node_of.push(all.nodes.len() - 1);
        }
        all
    }
}

impl Node {
    fn new(name: String, account: Option<ProcessAccount>, load: f64) -> Node {
        Node {
            name,
            label: account.map_or(String::new(), |account| format!("{:.1?}", account.busy)),
            load,
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
