//! A site of 100,000 VMs. Run by hand: `cargo test --release -p plimsoll-inventory -- --ignored --nocapture`.

use std::time::Instant;

use crate::testing::*;

#[test]
#[ignore = "a measurement, not a check"]
#[expect(clippy::print_stderr, reason = "prints the measurement")]
fn one_hundred_thousand_vms() {
    let mut export = export();
    export.vms = (0..100_000).map(vm).collect();
    for number in 0..100_000 {
        let row = &mut export.vms[number as usize];
        row.in_use = mib(40_000);
        row.host = text(&format!("host-{}", number / 50));
        row.path = text(&format!("[ds-{}] vm-{number}/vm-{number}.vmx", number / 200));
        for index in 0..2 {
            let path = format!("[ds-{}] vm-{number}/vm-{number}_{index}.vmdk", number / 200);
            export.disks.push(disk(number * 2 + index, number, 50_000, &path));
            export.partitions.push(partition(number * 2 + index, number, 50_000, 20_000));
        }
    }
    for number in 0..500 {
        export.datastores.push(datastore(number + 2, &format!("ds-{number}"), 1 << 24, 1 << 23));
    }
    for _ in 0..3 {
        let start = Instant::now();
        let inventory = inventory(&export);
        let built = start.elapsed();
        assert_eq!(inventory.totals.disks, 200_000);
        eprintln!("100,000 VMs, 200,000 disks, 200,000 partitions: {built:?}");
    }
}
