//! A network as nodes and edges, and their colours: what all kinds of pictures begin with.

use std::collections::HashSet;

use crate::network::live::Queue;
use crate::report::{ChannelReport, ProcessAccount, ProcessReport, Report};

/// A drawing: its nodes and edges.
pub(super) struct Drawing {
    pub(super) nodes: Vec<DrawnNode>,
    pub(super) edges: Vec<Edge>,
}

pub(super) struct DrawnNode {
    pub(super) name: String,
    /// More about it, for a second line.
    pub(super) label: String,
    /// From 0 to 1, compared with the others.
    pub(super) load: f64,
}

pub(super) struct Edge {
    pub(super) name: String,
    pub(super) label: String,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) load: f64,
}

/// `value` as a share of the largest; 0 where that is 0.
fn share(value: f64, largest: f64) -> f64 {
    if largest > 0.0 { value / largest } else { 0.0 }
}

impl Drawing {
    pub(super) fn of(report: &Report) -> Drawing {
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
            nodes.push(DrawnNode::new("outside".to_owned(), None, 0.0));
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
    nodes: Vec<DrawnNode>,
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
                        .push(DrawnNode::new(stage.to_string(), stage.account, load));
                    all.inner.extend(stage.channels);
                }
                (None, Some(stage)) if index < end => stage.load = stage.load.max(load),
                (None, _) => {
                    let name = process.name.to_string();
                    all.nodes.push(DrawnNode::new(name, process.account, load));
                }
            }
            all.node_of.push(all.nodes.len() - 1);
        }
        all
    }
}

impl DrawnNode {
    fn new(name: String, account: Option<ProcessAccount>, load: f64) -> DrawnNode {
        DrawnNode {
            name,
            label: account.map_or(String::new(), |account| format!("{:.1?}", account.busy)),
            load,
        }
    }
}

/// From white (0) to red (1), as `#rrggbb`.
pub(super) fn heat(load: f64) -> String {
    let fade = |least: f64| (255.0 - (255.0 - least) * load.clamp(0.0, 1.0)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", fade(244.0), fade(96.0), fade(64.0))
}

/// Colour of a channel: from grey to red.
pub(super) fn ink(load: f64) -> String {
    let fade = |from: f64, to: f64| (from + (to - from) * load.clamp(0.0, 1.0)).round() as u8;
    let [red, green, blue] = [fade(150.0, 214.0), fade(150.0, 40.0), fade(150.0, 30.0)];
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::export) fn drawing(edges: &[(usize, usize)]) -> Drawing {
        let count = edges.iter().map(|&(a, b)| a.max(b) + 1).max().unwrap_or(1);
        let node = |index| DrawnNode {
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
