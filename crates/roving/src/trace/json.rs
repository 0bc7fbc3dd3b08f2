//! Strings of JSON. (All else that is written as JSON here is numbers.)

use std::fmt;

/// A string of JSON.
pub(super) struct Text<'t>(pub(super) &'t str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        let name = "a \"b\" \\ \n\u{1}é";
        let written = Text(name).to_string();
        assert_eq!(written, r#""a \"b\" \\ \u000a\u0001é""#);
    }
}
