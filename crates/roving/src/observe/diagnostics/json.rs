//! Strings of JSON. (All else that is written as JSON here is numbers.)

use std::fmt::{self, Write as _};

/// A string of JSON.
pub(super) struct Text<'t>(pub(super) &'t str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => f.write_str("\\").and_then(|()| f.write_char(c))?,
                c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::pool::testing::of_any_text())]

        /// A name in a trace is read back as it was, whatever is in it.
        #[test]
        fn fuzz_names_in_a_trace(name: String, control in 0..32_u8) {
            let name = format!("{name}{}\"\\", char::from(control));
            let read: String = serde_json::from_str(&Text(&name).to_string()).unwrap();
            prop_assert_eq!(read, name);
        }
    }

    #[test]
    fn names_are_escaped() {
        let name = "a \"b\" \\ \n\u{1}é";
        let written = Text(name).to_string();
        assert_eq!(written, r#""a \"b\" \\ \u000a\u0001é""#);
    }
}
