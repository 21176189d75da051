//! Reads metrics in the format of Prometheus.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// The samples of one scrape.
#[derive(Clone, Default, Debug)]
pub struct Samples(Vec<Sample>);

#[derive(Clone, Debug)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Samples {
    /// Requests `/metrics` at this address.
    ///
    /// # Errors
    /// If there is no valid answer within two seconds.
    pub fn scrape(address: SocketAddr) -> Result<Self> {
        let (status, text) = get(address, "/metrics")?;
        ensure!(status == 200, "/metrics answers {status}");
        text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(sample).collect()
    }

    /// The sum of all samples of a metric with these labels.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &&Sample| {
            labels.iter().all(|(key, value)| sample.labels.get(*key).is_some_and(|is| is == value))
        };
        self.of(name).filter(has).map(|sample| sample.value).sum()
    }

    /// The sum of a metric for each value of one label, without zeros.
    #[must_use]
    pub fn by(&self, name: &str, label: &str) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for sample in self.of(name).filter(|sample| sample.value != 0.0) {
            let value = sample.labels.get(label).cloned().unwrap_or_default();
            *sums.entry(value).or_default() += sample.value;
        }
        sums
    }

    /// Whether there is a sample of this metric.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.of(name).next().is_some()
    }

    fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.0.iter().filter(move |sample| sample.name == name)
    }
}

impl FromIterator<Sample> for Samples {
    fn from_iter<I: IntoIterator<Item = Sample>>(samples: I) -> Self {
        Self(samples.into_iter().collect())
    }
}

/// The status and the body with which a program's HTTP server answers, within a minute.
///
/// # Errors
/// If there is no answer.
pub fn get(address: SocketAddr, path: &str) -> Result<(u16, String)> {
    const LIMIT: Duration = Duration::from_secs(60);
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes)?;
    let (head, body) = text.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    Ok((status, body.to_owned()))
}

/// Parses `name{label="value",...} value`.
fn sample(line: &str) -> Result<Sample> {
    let wrong = || format!("not a sample: {line}");
    let (series, value) = match line.find('}') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => line.split_once(' ').with_context(wrong)?,
    };
    let value = value.split_whitespace().next().with_context(wrong)?;
    let (name, labels) = series.split_once('{').unwrap_or((series, ""));
    let mut pairs = BTreeMap::new();
    let mut rest = labels;
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"").with_context(wrong)?;
        let (value, after) = after.split_once('"').with_context(wrong)?;
        pairs.insert(key.trim_start_matches(',').to_owned(), value.to_owned());
        rest = after;
    }
    Ok(Sample { name: name.to_owned(), labels: pairs, value: value.parse().with_context(wrong)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_summed_by_label() {
        let text = "a_total{x=\"1\",y=\"p\"} 2\na_total{x=\"2\",y=\"p\"} 3 1700000000\nb 0.5";
        let samples: Samples = text.lines().map(sample).collect::<Result<_>>().unwrap();
        assert!((samples.sum("a_total", &[]) - 5.0).abs() < f64::EPSILON);
        assert!((samples.sum("a_total", &[("x", "2"), ("y", "p")]) - 3.0).abs() < f64::EPSILON);
        assert!((samples.sum("b", &[]) - 0.5).abs() < f64::EPSILON);
        assert_eq!(samples.by("a_total", "x").len(), 2);
        assert!(!samples.has("c"));
        assert!(sample("a{x=\"1} 2").is_err());
    }
}
