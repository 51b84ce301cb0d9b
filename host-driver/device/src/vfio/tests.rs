use std::{sync::mpsc, thread, time::Instant};

use vmm_sys_util::errno;

use super::*;
use crate::pci::tests::{ADDRESS, sysfs};

/// A group no machine has.
const NO_GROUP: &str = "4294967295";

#[test]
fn an_unknown_address_is_refused_before_anything_is_opened() {
    let refused = Vfio::open("ffff:ff:1f.7").err().expect("there is no such device");
    assert_eq!(
        refused.to_string(),
        "no PCI device at /sys/bus/pci/devices/ffff:ff:1f.7: addresses look like 0000:41:00.0, `lspci -D` lists them"
    );
}

#[test]
fn a_missing_container_or_group_says_what_to_do() {
    let root = sysfs(Some(NO_GROUP), Some("vfio-pci"), "0");
    let refused = Vfio::open_below(root.path(), ADDRESS).err().expect("there is no such group");
    let text = refused.to_string();
    let Error::Backend { operation, advice, .. } = refused else { panic!("{text}") };
    let (step, expected) = if Path::new("/dev/vfio/vfio").exists() {
        ("opening the VFIO device", Advice::Group)
    } else {
        ("opening the VFIO container", Advice::Modules)
    };
    assert_eq!((operation, advice), (format!("{step} for {ADDRESS}"), Some(expected)), "{text}");
    assert!(text.contains("vfio-pci") && text.contains("/dev/vfio"), "{text}");
}

#[test]
fn each_refusal_of_the_kernel_that_has_a_known_cure_names_it() {
    let io = || io::Error::from(io::ErrorKind::NotFound);
    let denied = || io::Error::from_raw_os_error(libc::EACCES);
    let busy = io::Error::from_raw_os_error(libc::EBUSY);
    let rows = [
        (VfioError::OpenContainer(io()), "vfio-pci"),
        (VfioError::OpenGroup(io(), "7".into()), "bind every device of the IOMMU group"),
        (VfioError::OpenContainer(denied()), "let this user read and write"),
        (VfioError::OpenGroup(denied(), "7".into()), "chown USER /dev/vfio/GROUP"),
        (VfioError::OpenGroup(busy, "7".into()), "one process at a time"),
        (VfioError::GroupViable, "every device of the IOMMU group"),
        (VfioError::ContainerSetIOMMU(errno::Error::new(libc::EPERM)), "intremap=on"),
        (VfioError::GroupGetDeviceFD(errno::Error::new(libc::ENODEV)), "bind the device to vfio-pci"),
        (VfioError::IommuDmaMap(errno::Error::new(libc::ENOMEM)), "ulimit -l"),
    ];
    for (source, cure) in rows {
        let text = refused("trying".into(), source).to_string();
        assert!(text.starts_with("trying: ") && text.contains(cure), "{text}");
    }
    let plain = refused("trying".into(), VfioError::IommuDmaMap(errno::Error::new(libc::EINVAL)));
    assert!(matches!(plain, Error::Backend { advice: None, .. }), "{plain}");
}

fn event() -> EventFd {
    EventFd::new(EFD_NONBLOCK).unwrap()
}

#[test]
fn an_event_before_the_wait_is_kept_and_taken_once() {
    let event = event();
    event.write(1).unwrap();
    event.write(1).unwrap();
    assert_eq!(take(&event, Duration::ZERO).unwrap(), Wake::Fired);
    assert_eq!(take(&event, Duration::ZERO).unwrap(), Wake::TimedOut);
}

#[test]
fn a_wait_lasts_its_time_and_not_much_longer() {
    let patience = Duration::from_micros(2500);
    let start = Instant::now();
    assert_eq!(take(&event(), patience).unwrap(), Wake::TimedOut);
    let waited = start.elapsed();
    assert!(waited >= patience && waited < Duration::from_secs(30), "{waited:?}");
}

#[test]
fn an_event_ends_a_wait() {
    let event = event();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| take(&event, Duration::MAX).unwrap());
        event.write(1).unwrap();
        assert_eq!(waiter.join().unwrap(), Wake::Fired);
    });
}

#[test]
fn one_event_ends_one_of_many_waits() {
    let event = event();
    let (done, finished) = mpsc::channel();
    let pause = Duration::from_millis(5);
    thread::scope(|scope| {
        for _ in 0..4 {
            let (event, done) = (&event, done.clone());
            scope.spawn(move || done.send(take(event, Duration::from_mins(1)).unwrap()).unwrap());
        }
        for _ in 0..4 {
            // Time for all to wait, and for a second one to end by mistake; right or wrong does not hang on it.
            thread::sleep(pause);
            assert!(finished.try_recv().is_err(), "a wait ended without an event of its own");
            event.write(1).unwrap();
            assert_eq!(finished.recv().unwrap(), Wake::Fired);
        }
    });
}

#[test]
fn an_event_taken_by_another_thread_does_not_end_a_wait() {
    let event = event();
    event.write(1).unwrap();
    let stolen = || io::Error::from(io::ErrorKind::WouldBlock);
    let wait = |reads: Vec<io::Result<u64>>, timeout| {
        let mut reads = reads.into_iter();
        let outcome = take_by(|| reads.next().unwrap(), borrowed(&event), timeout);
        (outcome.map_err(|error| error.kind()), reads.len())
    };
    let long = Duration::from_mins(1);
    assert_eq!(wait(vec![Err(stolen()), Err(stolen()), Ok(1)], long), (Ok(Wake::Fired), 0));
    assert_eq!(wait(vec![Err(stolen()), Ok(1)], Duration::ZERO), (Ok(Wake::TimedOut), 1));
    let broken = io::ErrorKind::InvalidInput;
    assert_eq!(wait(vec![Err(broken.into())], long), (Err(broken), 0));
}

#[test]
fn the_reset_request_is_the_one_of_linux_vfio_h() {
    // _IO(';', 100 + 11)
    assert_eq!(VFIO_DEVICE_RESET(), 0x3b6f);
}

#[test]
fn a_backend_of_the_kernel_can_be_shared_between_threads() {
    fn shared<T: Backend + Send + Sync + 'static>() -> usize {
        size_of::<T>()
    }
    assert!(shared::<Vfio>() > 0);
}
