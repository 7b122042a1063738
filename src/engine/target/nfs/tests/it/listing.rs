//! READDIR and READDIRPLUS.

use std::collections::HashSet;

use plimsoll_wire::nfs3::{
    FileHandle, Procedure, ReadDirArgs, ReadDirPlusArgs, ReadDirPlusResult, ReadDirResult, Status,
};

use crate::client::{Bytes, Client, memory, parse};

struct Page {
    names: Vec<String>,
    cookie: u64,
    verifier: [u8; 8],
    eof: bool,
    bytes: usize,
}

fn plain(
    client: &mut Client,
    dir: &[u8],
    from: (u64, [u8; 8]),
    count: u32,
) -> Result<Page, Status> {
    let (cookie, verifier) = from;
    let args = ReadDirArgs { dir: FileHandle(dir), cookie, verifier, count };
    let results = client.nfs(Procedure::ReadDir, &args);
    let ok = parse::<ReadDirResult<'_>>(&results).map_err(|failure| failure.status)?;
    Ok(Page {
        names: ok.entries.iter().map(|entry| text(entry.name.0)).collect(),
        cookie: ok.entries.last().map_or(cookie, |entry| entry.cookie),
        verifier: ok.verifier,
        eof: ok.eof,
        bytes: results.len() - 4,
    })
}

fn plus(
    client: &mut Client,
    dir: &[u8],
    from: (u64, [u8; 8]),
    limits: (u32, u32),
) -> Result<Page, Status> {
    let (cookie, verifier) = from;
    let (dir_count, max_count) = limits;
    let args = ReadDirPlusArgs { dir: FileHandle(dir), cookie, verifier, dir_count, max_count };
    let results = client.nfs(Procedure::ReadDirPlus, &args);
    let ok = parse::<ReadDirPlusResult<'_>>(&results).map_err(|failure| failure.status)?;
    for entry in &ok.entries {
        let handle: Bytes = entry.file.unwrap().0.to_vec();
        assert_eq!(entry.attributes.unwrap().fileid, entry.fileid);
        assert_eq!(handle.len(), 32);
    }
    Ok(Page {
        names: ok.entries.iter().map(|entry| text(entry.name.0)).collect(),
        cookie: ok.entries.last().map_or(cookie, |entry| entry.cookie),
        verifier: ok.verifier,
        eof: ok.eof,
        bytes: results.len() - 4,
    })
}

fn text(name: &[u8]) -> String {
    String::from_utf8(name.to_vec()).unwrap()
}

#[test]
fn rfc1813_3_3_17_pages_keep_to_the_limits_and_survive_removal() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    for number in 0..300 {
        client.file(&root, format!("file-{number:03}").as_bytes());
    }
    for plus_too in [false, true] {
        let mut position = (0, [0; 8]);
        let mut seen = Vec::new();
        let mut pages = 0;
        loop {
            let page = if plus_too {
                let page = plus(&mut client, &root, position, (400, 4096)).unwrap();
                assert!(page.bytes <= 4096, "{}", page.bytes);
                let names: usize = page.names.iter().map(|name| 24 + name.len()).sum();
                assert!(names <= 400 + 64, "dircount is honoured: {names}");
                page
            } else {
                let page = plain(&mut client, &root, position, 1024).unwrap();
                assert!(page.bytes <= 1024, "{}", page.bytes);
                page
            };
            assert!(!page.names.is_empty() || page.eof);
            position = (page.cookie, page.verifier);
            // Remove what was just told, and make something new, as a client that cleans up would.
            for name in page.names.iter().filter(|name| name.ends_with('7')) {
                client.remove(&root, name.as_bytes()).unwrap();
                if !plus_too {
                    client.file(&root, format!("{name}-again").as_bytes());
                }
            }
            seen.extend(page.names);
            pages += 1;
            if page.eof {
                break;
            }
        }
        assert!(pages > 10);
        assert_eq!(&seen[..2], [".", ".."]);
        let unique: HashSet<_> = seen.iter().collect();
        assert_eq!(unique.len(), seen.len(), "no name twice");
        for number in (0..300).filter(|number| number % 10 != 7) {
            assert!(unique.contains(&format!("file-{number:03}")), "{number}");
        }
    }
}

#[test]
fn a_strange_cookie_or_verifier_is_told() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let file = client.file(&root, b"f");
    let page = plain(&mut client, &root, (0, [0; 8]), 4096).unwrap();
    assert!(page.eof);
    let again = plain(&mut client, &root, (page.cookie, page.verifier), 4096).unwrap();
    assert!(again.names.is_empty() && again.eof);
    let refused = |client: &mut Client, from| plain(client, &root, from, 4096).err().unwrap();
    assert_eq!(refused(&mut client, (page.cookie, [9; 8])), Status::BAD_COOKIE);
    assert_eq!(refused(&mut client, (1 << 60, page.verifier)), Status::BAD_COOKIE);
    let small = plus(&mut client, &root, (0, [0; 8]), (100, 50)).err().unwrap();
    assert_eq!(small, Status::TOO_SMALL);
    let no_dir = plain(&mut client, &file, (0, [0; 8]), 4096).err().unwrap();
    assert_eq!(no_dir, Status::NOT_DIRECTORY);
}
