//! The files of explained differences.
//!
//! A line has three fields, separated by `|`: the case (`*` stands for any characters), the result
//! (a reason, or `accepted`), and the explanation. Lines that begin with `#` are comments.

/// The lines of one file.
pub(crate) struct Differences(Vec<Line>);

struct Line {
    case: String,
    result: String,
    explanation: String,
    count: usize,
}

impl Differences {
    pub(crate) fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let fields = |line: &str| {
            let mut fields = line.splitn(3, '|').map(|field| field.trim().to_owned());
            let mut next = || fields.next().filter(|field| !field.is_empty());
            match (next(), next(), next()) {
                (Some(case), Some(result), Some(explanation)) => {
                    Line { case, result, explanation, count: 0 }
                }
                _ => panic!("a line without case, result and explanation: {line}"),
            }
        };
        Self(lines.map(fields).collect())
    }

    /// Whether a line explains this result.
    pub(crate) fn explains(&mut self, case: &str, result: &str) -> bool {
        let mut lines = self.0.iter_mut();
        let found = lines.find(|line| matches(&line.result, result) && matches(&line.case, case));
        found.is_some_and(|line| {
            line.count += 1;
            true
        })
    }

    /// The lines that explained nothing.
    pub(crate) fn unused(&self) -> Vec<String> {
        let unused = self.0.iter().filter(|line| line.count == 0);
        unused.map(|line| format!("{} | {}", line.case, line.result)).collect()
    }

    /// Each line that explained something: how often, and its text.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        let used = self.0.iter().filter(|line| line.count > 0);
        used.map(|line| {
            (line.count, format!("{} | {} | {}", line.case, line.result, line.explanation))
        })
    }
}

/// Whether a text matches a pattern, in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches("a::b", "a::b") && !matches("a::b", "a::bc") && !matches("b", "ab"));
        assert!(matches("a*", "abc") && matches("*c", "abc") && matches("a*c", "abc"));
        assert!(matches("a*b*d", "axbxxd") && !matches("a*b*d", "axd") && matches("*", ""));
    }

    #[test]
    fn each_line_counts_what_it_explains() {
        let mut lines = Differences::parse("# c\na* | Expired | because\nb | accepted | it is\n");
        assert!(lines.explains("ab", "Expired") && !lines.explains("ab", "accepted"));
        assert_eq!(lines.unused(), ["b | accepted"]);
        assert_eq!(lines.used().collect::<Vec<_>>(), [(1, "a* | Expired | because".to_owned())]);
    }
}
