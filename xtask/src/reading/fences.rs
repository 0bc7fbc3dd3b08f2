//! Blocks of code in pages.

/// A fenced block in a page or a documentation comment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// Of its first line.
    pub(crate) line: usize,
    /// The text behind the backticks.
    pub(crate) info: String,
    pub(crate) body: Vec<String>,
}

impl Fence {
    /// Whether rustdoc compiles it.
    pub(crate) fn is_rust(&self) -> bool {
        let words = self.info.split([',', ' ']).filter(|word| !word.is_empty());
        const RUST: [&str; 6] = [
            "rust",
            "should_panic",
            "no_run",
            "compile_fail",
            "ignore",
            "edition2024",
        ];
        words.into_iter().all(|word| RUST.contains(&word))
    }
}

/// The fenced blocks among these numbered lines.
pub(crate) fn fences<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Fence> {
    let mut found: Vec<Fence> = Vec::new();
    let mut open: Option<usize> = None;
    for (line, text) in lines {
        let trimmed = text.trim_start();
        let ticks = trimmed.bytes().take_while(|byte| *byte == b'`').count();
        match open {
            None if ticks >= 3 => {
                open = Some(ticks);
                let info = trimmed[ticks..].trim().to_owned();
                found.push(Fence {
                    line,
                    info,
                    body: Vec::new(),
                });
            }
            Some(opened) if ticks >= opened && trimmed[ticks..].trim().is_empty() => open = None,
            Some(_) => {
                if let Some(fence) = found.last_mut() {
                    fence.body.push(text.to_owned());
                }
            }
            None => {}
        }
    }
    found
}
