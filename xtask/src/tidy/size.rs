//! How long a function and a file may be.

use super::finding::Finding;
use crate::reading::RustFile;

/// Lines of code in a function, without comments and blank lines.
pub(crate) const FUNCTION_LINES_MAX: usize = 70;
/// Lines in a file, all of them.
pub(crate) const FILE_LINES_MAX: usize = 600;

pub(crate) fn check(source: &RustFile) -> Vec<Finding> {
    let mut found = Vec::new();
    let length = source.raw.len();
    if length > FILE_LINES_MAX {
        let text = format!("{length} lines; at most {FILE_LINES_MAX}: split the file by nouns");
        found.push(Finding::new(&source.path, FILE_LINES_MAX + 1, text));
    }
    for (line, name) in functions(source) {
        let column = source.code[line].find("fn ").unwrap_or(0);
        let Some(end) = source.end_of_block(line, column) else {
            continue;
        };
        let lines = source.code[line..end]
            .iter()
            .filter(|code| !code.trim().is_empty())
            .count();
        if lines > FUNCTION_LINES_MAX {
            let text = format!("fn {name} has {lines} lines of code; at most {FUNCTION_LINES_MAX}");
            found.push(Finding::new(&source.path, line + 1, text));
        }
    }
    found
}

/// The line (from 0) and the name of each function.
fn functions(source: &RustFile) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, code) in source.code.iter().enumerate() {
        for (at, _) in code.match_indices("fn ") {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let rest = code[at + 3..].trim_start();
            let name: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if !name.is_empty() {
                found.push((line, name));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str) -> Vec<String> {
        check(&RustFile::new("a.rs".into(), text))
            .into_iter()
            .map(|finding| finding.text)
            .collect()
    }

    fn function(code: usize, comments: usize) -> String {
        let body = "    work();\n".repeat(code - 2) + &"    // why\n\n".repeat(comments);
        format!("fn long(\n    a: [u8; 3]) -> u8 {{\n{body}}}\n").replace("(\n    a", "(a")
    }

    #[test]
    fn a_function_of_70_lines_may_stand_and_one_of_71_may_not() {
        assert!(check_text(&function(70, 100)).is_empty());
        assert_eq!(
            check_text(&function(71, 0)),
            ["fn long has 71 lines of code; at most 70"]
        );
    }

    #[test]
    fn methods_and_functions_inside_are_seen() {
        let inner = function(75, 0);
        let text = format!("impl A {{\n    pub(crate) const unsafe {inner}}}\n");
        assert_eq!(check_text(&text).len(), 1);
    }

    #[test]
    fn declarations_without_a_body_are_not_functions() {
        let text = format!(
            "trait A {{\n    fn a(&self);\n{}}}\n",
            "    const X: u8 = 1;\n".repeat(80)
        );
        assert!(check_text(&text).is_empty());
    }

    #[test]
    fn a_file_of_600_lines_may_stand_and_one_of_601_may_not() {
        assert!(check_text(&"// x\n".repeat(600)).is_empty());
        assert_eq!(check_text(&"// x\n".repeat(601)).len(), 1);
    }
}
