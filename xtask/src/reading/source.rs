//! A Rust file, split into what the compiler reads and what people read.

use std::path::{Path, PathBuf};

use crate::Result;

/// A Rust file, line by line. `code` and `comment` are as long as `raw`, so columns agree.
#[derive(Debug)]
pub(crate) struct RustFile {
    pub(crate) path: PathBuf,
    pub(crate) raw: Vec<String>,
    /// Comments are spaces; what stands in string and character literals is `"`.
    pub(crate) code: Vec<String>,
    /// Only the text of comments, without their markers; all else is spaces.
    pub(crate) comment: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LexState {
    Code,
    Line,
    Block(u32),
    Text,
    /// A raw string with this many `#`.
    Raw(usize),
}

impl RustFile {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self::new(path.to_owned(), &text))
    }

    pub(crate) fn new(path: PathBuf, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut code = bytes.to_vec();
        let mut comment = vec![b' '; bytes.len()];
        let mut state = LexState::Code;
        let mut at = 0;
        while at < bytes.len() {
            let step = match state {
                LexState::Code => enter(bytes, at, &mut code, &mut state),
                LexState::Line | LexState::Block(_) => {
                    comment_byte(bytes, at, &mut code, &mut comment, &mut state)
                }
                LexState::Text | LexState::Raw(_) => text_byte(bytes, at, &mut code, &mut state),
            };
            at += step;
        }
        for (index, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' {
                code[index] = b'\n';
                comment[index] = b'\n';
            }
        }
        let lines = |bytes: &[u8]| -> Vec<String> {
            String::from_utf8_lossy(bytes)
                .lines()
                .map(str::to_owned)
                .collect()
        };
        RustFile {
            path,
            raw: lines(bytes),
            code: lines(&code),
            comment: lines(&comment),
        }
    }

    /// The number of the line after the block that opens at or after `line`, by braces.
    /// `None` when a `;` comes first.
    pub(crate) fn end_of_block(&self, line: usize, column: usize) -> Option<usize> {
        let mut braces = 0_u32;
        let mut others = 0_u32;
        for (number, code) in self.code.iter().enumerate().skip(line) {
            let from = if number == line { column } else { 0 };
            for letter in code[from..].chars() {
                match letter {
                    '(' | '[' => others += 1,
                    ')' | ']' => others = others.saturating_sub(1),
                    ';' if braces == 0 && others == 0 => return None,
                    '{' => braces += 1,
                    '}' => {
                        braces = braces.saturating_sub(1);
                        if braces == 0 {
                            return Some(number + 1);
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// For each line, whether it belongs to a module of tests inside this file.
    pub(crate) fn test_lines(&self) -> Vec<bool> {
        let mut tests = vec![false; self.code.len()];
        for line in 0..self.code.len() {
            let attribute = self.code[line].trim_start();
            let test =
                attribute.starts_with("#[cfg(test)]") || attribute.starts_with("#[cfg(all(test");
            if !test || tests[line] {
                continue;
            }
            let Some(item) = (line + 1..self.code.len()).find(|at| {
                let code = self.code[*at].trim();
                !code.is_empty() && !code.starts_with("#[")
            }) else {
                continue;
            };
            if let Some(end) = self.end_of_block(item, 0) {
                tests[line..end].fill(true);
            }
        }
        tests
    }
}

/// One byte of code: stay, or enter a comment or a literal. Returns how far to go on.
fn enter(bytes: &[u8], at: usize, code: &mut [u8], state: &mut LexState) -> usize {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        *state = LexState::Line;
        let marker = rest
            .iter()
            .take_while(|byte| matches!(byte, b'/' | b'!'))
            .count();
        code[at..at + marker].fill(b' ');
        return marker;
    }
    if rest.starts_with(b"/*") {
        *state = LexState::Block(1);
        code[at..at + 2].fill(b' ');
        return 2;
    }
    let after_name = at > 0 && is_name(bytes[at - 1]);
    if rest[0] == b'"' {
        *state = LexState::Text;
        return 1;
    }
    if let (b'r' | b'b' | b'c', false) = (rest[0], after_name)
        && let Some((length, hashes)) = raw_start(rest)
    {
        *state = LexState::Raw(hashes);
        return length;
    }
    if rest[0] == b'\''
        && let Some(length) = character(rest)
    {
        code[at + 1..at + length - 1].fill(b'"');
        return length;
    }
    1
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The length of `r#"`, `br"` and the like, and how many `#` they have.
fn raw_start(rest: &[u8]) -> Option<(usize, usize)> {
    let prefix = rest
        .iter()
        .take_while(|byte| byte.is_ascii_lowercase())
        .count();
    if prefix > 2 || rest[prefix - 1] != b'r' {
        return None;
    }
    let hashes = rest[prefix..]
        .iter()
        .take_while(|byte| **byte == b'#')
        .count();
    (rest.get(prefix + hashes) == Some(&b'"')).then_some((prefix + hashes + 1, hashes))
}

/// The length of a character literal; `None` for a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        let end = rest.iter().skip(3).position(|byte| *byte == b'\'')?;
        return Some(end + 4);
    }
    let text = std::str::from_utf8(&rest[1..rest.len().min(6)]);
    let text = match text {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&rest[1..1 + error.valid_up_to()]).ok()?,
    };
    let mut letters = text.chars();
    let first = letters.next()?;
    (letters.next() == Some('\'')).then(|| first.len_utf8() + 2)
}

fn comment_byte(
    bytes: &[u8],
    at: usize,
    code: &mut [u8],
    comment: &mut [u8],
    state: &mut LexState,
) -> usize {
    let rest = &bytes[at..];
    match *state {
        LexState::Line if rest[0] == b'\n' => {
            *state = LexState::Code;
            return 1;
        }
        LexState::Block(depth) if rest.starts_with(b"*/") => {
            *state = if depth == 1 {
                LexState::Code
            } else {
                LexState::Block(depth - 1)
            };
            code[at..at + 2].fill(b' ');
            return 2;
        }
        LexState::Block(depth) if rest.starts_with(b"/*") => {
            *state = LexState::Block(depth + 1);
            code[at..at + 2].fill(b' ');
            return 2;
        }
        _ => {}
    }
    code[at] = b' ';
    comment[at] = bytes[at];
    1
}

fn text_byte(bytes: &[u8], at: usize, code: &mut [u8], state: &mut LexState) -> usize {
    let rest = &bytes[at..];
    match *state {
        LexState::Raw(hashes) => {
            let end = rest[0] == b'"' && rest[1..].iter().take(hashes).all(|byte| *byte == b'#');
            if end && rest.len() > hashes {
                *state = LexState::Code;
                return 1 + hashes;
            }
        }
        _ if rest[0] == b'"' => {
            *state = LexState::Code;
            return 1;
        }
        _ if rest[0] == b'\\' && rest.len() > 1 => {
            code[at..at + 2].fill(b'"');
            return 2;
        }
        _ => {}
    }
    code[at] = b'"';
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> RustFile {
        RustFile::new("a.rs".into(), text)
    }

    #[test]
    fn comments_and_literals_are_told_from_code() {
        let s = source("let a = \"unsafe // no\"; // unsafe yes\n/* x /* y */ z */ let b = 'u';\n");
        assert!(!s.code[0].contains("unsafe") && s.comment[0].contains("unsafe yes"));
        assert!(s.code[0].starts_with("let a = ") && s.code[0].contains("\"\"; "));
        assert_eq!(s.code[1].trim(), "let b = '\"';");
        assert!(s.comment[1].contains("y") && s.comment[1].contains("z"));
    }

    #[test]
    fn columns_agree() {
        let s = source("ord(\"claim\", Release); // text ü\n");
        assert_eq!(s.raw[0].len(), s.code[0].len());
        assert_eq!(&s.raw[0][5..10], "claim");
    }

    #[test]
    fn raw_strings_lifetimes_and_characters() {
        let s =
            source("let a = r#\"x \" // y\"#; fn f<'a>(x: &'a str) {} let q = '\\''; let r = 1;");
        assert!(
            s.code[0].contains("fn f<'a>(x: &'a str) {}"),
            "{}",
            s.code[0]
        );
        assert!(s.code[0].ends_with("let r = 1;") && !s.code[0].contains("y"));
        let s = source("let a = '\"'; let b = 2; let c = 'é'; // c");
        assert!(s.code[0].contains("let b = 2;") && s.comment[0].trim() == "c");
    }

    #[test]
    fn strings_over_lines_stay_code() {
        let s = source("let a = \"one\ntwo\nthree\";\n");
        assert!(s.code.iter().all(|line| !line.trim().is_empty()));
    }

    #[test]
    fn test_modules_are_found() {
        let s = source("fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n");
        assert_eq!(s.test_lines(), [false, true, true, true, true, false]);
        let s = source("#[cfg(test)]\nmod tests;\nfn c() {}\n");
        assert_eq!(s.test_lines(), [false; 3]);
    }
}
