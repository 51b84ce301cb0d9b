use super::*;

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("stroma-{}-{name}", std::process::id()))
}

#[test]
fn what_is_written_is_read_back_to_the_nanosecond() {
    let path = scratch("written.pcapng");
    let frames =
        [(Duration::from_nanos(5), vec![1, 2, 3]), (Duration::new(7, 123_456_789), vec![0xab; 1500])];
    let mut writer = Writer::create(&path).unwrap();
    for (time, bytes) in &frames {
        writer.write(*time, bytes).unwrap();
    }
    writer.finish().unwrap();
    let read: Vec<(Duration, Vec<u8>)> =
        read(&path).unwrap().into_iter().map(|frame| (frame.time, frame.bytes)).collect();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read, frames);
}

#[test]
fn a_link_in_the_place_of_a_capture_leaves_its_target_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let [target, link] = ["precious", "card0.pcapng"].map(|name| folder.path().join(name));
    std::fs::write(&target, "mine").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let refused = Writer::create(&link).err().expect("it is not written");
    assert!(matches!(refused, Error::Io { what: "creating", .. }), "{refused}");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
}

#[test]
fn a_recorded_frame_knows_its_way_and_its_fault() {
    let path = scratch("recorded.pcapng");
    let mut writer = Writer::create(&path).unwrap();
    for (direction, bad) in [(Direction::In, true), (Direction::In, false), (Direction::Out, false)] {
        writer.record(Duration::from_nanos(1), direction, bad, &[7; 60]).unwrap();
    }
    writer.write(Duration::from_nanos(2), &[8; 60]).unwrap();
    writer.finish().unwrap();
    let read: Vec<_> = read(&path).unwrap().iter().map(|frame| (frame.direction, frame.bad)).collect();
    std::fs::remove_file(&path).unwrap();
    let (inwards, outwards) = (Some(Direction::In), Some(Direction::Out));
    assert_eq!(read, [(inwards, true), (inwards, false), (outwards, false), (None, false)]);
}

#[test]
fn a_file_that_is_no_capture_is_refused_by_name() {
    let path = scratch("none.pcap");
    std::fs::write(&path, b"not a capture at all, really not").unwrap();
    let error = read(&path).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(&error, Error::Format { packet: 0, .. }), "{error}");
    assert!(error.to_string().contains("none.pcap"), "{error}");
    assert!(matches!(read(&path), Err(Error::Io { what: "reading", .. })));
}

#[test]
fn a_stream_is_read_as_it_comes_with_what_was_lost() {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut writer = Writer::over(writer, "stroma0").unwrap();
    let mut live = Live::new(reader, Path::new("stream")).unwrap();
    for round in 1..=3 {
        let time = Duration::from_nanos(round);
        writer.record(time, Direction::Out, false, &[7; 60]).unwrap();
        let Some(News::Frame(frame)) = live.next().unwrap() else { panic!("a frame") };
        assert_eq!((frame.time, frame.direction), (time, Some(Direction::Out)));
        writer.lost(time, round * 10).unwrap();
        assert_eq!(live.next().unwrap(), Some(News::Lost(round * 10)));
    }
    drop(writer);
    assert_eq!(live.next().unwrap(), None);
}
