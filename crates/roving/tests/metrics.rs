//! The figures that a recorder of the `metrics` crate receives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString,
    Unit,
};

/// Remembers the last value by name and worker.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<BTreeMap<String, f64>>>);

struct Note(Notes, String);

impl Note {
    fn write(&self, value: f64) {
        self.0.0.lock().unwrap().insert(self.1.clone(), value);
    }
}

impl CounterFn for Note {
    fn increment(&self, _value: u64) {
        panic!("the figures are totals");
    }

    fn absolute(&self, value: u64) {
        self.write(value as f64);
    }
}

impl GaugeFn for Note {
    fn increment(&self, _value: f64) {
        panic!("the figures are totals");
    }

    fn decrement(&self, _value: f64) {
        panic!("the figures are totals");
    }

    fn set(&self, value: f64) {
        self.write(value);
    }
}

impl Notes {
    fn note(&self, key: &Key) -> Arc<Note> {
        let label = |name| {
            key.labels()
                .find(|label| label.key() == name)
                .unwrap()
                .value()
        };
        let name = format!("{} {} {}", key.name(), label("pool"), label("worker"));
        Arc::new(Note(self.clone(), name))
    }
}

impl Recorder for Notes {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.note(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.note(key))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[test]
fn counters_and_times_are_handed_over() {
    let notes = Notes::default();
    let told = |pool: &roving::Pool, name: &str| {
        metrics::with_local_recorder(&notes, || roving::metrics::publish(name, pool));
        std::mem::take(&mut *notes.0.lock().unwrap())
    };
    let pool = roving::Pool::builder()
        .workers(2)
        .profile(true)
        .build()
        .unwrap();
    pool.install(|| roving::join(|| (), || ()));
    let values = told(&pool, "timed");
    let tasks = |worker| values[&format!("roving_tasks_total timed {worker}")];
    assert!((tasks(0) + tasks(1) - 1.0).abs() < 1e-9);
    assert!(values["roving_busy_seconds timed 0"] + values["roving_busy_seconds timed 1"] > 0.0);

    let values = told(&roving::Pool::new(1).unwrap(), "plain");
    assert!(values.contains_key("roving_parks_total plain 0"));
    assert!(!values.keys().any(|name| name.contains("_seconds")));
}
