//! A design is built once, whoever asks and however often.

use crate::designs::counter;
use std::sync::Barrier;
use std::time::SystemTime;
use stroma_verilate::{Error, Speed, Variant, Verilog, build_log, kept, models_dir, shared_object};

/// The counter with a comment that no earlier run of this test used.
fn fresh() -> Verilog {
    let mut design = counter();
    design.text = format!("// {:?} {}\n{}", SystemTime::now(), std::process::id(), design.text);
    design
}

/// Removes what a fresh design left in the cache.
fn forget(objects: impl IntoIterator<Item = std::path::PathBuf>) {
    for object in objects {
        std::fs::remove_dir_all(object.parent().unwrap()).unwrap();
    }
}

#[test]
fn the_second_load_builds_nothing_and_a_changed_text_builds_again() {
    let mut design = fresh();
    let first = shared_object(&design, Variant::Plain, Speed::Build).unwrap();
    assert!(first.built);

    let second = shared_object(&design, Variant::Plain, Speed::Build).unwrap();
    assert!(!second.built);
    assert_eq!(first.path, second.path);

    let entry = first.path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let log = std::fs::read_to_string(build_log()).unwrap();
    assert_eq!(log.lines().filter(|line| line.starts_with(&entry)).count(), 1, "one line for one build");

    design.text = design.text.replace("16'd1", "16'd2");
    let changed = shared_object(&design, Variant::Plain, Speed::Build).unwrap();
    assert!(changed.built);
    assert_ne!(first.path, changed.path);
    forget([first.path, changed.path]);
}

#[test]
fn threads_that_ask_together_build_once() {
    let design = fresh();
    let start = Barrier::new(4);
    let ask = || {
        start.wait();
        shared_object(&design, Variant::Plain, Speed::Build).unwrap()
    };
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|answer| answer.built).count(), 1);
    assert!(answers.iter().all(|answer| answer.path == answers[0].path));
    forget([answers[0].path.clone()]);
}

#[test]
fn a_design_that_is_kept_is_made_once() {
    let name = format!("kept-test-{}", std::process::id());
    let failed = kept(&name, || Err(Error::Emit { reason: "not now".into() }));
    assert!(matches!(failed, Err(Error::Emit { .. })), "{failed:?}");

    let made = counter();
    assert_eq!(kept(&name, || Ok(made.clone())).unwrap(), made, "a failure is not kept");
    assert_eq!(kept(&name, || panic!("it is there")).unwrap(), made);

    let other = format!("{name}-other");
    let mut changed = counter();
    changed.text = changed.text.replace("16'd1", "16'd2");
    assert_eq!(kept(&other, || Ok(changed.clone())).unwrap(), changed, "another name is another design");
    assert_eq!(kept(&name, || panic!("it is there")).unwrap(), made);

    let entries = std::fs::read_dir(models_dir()).unwrap().map(|entry| entry.unwrap().path());
    let is_ours = |path: &std::path::PathBuf| {
        path.file_name().is_some_and(|found| found.to_string_lossy().starts_with(&name))
    };
    let entries: Vec<_> = entries.filter(is_ours).collect();
    assert_eq!(entries.len(), 2, "{entries:?}");
    for path in entries {
        std::fs::remove_dir_all(path).unwrap();
    }
}
