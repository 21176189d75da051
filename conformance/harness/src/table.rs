//! Tables of text.

/// A table with columns as wide as their widest field.
#[derive(Clone, Debug)]
pub struct Table(Vec<Vec<String>>);

impl Table {
    /// A table with these headings and no lines.
    #[must_use]
    pub fn new(headings: &[&str]) -> Self {
        Self(vec![headings.iter().map(|&heading| heading.to_owned()).collect()])
    }

    /// Adds a line.
    pub fn line(&mut self, fields: Vec<String>) {
        self.0.push(fields);
    }

    /// The table as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut widths = Vec::new();
        for line in &self.0 {
            for (at, field) in line.iter().enumerate() {
                if widths.len() <= at {
                    widths.push(0);
                }
                widths[at] = widths[at].max(field.chars().count());
            }
        }
        let lines = self.0.iter().map(|line| {
            let padded = line.iter().zip(&widths).map(|(field, width)| format!("{field:width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_field() {
        let mut table = Table::new(&["a", "bb"]);
        table.line(vec!["xyz".to_owned(), "1".to_owned()]);
        assert_eq!(table.text(), "a    bb\nxyz  1");
    }
}
