//! Graphviz' language.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::drawing::{Drawing, heat, ink};

/// Within quotes.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// Everything before the last slash.
fn group(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(group, _)| group)
}

pub(super) fn write(drawing: &Drawing) -> String {
    let mut dot = String::from("digraph network {\n  rankdir=LR;\n");
    dot += "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n";
    dot += "  edge [fontname=\"sans-serif\", fontsize=10];\n";
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, node) in drawing.nodes.iter().enumerate() {
        groups.entry(group(&node.name)).or_default().push(index);
    }
    // Writing to a string does not fail.
    for (number, (group, members)) in groups.iter().enumerate() {
        if !group.is_empty() {
            let _ = writeln!(
                dot,
                "  subgraph cluster_{number} {{\n  label={};",
                quoted(group)
            );
        }
        for &index in members {
            let node = &drawing.nodes[index];
            let text = match node.label.as_str() {
                "" => node.name.clone(),
                label => format!("{}\n{label}", node.name),
            };
            let text = quoted(&text).replace('\n', "\\n");
            let _ = writeln!(
                dot,
                "  p{index} [label={text}, fillcolor=\"{}\"];",
                heat(node.load)
            );
        }
        if !group.is_empty() {
            dot += "  }\n";
        }
    }
    for edge in &drawing.edges {
        let _ = writeln!(
            dot,
            "  p{} -> p{} [label={}, color=\"{}\", penwidth={:.1}];",
            edge.from,
            edge.to,
            quoted(&edge.label),
            ink(edge.load),
            1.0 + 3.0 * edge.load
        );
    }
    dot + "}\n"
}

#[cfg(test)]
mod tests {
    use super::super::drawing::tests::drawing;
    use super::*;

    #[test]
    fn names_are_quoted_and_groups_are_clusters() {
        let dot = write(&drawing(&[(0, 1), (1, 0)]));
        assert!(dot.contains(r#"p0 [label="group/n\"0<\n1 ms""#), "{dot}");
        assert!(
            dot.contains("subgraph cluster_0 {\n  label=\"group\";"),
            "{dot}"
        );
        assert!(dot.contains("p1 -> p0"), "{dot}");
        assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    }
}
