//! Ratios for people: lines of a terminal, and the page beside the CSV file.

use super::musts::Must;
use super::ratio::Ratio;
use crate::bench::record::RowRecord;
use crate::io::figures::figures;

/// Above the lines of a terminal.
pub(super) const HEAD_LINE: &str =
    "workload                          stock        ours   ratio   half of the rounds   must";

/// One workload.
pub(super) fn line(ratio: &Ratio, must: Option<&Must>) -> String {
    let (low, high) = ratio.quartiles();
    let times = [ratio.stock, ratio.ours].map(|seconds| figures(seconds * 1e6));
    let must = must.map_or_else(String::new, |must| {
        let reached = if ratio.value() <= must.must {
            "reached"
        } else {
            "missed"
        };
        format!("≤ {} {reached}", must.must)
    });
    let line = format!(
        "{:<26}{:>10} µs{:>9} µs{:>8.3}   {low:>7.3} to {high:<7.3}   {must}",
        ratio.name,
        times[0],
        times[1],
        ratio.value()
    );
    line.trim_end().to_owned()
}

/// The page.
pub(super) fn page(record: &RowRecord, ratios: &[(Ratio, String)], versions: &[&str; 2]) -> String {
    let mut text = format!(
        "# The drop-in beside stock Rayon\n\n\
         Written by `cargo run --profile measure --features rivals -- bench rayon`. Do not edit.\n\n\
         One program for Rayon (`crates/rayon-core/bench`) is built twice, with the stock `rayon-core`\n\
         ({}) and with ours ({}). Both run all the time, on 2 threads each; they are timed in turn,\n\
         and rest while it is the other's turn. The main thread calls, as in most programs. All answers\n\
         are held against serial runs. A ratio is our median over that of stock: less is better. On which\n\
         machine, and when: see [the summary](README.md#rayon).\n\n\
         ## What must be reached\n\n\
         | what | measured | must | stretch | verdict |\n|---|---|---|---|---|\n",
        versions[0], versions[1]
    );
    for claim in &record.claims {
        let verdict = match claim.verdict() {
            "missed" => "**missed**",
            other => other,
        };
        let stretch = claim.stretch.map(|bound| bound.text()).unwrap_or_default();
        let (value, must) = (figures(claim.value), claim.must.text());
        let (what, unit) = (&claim.what, claim.unit);
        text += &format!("| {what} | {value} {unit} | {must} | {stretch} | {verdict} |\n");
    }
    for why in &record.absent {
        text += &format!("\nNot measured: {why}.\n");
    }
    text += "\n## All workloads\n\n\
        *demo* are those after Rayon's own demonstration programs, written afresh.\n\n\
        | workload | from | stock, µs | drop-in, µs | ratio | half of the rounds | rounds |\n\
        |---|---|---|---|---|---|---|\n";
    for (ratio, group) in ratios {
        let (low, high) = ratio.quartiles();
        let [stock, ours] = [ratio.stock, ratio.ours].map(|seconds| figures(seconds * 1e6));
        let (name, value, rounds) = (&ratio.name, ratio.value(), ratio.rounds());
        text += &format!(
            "| {name} | {group} | {stock} | {ours} | {value:.3} | {low:.3} to {high:.3} | {rounds} |\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::record::Bound::AtMost;

    fn ratio() -> Ratio {
        Ratio::new("nested", &[2e-4, 2e-4], &[1e-4, 2e-4])
    }

    #[test]
    fn a_line_has_times_ratio_and_verdict() {
        let must = super::super::musts::must("nested", "x", 0.7, 0.4);
        let line = line(&ratio(), Some(&must));
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[..2], ["nested", "200.0"]);
        assert_eq!(
            words[5..],
            ["0.750", "0.625", "to", "0.875", "≤", "0.7", "missed"]
        );
        assert!(super::line(&ratio(), None).ends_with("0.875"));
    }

    #[test]
    fn the_page_has_a_row_for_each_claim_and_workload() {
        let mut record = RowRecord::default();
        record.claim("nested", "×", 0.75, AtMost(0.7), AtMost(0.4));
        record.absent.push("noop".into());
        let page = page(&record, &[(ratio(), "row".into())], &["1.13.0", "1.13.0"]);
        for line in [
            "| nested | 0.7500 × | ≤ 0.7 | ≤ 0.4 | **missed** |",
            "| nested | row | 200.0 | 150.0 | 0.750 | 0.625 to 0.875 | 2 |",
            "Not measured: noop.",
        ] {
            assert!(page.contains(line), "{line} is not in\n{page}");
        }
    }
}
