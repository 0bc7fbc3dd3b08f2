//! SVG.

use std::fmt::Write;

use super::drawing::{Drawing, heat, ink};
use super::layout::Layout;

const WIDTH: usize = 140;
const HEIGHT: usize = 40;
const GAP_ACROSS: usize = 110;
const GAP_DOWN: usize = 40;
const MARGIN: usize = 60;

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Upper left corner of a node.
fn corner((column, row): (usize, usize)) -> (usize, usize) {
    (
        MARGIN + column * (WIDTH + GAP_ACROSS),
        MARGIN + row * (HEIGHT + GAP_DOWN),
    )
}

pub(super) fn write(drawing: &Drawing) -> String {
    let ends: Vec<_> = drawing
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to))
        .collect();
    let layout = Layout::of(drawing.nodes.len(), &ends);
    let (width, height) = corner((layout.columns.max(1), layout.rows.max(1)));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" text-anchor=\"middle\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    // Texts after all lines, with a white rim: no line goes through one.
    let mut texts = String::new();
    // Writing to a string does not fail.
    for (number, edge) in drawing.edges.iter().enumerate() {
        let (from, to) = (layout.places[edge.from], layout.places[edge.to]);
        let (path, at) = way(corner(from), corner(to), number);
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.1}\" \
             marker-end=\"url(#tip)\"><title>{}</title></path>",
            ink(edge.load),
            1.0 + 3.0 * edge.load,
            escaped(&edge.name)
        );
        let _ = writeln!(
            texts,
            "<text x=\"{}\" y=\"{}\" font-size=\"10\" fill=\"#444\" stroke=\"white\" \
             stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
            at.0,
            at.1,
            escaped(&edge.label)
        );
    }
    for (node, &place) in drawing.nodes.iter().zip(&layout.places) {
        let (x, y) = corner(place);
        let (middle, name) = (x + WIDTH / 2, escaped(&node.name));
        let up = if node.label.is_empty() { 24 } else { 18 };
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\" \
             fill=\"{}\" stroke=\"#333\"/>\n\
             <text x=\"{middle}\" y=\"{}\">{name}</text>\n\
             <text x=\"{middle}\" y=\"{}\" font-size=\"10\" fill=\"#444\">{}</text>",
            heat(node.load),
            y + up,
            y + 32,
            escaped(&node.label)
        );
    }
    svg + &texts + "</svg>\n"
}

/// The curve from one node to another, and where its text stands. Edges between the same nodes have
/// their texts at different heights.
fn way(from: (usize, usize), to: (usize, usize), number: usize) -> (String, (usize, usize)) {
    let (x1, y1) = (from.0 + WIDTH, from.1 + HEIGHT / 2);
    let (x2, y2) = (to.0, to.1 + HEIGHT / 2);
    let shift = 12 * (number % 2);
    if x2 >= x1 {
        let middle = usize::midpoint(x1, x2);
        let path = format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}");
        return (
            path,
            (middle, usize::midpoint(y1, y2).saturating_sub(5) + shift),
        );
    }
    // Back, or within a column: around below.
    let low = y1.max(y2) + HEIGHT / 2 + GAP_DOWN / 2 + shift;
    let (right, left) = (x1 + GAP_ACROSS / 2, x2.saturating_sub(GAP_ACROSS / 2));
    let path = format!(
        "M{x1} {y1}C{right} {y1} {right} {low} {x1} {low}L{x2} {low}C{left} {low} {left} {y2} {x2} {y2}"
    );
    (path, (usize::midpoint(x1, x2), low.saturating_sub(4)))
}

#[cfg(test)]
mod tests {
    use super::super::drawing::tests::drawing;
    use super::*;

    #[test]
    fn each_node_and_edge_is_there_and_text_is_escaped() {
        let svg = write(&drawing(&[(0, 1), (1, 2), (2, 0), (1, 1)]));
        assert_eq!(svg.matches("rx=\"6\"").count(), 3);
        assert_eq!(svg.matches("marker-end").count(), 4);
        assert!(svg.contains("group/n&quot;0&lt;"), "{svg}");
        assert!(!svg.contains("n\"0"), "{svg}");
        // No line is drawn over a text.
        let first_text = svg.find(">c0: 1<").unwrap();
        assert!(svg.rfind("<path").unwrap() < first_text, "{svg}");
        assert!(svg.rfind("<rect").unwrap() < first_text, "{svg}");
    }
}
