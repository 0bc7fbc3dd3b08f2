//! Where the nodes of a picture stand: in columns, so that most edges go from left to right.

/// Column and row of each node.
pub(super) struct Layout {
    pub(super) places: Vec<(usize, usize)>,
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Rounds of moving nodes towards their neighbours.
const SWEEPS: usize = 8;

impl Layout {
    pub(super) fn of(count: usize, edges: &[(usize, usize)]) -> Layout {
        let column = columns(count, &forward(count, edges));
        let columns = column.iter().max().map_or(0, |most| most + 1);
        let mut order = vec![Vec::new(); columns];
        for node in 0..count {
            order[column[node]].push(node);
        }
        let mut row = vec![0; count];
        number(&order, &mut row);
        let mut neighbours = vec![Vec::new(); count];
        for &(from, to) in edges {
            neighbours[from].push(to);
            neighbours[to].push(from);
        }
        for sweep in 0..SWEEPS {
            for at in 0..columns {
                let at = if sweep % 2 == 0 { at } else { columns - 1 - at };
                let middle = |&node: &usize| {
                    let near = &neighbours[node];
                    let sum: usize = near.iter().map(|&other| row[other]).sum();
                    match near.len() {
                        0 => row[node] as f64,
                        many => sum as f64 / many as f64,
                    }
                };
                let mut keyed: Vec<(f64, usize)> =
                    order[at].iter().map(|node| (middle(node), *node)).collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                order[at] = keyed.into_iter().map(|(_, node)| node).collect();
                number(&order[at..=at], &mut row);
            }
        }
        Layout {
            rows: order.iter().map(Vec::len).max().unwrap_or(0),
            places: (0..count).map(|node| (column[node], row[node])).collect(),
            columns,
        }
    }
}

fn number(order: &[Vec<usize>], row: &mut [usize]) {
    for column in order {
        for (at, &node) in column.iter().enumerate() {
            row[node] = at;
        }
    }
}

/// The edges without those that close a cycle, in the order of a search from the nodes that nothing
/// leads to.
fn forward(count: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut next = vec![Vec::new(); count];
    let mut is_led_to = vec![false; count];
    for &(from, to) in edges {
        next[from].push(to);
        is_led_to[to] |= from != to;
    }
    let mut kept = Vec::new();
    let mut begun = vec![false; count];
    let mut ended = vec![false; count];
    let starts = (0..count).filter(|&node| !is_led_to[node]).chain(0..count);
    for start in starts {
        if std::mem::replace(&mut begun[start], true) {
            continue;
        }
        // A node, and how many of its edges have been followed.
        let mut path = vec![(start, 0)];
        while let Some((node, followed)) = path.pop() {
            let Some(&to) = next[node].get(followed) else {
                ended[node] = true;
                continue;
            };
            path.push((node, followed + 1));
            if !begun[to] {
                begun[to] = true;
                kept.push((node, to));
                path.push((to, 0));
            } else if ended[to] {
                kept.push((node, to));
            }
        }
    }
    kept
}

/// The longest way to each node, along edges without a cycle.
fn columns(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut next = vec![Vec::new(); count];
    let mut missing = vec![0; count];
    for &(from, to) in edges {
        next[from].push(to);
        missing[to] += 1;
    }
    let mut column = vec![0; count];
    let mut ready: Vec<usize> = (0..count).filter(|&node| missing[node] == 0).collect();
    while let Some(node) = ready.pop() {
        for &to in &next[node] {
            column[to] = column[to].max(column[node] + 1);
            missing[to] -= 1;
            if missing[to] == 0 {
                ready.push(to);
            }
        }
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_a_row_and_a_ring_has_one_edge_back() {
        let chain = Layout::of(4, &[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(chain.places, [(0, 0), (1, 0), (2, 0), (3, 0)]);
        let ring = Layout::of(3, &[(0, 1), (1, 2), (2, 0)]);
        assert_eq!((ring.columns, ring.rows), (3, 1));
    }

    #[test]
    fn no_two_nodes_have_one_place() {
        let edges: Vec<_> = (0..100).map(|i| (i * 7 % 40, i * 11 % 40)).collect();
        let mut places = Layout::of(40, &edges).places;
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 40);
    }
}
