//! The rules by which a line of code gets a mutant: they know lines as rustfmt writes them, and
//! nothing of types. What does not compile is left out afterwards.

use crate::reading::RustFile;

/// A place at which the code can be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// The line, counted from 0.
    pub(crate) line: usize,
    /// The change, as people read it.
    pub(crate) what: String,
    before: String,
    after: String,
}

impl Site {
    /// The line with both behaviours, of which the one of that number is chosen when it runs.
    pub(crate) fn line_with(&self, number: usize) -> String {
        let call = format!("crate::code_mutant::on({number})");
        format!("{}{}", self.before, self.after.replace("@on", &call))
    }
}

/// Words of lines that steer figures or time, not outcomes.
const FIGURES: [&str; 14] = [
    "assert",
    "bump(",
    "clock()",
    "turn_to(",
    "tally",
    "count_",
    "prefetch",
    "spin_loop",
    "yield_now",
    "panic!",
    "unreachable!",
    "mutant(",
    "restraint()",
    "say(",
];
/// Words with which a statement begins that is no plain call or assignment.
const NO_CALL: [&str; 15] = [
    "let ", "return", "break", "continue", "use ", "pub", "fn ", "const ", "static ", "type ",
    "mod ", "impl", "struct ", "enum ", "drop(",
];
const COMPARISONS: [(&str, &str); 8] = [
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" == ", " != "),
    (" != ", " == "),
    (" && ", " || "),
    (" || ", " && "),
];

/// One site for each line that has one: by the first rule that fits, beginning with another rule
/// for each text, so that all rules are used, and a line that moves keeps its own.
pub(crate) fn sites(source: &RustFile) -> Vec<Site> {
    let tests = source.test_lines();
    let rules: [fn(&Lines<'_>, usize) -> Option<Site>; 4] =
        [condition, comparison, number, statement];
    let lines = Lines { source };
    let mut found = Vec::new();
    let mut inside = false;
    for (line, (code, is_test)) in source.code.iter().zip(tests).enumerate() {
        let code = code.trim_end();
        if is_test || code.trim().is_empty() {
            continue;
        }
        if let Some(header) = lines.header(line) {
            inside = !header.contains("const fn ");
            if inside {
                found.extend(body(&lines, line, &header));
            }
            continue;
        }
        let is_figure = FIGURES.iter().any(|word| code.contains(word));
        let is_item = ["const ", "static ", "#", "fn ", "pub "];
        if !inside || is_figure || is_item.iter().any(|word| code.trim().starts_with(word)) {
            continue;
        }
        let first = turn(code);
        let order = (0..rules.len()).map(|rule| rules[(rule + first) % rules.len()]);
        found.extend(order.into_iter().find_map(|rule| rule(&lines, line)));
    }
    found
}

/// A number that follows from the text of a line.
fn turn(code: &str) -> usize {
    code.trim().bytes().map(usize::from).sum()
}

struct Lines<'s> {
    source: &'s RustFile,
}

impl Lines<'_> {
    fn code(&self, line: usize) -> &str {
        self.source.code[line].trim_end()
    }

    /// The text without its comment, with what stands in literals.
    fn raw(&self, line: usize) -> &str {
        &self.source.raw[line][..self.code(line).len()]
    }

    /// The whole signature, on the line that opens the function's body.
    fn header(&self, line: usize) -> Option<String> {
        if !self.code(line).ends_with('{') {
            return None;
        }
        let is_begin = |line: &usize| {
            let code = self.code(*line).trim_start();
            code.starts_with("fn ") || code.contains(" fn ") && !code.contains('=')
        };
        let first = (line.saturating_sub(12)..=line).rev().find(is_begin)?;
        let is_over = |line: usize| self.code(line).ends_with(['{', ';', '}']);
        if (first..line).any(is_over) {
            return None;
        }
        let parts: Vec<&str> = (first..=line).map(|line| self.code(line).trim()).collect();
        Some(parts.join(" "))
    }
}

/// The whole body is replaced by a plain value.
fn body(lines: &Lines<'_>, line: usize, header: &str) -> Option<Site> {
    let header = header.trim_end_matches('{').trim();
    let kind = match header.rsplit_once("-> ") {
        None => "",
        Some((_, kind)) => kind.split(" where ").next().unwrap_or(kind).trim(),
    };
    let value = match kind {
        "" => "",
        "bool" if turn(header).is_multiple_of(2) => "true",
        "bool" => "false",
        "usize" | "u64" | "u32" | "isize" if turn(header).is_multiple_of(2) => "0",
        "usize" | "u64" | "u32" | "isize" => "1",
        kind if kind.starts_with("Option<") => "None",
        _ => return None,
    };
    let name = header.split("fn ").nth(1)?.split(['(', '<']).next()?;
    let is_figure = FIGURES
        .iter()
        .any(|word| name.contains(word.trim_end_matches('(')));
    (!is_figure && name != "fmt" && name != "main").then(|| Site {
        line,
        what: format!("{name} returns at once {value}")
            .trim_end()
            .to_owned(),
        before: lines.raw(line).to_owned(),
        after: format!(" if @on {{ return {value}; }}"),
    })
}

/// A condition is negated.
fn condition(lines: &Lines<'_>, line: usize) -> Option<Site> {
    let code = lines.code(line);
    let (mark, end) = match code {
        _ if code.ends_with(" {") => ("if ", " {"),
        _ if code.contains(" =>") => (" if ", " =>"),
        _ => return None,
    };
    let from = code.find(mark)? + mark.len();
    let to = from + code[from..].rfind(end)?;
    let inner = &code[from..to];
    let ok = !inner.contains("let ") && !inner.contains("matches!") && is_balanced(inner);
    let head = code[..from].trim();
    let starts = ["if", "} else if"].contains(&head) || mark == " if ";
    (ok && starts).then(|| {
        let text = &lines.raw(line)[from..to];
        Site {
            line,
            what: format!("not: {text}"),
            before: lines.raw(line)[..from].to_owned(),
            after: format!("@on != ({text}){}", &lines.raw(line)[to..]),
        }
    })
}

/// An operator between two plain operands becomes its neighbour.
fn comparison(lines: &Lines<'_>, line: usize) -> Option<Site> {
    let code = lines.code(line);
    COMPARISONS.iter().find_map(|(sign, other)| {
        let at = code.find(sign)?;
        let from = at - operand(code[..at].chars().rev(), ')', '(')?;
        let to = at + sign.len() + operand(code[at + sign.len()..].chars(), '(', ')')?;
        let free = code[..from].trim_end();
        let opens = free.is_empty()
            || free.ends_with(['(', '{', '|', ',', '='])
            || free.ends_with("=>")
            || ["return", "if", "while", "&&"]
                .iter()
                .any(|w| free.ends_with(w));
        let opens = opens && !free.ends_with("==");
        let rest = code[to..].trim_start();
        let closes = rest.is_empty()
            || rest.starts_with([')', '}', ';', ',', '{'])
            || rest.starts_with("&&");
        let (left, right) = (&code[from..at], &code[at + sign.len()..to]);
        let is_word = |text: &str| ["unsafe", "move"].contains(&text);
        let ok = opens && closes && is_balanced(left) && is_balanced(right);
        let ok = ok && !is_word(left) && !is_word(right);
        ok.then(|| {
            let raw = lines.raw(line);
            let (left, right) = (&raw[from..at], &raw[at + sign.len()..to]);
            Site {
                line,
                what: format!("{left}{other}{right} for{}", sign.trim_end()),
                before: raw[..from].to_owned(),
                after: format!(
                    "(if @on {{ {left}{other}{right} }} else {{ {left}{sign}{right} }}){}",
                    &raw[to..]
                ),
            }
        })
    })
}

/// The length of the operand with which the text begins, `open` and `close` being the brackets in
/// the direction in which it is read.
fn operand(text: impl Iterator<Item = char>, open: char, close: char) -> Option<usize> {
    let mut depth = 0_u32;
    let is_part = |c: &char| {
        if *c == open {
            depth += 1;
        } else if *c == close {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            }
        }
        depth > 0 || c.is_alphanumeric() || "_.:!*&)(".contains(*c)
    };
    let length = text.take_while(is_part).map(char::len_utf8).sum();
    (length > 0).then_some(length)
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    text.chars().all(|letter| {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth >= 0
    }) && depth == 0
}

/// A step of one more or less is left out.
fn number(lines: &Lines<'_>, line: usize) -> Option<Site> {
    let code = lines.code(line);
    [" + 1", " - 1", " += 1", " -= 1"].iter().find_map(|step| {
        let at = code.find(step)? + step.len() - 1;
        let next = code[at + 1..].chars().next();
        let ends = next.is_none_or(|next| !next.is_alphanumeric() && next != '.' && next != '_');
        ends.then(|| Site {
            line,
            what: format!("without{step}: {}", code.trim()),
            before: lines.raw(line)[..at].to_owned(),
            after: format!(
                "(if @on {{ 0 }} else {{ 1 }}){}",
                &lines.raw(line)[at + 1..]
            ),
        })
    })
}

/// A statement of one line, which gives nothing, is left out.
fn statement(lines: &Lines<'_>, line: usize) -> Option<Site> {
    let text = lines.code(line).trim();
    let first = text.chars().next()?;
    let begins = first.is_alphabetic() || "*_".contains(first);
    let before = (0..line)
        .rev()
        .map(|line| lines.code(line))
        .find(|code| !code.trim().is_empty())?;
    let is_whole = text.ends_with(';') && before.ends_with([';', '{', '}']) && is_balanced(text);
    let is_call = text.contains('(') || text.contains(" = ") || text.contains("= ");
    let is_plain = !NO_CALL.iter().any(|word| text.starts_with(word)) && !text.contains('?');
    (begins && is_whole && is_call && is_plain).then(|| Site {
        line,
        what: format!("without: {}", lines.raw(line).trim()),
        before: String::new(),
        after: format!("if !@on {{ {} }}", lines.raw(line).trim()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str) -> Vec<(usize, String)> {
        let source = RustFile::new("a.rs".into(), text);
        let sites = sites(&source);
        sites
            .iter()
            .map(|site| (site.line, site.line_with(7)))
            .collect()
    }

    const ON: &str = "crate::code_mutant::on(7)";

    #[test]
    fn a_body_is_replaced_by_a_plain_value() {
        let text = "fn a(x: &u8) {\n}\nfn b(\n    x: u8,\n) -> bool {\n    true\n}\nconst fn c() -> usize {\n    0\n}\n";
        let found = changed(text);
        assert_eq!(
            found[0].1,
            format!("fn a(x: &u8) {{ if {ON} {{ return ; }}")
        );
        assert_eq!(
            found[1],
            (4, format!(") -> bool {{ if {ON} {{ return false; }}"))
        );
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn conditions_operators_steps_and_statements_are_changed() {
        let all = |body: &str| {
            let text = format!(
                "impl A {{\n    const fn a() -> u8 {{\n    }}\n    fn f(&self) -> T {{\n{body}\n    }}\n}}\n"
            );
            changed(&text)
        };
        let found = all("        let _ = (a < b());");
        assert!(
            found[0]
                .1
                .contains(&format!("((if {ON} {{ a <= b() }} else {{ a < b() }}));")),
            "{found:?}"
        );
        assert!(all("        let x = a + 1;")[0].1.contains("else { 1 });"));
        assert!(
            all("        self.go(1);")[0]
                .1
                .starts_with(&format!("if !{ON} {{ self.go(1); }}"))
        );
        let found = all("        match x {\n            _ if self.is() => 1,\n        }");
        assert!(
            found
                .iter()
                .any(|(_, line)| line.contains(&format!("if {ON} != (self.is()) =>"))),
            "{found:?}"
        );
        assert!(all("        if let Some(x) = y {\n        }").is_empty());
        assert!(all("        debug_assert!(a < b);").is_empty());
    }
}
