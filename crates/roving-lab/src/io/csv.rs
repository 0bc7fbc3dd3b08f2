//! Tables as CSV (RFC 4180): a field with a comma, a quote or a line break stands in quotes.

/// A table with a head; every row is as long as the head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Csv {
    /// The names of the columns.
    pub(crate) head: Vec<String>,
    /// The fields.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Csv {
    /// A table without rows.
    pub(crate) fn new(head: &[&str]) -> Csv {
        Csv {
            head: head.iter().map(|name| (*name).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// One row more.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.head.len(), "a row is as long as the head");
        self.rows.push(row);
    }

    /// The text of the table.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for row in std::iter::once(&self.head).chain(&self.rows) {
            text.push_str(
                &row.iter()
                    .map(|field| quoted(field))
                    .collect::<Vec<_>>()
                    .join(","),
            );
            text.push('\n');
        }
        text
    }

    /// Reads what [`Csv::text`] wrote.
    pub(crate) fn parse(text: &str) -> Result<Csv, String> {
        let mut rows = records(text)?.into_iter();
        let head = rows.next().ok_or("an empty file")?;
        let rows: Vec<_> = rows.collect();
        match rows.iter().position(|row| row.len() != head.len()) {
            Some(row) => Err(format!("row {} is not as long as the head", row + 1)),
            None => Ok(Csv { head, rows }),
        }
    }

    /// The field of `row` in the column `name`.
    pub(crate) fn field<'a>(&self, row: &'a [String], name: &str) -> Result<&'a str, String> {
        let column = self.head.iter().position(|column| column == name);
        let column = column.ok_or_else(|| format!("no column `{name}`"))?;
        Ok(&row[column])
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// The records of a CSV text.
fn records(text: &str) -> Result<Vec<Vec<String>>, String> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quotes = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quotes && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => quotes = !quotes,
            ',' if !quotes => record.push(std::mem::take(&mut field)),
            '\r' if !quotes => {}
            '\n' if !quotes => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            other => field.push(other),
        }
    }
    if quotes {
        return Err("a quote is not closed".into());
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push(record);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut csv = Csv::new(&["what", "command"]);
        csv.push(vec![
            "a \"quoted\" word".into(),
            "--against rayon,chili".into(),
        ]);
        csv.push(vec![String::new(), "two\nlines".into()]);
        let text = csv.text();
        assert!(
            text.starts_with("what,command\n\"a \"\"quoted\"\" word\",\"--against rayon,chili\"\n")
        );
        assert_eq!(Csv::parse(&text).unwrap(), csv);
        assert_eq!(
            csv.field(&csv.rows[0], "command").unwrap(),
            "--against rayon,chili"
        );
        assert!(csv.field(&csv.rows[0], "nothing").is_err());
    }

    #[test]
    fn a_ragged_or_open_table_is_an_error() {
        assert!(Csv::parse("").is_err());
        assert!(Csv::parse("a,b\n1\n").unwrap_err().contains("row 1"));
        assert!(
            Csv::parse("a\n\"open\n")
                .unwrap_err()
                .contains("not closed")
        );
        assert_eq!(Csv::parse("a,b\r\n1,2").unwrap().rows, [["1", "2"]]);
    }
}
