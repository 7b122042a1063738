#!/usr/bin/env python3
"""Totals of inventory files, counted with openpyxl and plain additions.

Written apart from the reader it judges: it shares no code and no header table with it.
Usage: totals.py FOLDER > rvtools_totals.tsv   (needs openpyxl)

Rules. A row counts when the cell of its key column (VM, or Name in vDatastore) is neither blank nor
a repeated header. Blank cells add nothing. A tab or column that is absent gives 0. Labels that say
MB hold MiB and are added as they stand. `powered_off` leaves templates out;
`vms_counted` leaves out templates, placeholders, vCLS, powered-off and disconnected VMs. The columns
`partition_consumed_listed` and `note` say where the right figure needs judgement.
"""

import pathlib
import sys
import warnings

import openpyxl

warnings.simplefilter("ignore")

NOTES = {
    "kubev2v__example1.xlsx": "no vDatastore; thousands of styled blank cells below 9 rows",
    "mjvincent__rvtools-small-complete.xlsx": "no In Use column, no Template column, no vDatastore",
    "neil1taylor__test-rvtools.xlsx": "no vPartition; sizes and booleans are text cells",
    "reinhardfrie__BillSampleNextRvtoolsFinal.xlsx": (
        "vPartition's VM header reads 'NEXT Data Center' (find and replace): first column taken as VM; "
        "all its rows are added, 10 of its VMs are not in vInfo; no vDatastore; 4 raw mappings included"
    ),
    "reinhardfrie__SizingWorkshop-RVTools.xlsx": "no vDisk, no vDatastore",
}

COLUMNS = [
    "file", "vms_in_file", "vms_counted", "templates", "powered_off", "disks", "datastores", "provisioned_mib",
    "in_use_mib", "disk_capacity_mib", "partition_consumed_mib", "partition_consumed_listed_mib",
    "datastore_capacity_mib", "datastore_in_use_mib", "note",
]


def text(value):
    return "" if value is None else str(value).strip()


def number(value):
    """A size, or 0 for a blank."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    cleaned = text(value).replace(",", "")
    return float(cleaned) if cleaned else 0


def table(book, name, key):
    """Rows of a sheet as dictionaries; the first column stands in for a missing key column."""
    if name not in book.sheetnames:
        return []
    sheet = book[name]
    sheet.reset_dimensions()
    rows = sheet.iter_rows(values_only=True)
    headers = [text(cell) for cell in next(rows)]
    if key not in headers:
        headers[0] = key
    found = []
    for row in rows:
        record = dict(zip(headers, row))
        if text(record.get(key)) not in ("", key):
            found.append(record)
    return found


def total(rows, *labels):
    for label in labels:
        if rows and label in rows[0]:
            return round(sum(number(row[label]) for row in rows))
    return 0


def totals(path):
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    info = table(book, "vInfo", "VM")
    disks = table(book, "vDisk", "VM")
    partitions = table(book, "vPartition", "VM")
    stores = table(book, "vDatastore", "Name")
    template = [text(row.get("Template")).lower() in ("true", "1") for row in info]
    off = [text(row.get("Powerstate")).lower() == "poweredoff" for row in info]
    absent = [
        text(row.get("SRM Placeholder")).lower() == "true"
        or text(row["VM"]).lower().startswith("vcls")
        or text(row.get("Connection state")) not in ("", "connected")
        for row in info
    ]
    names = {text(row["VM"]) for row in info}
    listed = [row for row in partitions if text(row["VM"]) in names]
    return {
        "file": path.name,
        "vms_in_file": len(info),
        "vms_counted": sum(not (t or o or a) for t, o, a in zip(template, off, absent)),
        "templates": sum(template),
        "powered_off": sum(o and not t for o, t in zip(off, template)),
        "disks": len(disks),
        "datastores": len(stores),
        "provisioned_mib": total(info, "Provisioned MiB", "Provisioned MB"),
        "in_use_mib": total(info, "In Use MiB", "In Use MB"),
        "disk_capacity_mib": total(disks, "Capacity MiB", "Capacity MB"),
        "partition_consumed_mib": total(partitions, "Consumed MiB", "Consumed MB"),
        "partition_consumed_listed_mib": total(listed, "Consumed MiB", "Consumed MB"),
        "datastore_capacity_mib": total(stores, "Capacity MiB", "Capacity MB"),
        "datastore_in_use_mib": total(stores, "In Use MiB", "In Use MB"),
        "note": NOTES.get(path.name, ""),
    }


def main():
    print("\t".join(COLUMNS))
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.xlsx")):
        found = totals(path)
        print("\t".join(str(found[column]) for column in COLUMNS))


if __name__ == "__main__":
    main()
