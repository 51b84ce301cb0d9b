//! A machine of folders: files take what is written, and links are as the kernel would have them afterwards.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

const ADDRESS: &str = "0000:41:00.0";

struct Machine {
    root: TempDir,
}

impl Machine {
    /// A device with a driver, or none, in group 7, on a kernel that has vfio-pci.
    fn new(driver: Option<&str>) -> Self {
        let machine = Self { root: TempDir::new().unwrap() };
        fs::create_dir_all(machine.path("dev")).unwrap();
        fs::write(machine.path("dev/7"), "").unwrap();
        fs::create_dir_all(machine.path("sys/drivers/vfio-pci")).unwrap();
        fs::create_dir_all(machine.path("groups/7/devices")).unwrap();
        fs::write(machine.path("sys/drivers_probe"), "").unwrap();
        machine.add(ADDRESS, driver);
        machine
    }

    fn add(&self, address: &str, driver: Option<&str>) {
        let device = self.path(&format!("sys/devices/{address}"));
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("driver_override"), "").unwrap();
        symlink(self.path("groups/7"), device.join("iommu_group")).unwrap();
        symlink(&device, self.path(&format!("groups/7/devices/{address}"))).unwrap();
        if let Some(driver) = driver {
            let folder = self.path(&format!("sys/drivers/{driver}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("unbind"), "").unwrap();
            symlink(folder, device.join("driver")).unwrap();
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn system(&self) -> System {
        System { sys: self.path("sys"), dev: self.path("dev") }
    }
}

#[test]
fn a_device_that_has_the_driver_is_left_with_it_and_its_group_is_told() {
    let machine = Machine::new(Some(VFIO));
    let done = machine.system().bind(ADDRESS, None).unwrap();
    let group = machine.path("dev/7");
    assert_eq!(done.to_string(), format!("{ADDRESS} has vfio-pci; programs open it by {}", group.display()));
    assert_eq!(machine.text(&format!("sys/devices/{ADDRESS}/driver_override")), "vfio-pci\n");
    assert_eq!(machine.text("sys/drivers_probe"), "");
}

/// The kernel of this machine does not act, which is what a kernel that refuses looks like.
#[test]
fn a_device_is_taken_from_its_driver_and_given_to_the_other() {
    let machine = Machine::new(Some("xdma"));
    let refused = machine.system().bind(ADDRESS, None).unwrap_err().to_string();
    assert_eq!(machine.text("sys/drivers/xdma/unbind"), ADDRESS);
    assert_eq!(machine.text("sys/drivers_probe"), ADDRESS);
    assert_eq!(refused, format!("{ADDRESS} was given to vfio-pci, and has xdma now: `dmesg` may say why"));
}

#[test]
fn a_device_is_given_back() {
    let machine = Machine::new(Some(VFIO));
    let done = machine.system().unbind(ADDRESS).unwrap();
    assert_eq!(machine.text(&format!("sys/devices/{ADDRESS}/driver_override")), "\n");
    assert_eq!(machine.text("sys/drivers/vfio-pci/unbind"), ADDRESS);
    assert_eq!(machine.text("sys/drivers_probe"), ADDRESS);
    assert_eq!(done.driver.as_deref(), Some(VFIO), "this machine's kernel does not act");
}

#[test]
fn each_thing_that_is_missing_is_named_with_what_to_do() {
    let machine = Machine::new(None);
    let says = |address: &str| machine.system().bind(address, None).unwrap_err().to_string();
    for wrong in ["0000:42:00.0", "", "../devices/0000:41:00.0"] {
        assert!(says(wrong).contains("lspci -D"), "{wrong}: {}", says(wrong));
    }
    fs::remove_dir(machine.path("sys/drivers/vfio-pci")).unwrap();
    assert!(says(ADDRESS).contains("modprobe vfio-pci"), "{}", says(ADDRESS));
    fs::remove_file(machine.path(&format!("sys/devices/{ADDRESS}/iommu_group"))).unwrap();
    assert!(says(ADDRESS).contains("intel_iommu=on"), "{}", says(ADDRESS));
}

#[test]
fn others_of_the_group_that_have_drivers_are_named() {
    let machine = Machine::new(Some(VFIO));
    machine.add("0000:41:00.1", Some("snd_hda_intel"));
    machine.add("0000:41:00.2", None);
    machine.add("0000:40:00.0", Some("pcieport"));
    let refused = machine.system().bind(ADDRESS, None).unwrap_err().to_string();
    assert!(refused.contains("shares its IOMMU group with 0000:41:00.1: "), "{refused}");
}

#[test]
fn an_owner_is_numbers() {
    assert_eq!("1000".parse(), Ok(Owner { user: 1000, group: None }));
    assert_eq!("1000:5".parse(), Ok(Owner { user: 1000, group: Some(5) }));
    assert_eq!("alice".parse::<Owner>(), Err("\"alice\" is no number: see `id`".to_owned()));
    let machine = Machine::new(Some(VFIO));
    fs::remove_file(machine.path("dev/7")).unwrap();
    let refused = machine.system().bind(ADDRESS, "0".parse().ok()).unwrap_err().to_string();
    assert!(refused.starts_with(&format!("writing {}: ", machine.path("dev/7").display())), "{refused}");
}

#[test]
fn our_cards_are_found_among_other_devices() {
    let machine = Machine::new(Some(VFIO));
    machine.add("0000:01:00.0", None);
    machine.add("0000:02:00.0", Some("mlx5_core"));
    assert_eq!(machine.system().boards(), []);
    for (address, vendor) in [(ADDRESS, VENDOR), ("0000:01:00.0", VENDOR), ("0000:02:00.0", "0x15b3")] {
        let device = machine.path(&format!("sys/devices/{address}"));
        fs::write(device.join("vendor"), format!("{vendor}\n")).unwrap();
        fs::write(device.join("device"), format!("{DEVICE}\n")).unwrap();
    }
    let board = |address: &str, driver: Option<&str>| Board {
        address: address.to_owned(),
        driver: driver.map(str::to_owned),
    };
    assert_eq!(machine.system().boards(), [board("0000:01:00.0", None), board(ADDRESS, Some(VFIO))]);
}
