//! Tests of the report as text: well-formed, whole, without holes.

use std::collections::BTreeSet;

use super::*;
use crate::repro::catalogue;
use crate::repro::plan::SizeAndMachine;
use crate::repro::sides::made_up;
use crate::repro::store::MeasuredPoint;

fn head() -> PageHead {
    PageHead {
        origin: Origin {
            size: "quick".into(),
            machine: "two cores & <none> more".into(),
            build: "0123456789abcdef".into(),
            commit: "abcdef012345".into(),
        },
        words: "--quick --out a/b".into(),
        moment: "today".into(),
        warning: Some("a warning"),
    }
}

/// Points for all that the groups of a plan can give: made up, but of the right shape.
fn points(plan: &SizeAndMachine) -> Vec<MeasuredPoint> {
    let value = |_: &str, series: &str, workers: usize, metric: &str| {
        1.0 + ((series.len() * 7 + workers * 3 + metric.len()) % 11) as f64
    };
    let mut points = made_up(plan, &value, &[1.0, 1.02, 1.1, 1.2, 1.5], |_| true);
    for point in &mut points {
        if point.series == "chili" {
            point.note = "chili left out: a < b".into();
        }
    }
    points
}

/// Tags closed in order, attributes in quotes, no bare `<` or `&`, and every identifier once.
fn assert_well_formed(html: &str) {
    let body = html
        .strip_prefix("<!DOCTYPE html>\n")
        .expect("a document type");
    let (mut open, mut ids): (Vec<&str>, BTreeSet<String>) = Default::default();
    let mut rest = body;
    while let Some(start) = rest.find('<') {
        text_is_escaped(&rest[..start]);
        let end = start + rest[start..].find('>').expect("every tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag
            .trim_end_matches('/')
            .split_whitespace()
            .next()
            .expect("a tag has a name");
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in order");
        } else if !tag.ends_with('/') {
            open.push(name);
            if name == "style" {
                rest = &rest[rest.find("</style>").expect("the style ends")..];
            }
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in `{tag}`");
        if let Some((_, id)) = tag.split_once(" id=\"") {
            let id = id.split('"').next().unwrap_or_default();
            assert!(ids.insert(id.to_owned()), "{id} twice");
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    for link in html.split("href=\"#").skip(1) {
        let target = link.split('"').next().unwrap_or_default();
        assert!(
            ids.contains(target),
            "a link to `{target}`, which is not there"
        );
    }
}

fn text_is_escaped(text: &str) {
    for part in text.split('&').skip(1) {
        let entity = part.split(';').next().unwrap_or_default();
        assert!(
            entity.len() < 6 && part.contains(';'),
            "a bare & in `{text}`"
        );
    }
    assert!(!text.contains('>'), "a bare > in `{text}`");
}

/// Checks that the page has no holes, and nothing from outside.
fn assert_no_holes(html: &str) {
    for bad in [
        "NaN", "Some(", "http://", "https://", "src=", "@import", "url(",
    ] {
        let place = html.find(bad).map(|at| &html[at - 20..at + 20]);
        assert!(place.is_none(), "{bad}: {place:?}");
    }
    let mut words = html.split(|c: char| !c.is_ascii_alphanumeric());
    assert!(words.all(|word| !["nan", "inf", "Infinity"].contains(&word)));
}

#[test]
fn the_page_is_whole_on_any_machine() {
    for (quick, cores) in [(true, 1), (true, 2), (false, 8)] {
        let plan = SizeAndMachine::on(quick, cores);
        let points = points(&plan);
        let seen = SeenPoints {
            points: &points,
            plan: &plan,
        };
        let figures = catalogue();
        let html = page(&head(), &figures, &seen);
        assert_well_formed(&html);
        assert_no_holes(&html);
        for figure in &figures {
            let from = html
                .find(&format!("<article id=\"{}\"", figure.name))
                .expect("its article");
            let article = &html[from..from + html[from..].find("</article>").expect("its end")];
            for part in [
                "class=\"badge",
                "class=\"verdict\"",
                "The paper</h4>",
                "Here</h4>",
                "Numbers: ",
                "The rule: ",
            ] {
                assert!(
                    article.contains(part),
                    "{} on {cores} lacks {part}",
                    figure.name
                );
            }
            let here = article.split("Here</h4>").nth(1).expect("what is here");
            assert!(
                here.contains("<svg") && here.contains("<td>here</td>"),
                "{} on {cores}",
                figure.name
            );
            let again = format!("roving repro {} --quick --out a/b", figure.name);
            assert!(article.contains(&again), "{}: {again}", figure.name);
            assert!(!judged(figure, &seen).sentence.contains("NaN"));
        }
        assert!(
            html.contains("chili left out: a &lt; b")
                && html.contains("two cores &amp; &lt;none&gt; more")
        );
    }
}

#[test]
fn a_page_without_points_says_so() {
    let plan = SizeAndMachine::on(true, 2);
    let seen = SeenPoints {
        points: &[],
        plan: &plan,
    };
    let figures = catalogue();
    let html = page(&head(), &figures, &seen);
    assert_well_formed(&html);
    assert_no_holes(&html);
    assert_eq!(html.matches("Not measured yet.").count(), figures.len());
    for figure in figures {
        assert_eq!(
            judged(figure, &seen).verdict,
            FindingVerdict::CannotTell,
            "{}",
            figure.name
        );
    }
}

#[test]
fn one_core_is_not_enough_where_the_finding_is_about_two() {
    let plan = SizeAndMachine::on(true, 1);
    let points = points(&plan);
    let seen = SeenPoints {
        points: &points,
        plan: &plan,
    };
    for name in [
        "wool-stress",
        "nornir-table-1",
        "nornir-figure-6",
        "stackthreads-figure-9",
    ] {
        let all = catalogue();
        let figure = all
            .iter()
            .find(|figure| figure.name == name)
            .expect("it is there");
        assert_eq!(
            judged(figure, &seen).verdict,
            FindingVerdict::TooFewCores,
            "{name}"
        );
    }
}

#[test]
fn tables_hold_the_paper_and_the_measured_values() {
    let plan = SizeAndMachine::on(true, 2);
    let points = points(&plan);
    let seen = SeenPoints {
        points: &points,
        plan: &plan,
    };
    for figure in catalogue() {
        let csv = csv(&head(), figure, &seen);
        let again = Csv::parse(&csv.text()).expect("it is read again");
        assert_eq!(again, csv);
        let of = |word: &str| again.rows.iter().filter(|row| row[0] == word).count();
        let printed: usize = (figure.printed)()
            .iter()
            .map(|sheet| sheet.rows.len())
            .sum();
        assert_eq!(of("paper"), printed, "{}", figure.name);
        assert!(of("here") > 0, "{}", figure.name);
        for row in &again.rows {
            let median: f64 = again.field(row, "median").unwrap().parse().unwrap();
            assert!(median.is_finite());
            assert_eq!(again.field(row, "n").unwrap().is_empty(), row[0] == "paper");
            assert!(again.field(row, "command").unwrap().contains(figure.name));
        }
    }
}

#[test]
fn verdicts_are_written_with_what_decided_them() {
    let plan = SizeAndMachine::on(true, 2);
    let points = points(&plan);
    let seen = SeenPoints {
        points: &points,
        plan: &plan,
    };
    let figures = catalogue();
    let csv = verdicts(&figures, &seen);
    assert_eq!(Csv::parse(&csv.text()).expect("it is read again"), csv);
    for figure in &figures {
        let judgement = judged(figure, &seen);
        let rows: Vec<_> = csv
            .rows
            .iter()
            .filter(|row| row[0] == figure.name)
            .collect();
        assert_eq!(rows.len(), judgement.claims.len().max(1), "{}", figure.name);
        for row in rows {
            assert_eq!(
                csv.field(row, "verdict").unwrap(),
                judgement.verdict.words()
            );
        }
    }
}

#[test]
fn our_own_questions_are_counted_apart() {
    let plan = SizeAndMachine::on(true, 2);
    let points = points(&plan);
    let seen = SeenPoints {
        points: &points,
        plan: &plan,
    };
    let figures = catalogue();
    let judgements: Vec<_> = figures.iter().map(|one| judged(one, &seen)).collect();
    let sum = |asker| -> usize {
        let counts = counted(&figures, &judgements, asker);
        counts.iter().map(|one| one.1).sum()
    };
    let ours = figures.iter().filter(|one| one.asker == Asker::Ours);
    let ours: Vec<&str> = ours.map(|one| one.name).collect();
    assert_eq!(
        ours,
        [
            "wool-stress",
            "wool-cholesky",
            "wool-matmul",
            "wool-substring"
        ]
    );
    assert_eq!(
        (sum(Asker::Ours), sum(Asker::Paper)),
        (4, figures.len() - 4)
    );
    let html = page(&head(), &figures, &seen);
    assert!(html.contains("What the papers state: ") && html.contains("What we ask of plots"));
}
