//! Checks that another process of this program runs meanwhile: what they print is kept, and shown
//! when they have ended.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Result;
use crate::cargo::workspace::Workspace;
use crate::report::{CheckReport, CheckStep, EndedStep, TestCounts};

/// How checks run.
#[derive(Clone, Copy)]
pub(crate) struct CheckOptions {
    /// A part for which something is missing is skipped.
    pub(crate) no_install: bool,
    /// Each check runs, whatever is kept of it.
    pub(crate) anew: bool,
}

impl CheckOptions {
    /// By the words of a command, and by the variable that programs which test for others set.
    pub(crate) fn new(no_install: bool, anew: bool) -> CheckOptions {
        let anew = anew || std::env::var_os("CI").is_some();
        CheckOptions { no_install, anew }
    }

    /// As words of a command.
    fn words(self) -> impl Iterator<Item = &'static str> {
        let words = [(self.no_install, "--no-install"), (self.anew, "--anew")];
        let said = words.into_iter().filter(|(is_so, _)| *is_so);
        said.map(|(_, word)| word)
    }
}

/// A process that runs checks. It ends with this value.
pub(crate) struct SideChecks {
    child: Child,
    /// The files with its output, and with the outcome of its checks.
    printed: PathBuf,
    told: PathBuf,
}

impl SideChecks {
    /// Starts the checks of these names.
    pub(crate) fn start(
        workspace: &Workspace,
        names: &[&str],
        options: CheckOptions,
    ) -> Result<SideChecks> {
        let in_target = |name: &str| workspace.target.join(name);
        let (printed, told) = (in_target("beside.txt"), in_target("beside.json"));
        let file = || {
            let _ = fs::remove_file(&told);
            let file = File::create(&printed)?;
            Ok((file.try_clone()?, file))
        };
        let file = file().map_err(|error: std::io::Error| shown(&printed, &error));
        let (out, err) = file?;
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(this);
        command.args(["test", "--only", &names.join(","), "--tell"]);
        command.arg(&told).current_dir(&workspace.root);
        command.args(options.words());
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let child = command.spawn().map_err(|error| error.to_string())?;
        println!("\n{} run beside the following", names.join(", "));
        Ok(SideChecks {
            child,
            printed,
            told,
        })
    }

    /// Waits for their end, shows what they printed, and returns what they came to.
    pub(crate) fn end(mut self) -> Result<Vec<EndedStep>> {
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let printed = fs::read(&self.printed).map_err(|error| shown(&self.printed, &error))?;
        print!("{}", String::from_utf8_lossy(&printed));
        let told = fs::read_to_string(&self.told);
        let told = told.map_err(|_| format!("the checks beside ended with {status}, untold"))?;
        let lines = heard(&told).ok_or_else(|| format!("not what a check tells: {told}"))?;
        if lines.is_empty() {
            return Err("no check ran beside".into());
        }
        Ok(lines)
    }
}

impl Drop for SideChecks {
    fn drop(&mut self) {
        // Only where this process gives up before its end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn shown(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Writes what each check of the report came to, for [`SideChecks::end`] of another process.
pub(crate) fn tell(report: &CheckReport, path: &Path) -> Result<()> {
    fs::write(path, told(report.lines())).map_err(|error| shown(path, &error))
}

fn told(lines: &[EndedStep]) -> String {
    let line = |line: &EndedStep| {
        let counts = line.step.counts;
        json!({
            "name": line.name,
            "took": line.took.as_secs_f64(),
            "used": line.used,
            "counts": [counts.passed, counts.failed, counts.skipped],
            "complaints": line.step.complaints,
            "skips": line.step.skips,
            "kept": line.step.kept,
        })
    };
    Value::from_iter(lines.iter().map(line)).to_string()
}

fn heard(told: &str) -> Option<Vec<EndedStep>> {
    let value: Value = serde_json::from_str(told).ok()?;
    value.as_array()?.iter().map(line).collect()
}

fn line(value: &Value) -> Option<EndedStep> {
    let texts = |key: &str| -> Option<Vec<String>> {
        let texts = value[key].as_array()?.iter();
        texts.map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let count = |at: usize| value["counts"][at].as_u64();
    Some(EndedStep {
        name: value["name"].as_str()?.to_owned(),
        took: Duration::try_from_secs_f64(value["took"].as_f64()?).ok()?,
        used: value["used"].as_f64(),
        step: CheckStep {
            counts: TestCounts {
                passed: count(0)?,
                failed: count(1)?,
                skipped: count(2)?,
            },
            complaints: texts("complaints")?,
            skips: texts("skips")?,
            kept: kept(&value["kept"])?,
        },
    })
}

/// A pair, or nothing.
fn kept(value: &Value) -> Option<Option<(u64, String)>> {
    match value {
        Value::Null => Some(None),
        pair => Some(Some((pair[0].as_u64()?, pair[1].as_str()?.to_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_heard() {
        let mut report = CheckReport::new();
        report.step("miri", |step| {
            step.counts.passed = 2;
            step.skip("no nightly");
            Ok(())
        });
        report.step("loom", |_| Err("1 test \"failed\"".into()));
        report.step("mutants", |step| {
            step.keep(65, "a day");
            Ok(())
        });
        let mut other = CheckReport::new();
        other.hear(heard(&told(report.lines())).unwrap());
        assert_eq!(other.sum(), report.sum());
        assert_eq!((other.sum().passed, other.sum().failed), (2, 1));
        assert_eq!(told(other.lines()), told(report.lines()));
        assert_eq!(other.lines()[2].step.kept, Some((65, "a day".into())));
    }

    #[test]
    fn what_is_cut_off_is_not_heard() {
        let mut report = CheckReport::new();
        report.step("miri", |_| Ok(()));
        let told = told(report.lines());
        assert!(heard(&told[..told.len() - 1]).is_none());
        assert!(heard("[{}]").is_none());
    }
}
