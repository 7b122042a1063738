//! What a configuration may say, and how mistakes are told.

use std::net::SocketAddr;
use std::path::Path;

use plimsoll_target::config::Serve;
use plimsoll_target::{Backing, Config, Quick, Size, TargetError};

const SAMPLE: &str = include_str!("../../../../../data/samples/target.toml");

fn error(text: &str) -> String {
    Config::parse(text, Some(Path::new("target.toml"))).unwrap_err().to_string()
}

#[test]
fn the_sample_loads_and_says_what_it_claims() {
    let config = Config::parse(SAMPLE, None).unwrap();
    assert_eq!(config.volumes.len(), 7);
    assert_eq!(config.volumes.iter().filter(|v| v.serve == Serve::Iscsi).count(), 1);
    assert_eq!(config.limits.flow.iops, Some(73_040.0));
    assert_eq!(config.rules.rules().pool_step_bytes, 1 << 40);
    assert_eq!(config.iscsi.unwrap().portals.len(), 2);
}

#[test]
fn the_examples_in_the_comments_of_the_sample_are_valid_too() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["esx.secret", "array.secret"] {
        std::fs::write(folder.path().join(name), format!("a secret of {name}\n")).unwrap();
    }
    let mut in_sections = false;
    let text: String = SAMPLE
        .lines()
        .map(|line| {
            in_sections |= line == "[iscsi]";
            if !in_sections {
                return format!("{line}\n");
            }
            let hidden = line.strip_prefix("# ").filter(|line| {
                line.starts_with("access = [") || line.starts_with("    ") || *line == "]"
            });
            format!("{}\n", hidden.unwrap_or(line))
        })
        .collect();
    let path = folder.path().join("target.toml");
    std::fs::write(&path, text.replace("127.0.0.1:3260", "127.0.0.1:0")).unwrap();
    let config = Config::load(&path).unwrap();
    assert_eq!(config.nfs.as_ref().unwrap().access.len(), 2);
    let chap = config.iscsi.as_ref().unwrap().access[0].chap.as_ref().unwrap();
    assert_eq!(chap.users[0].name, "esx");
}

#[test]
fn an_unknown_key_is_an_error_with_its_line() {
    let message = error("[array]\nname = \"a\"\nbakcing = \"memory\"\n");
    assert!(message.contains("line 3") && message.contains("bakcing"), "{message}");
    let message = error("[[pools]]\nname = \"p\"\nsize = \"4 apples\"\n");
    assert!(message.contains("line 3") && message.contains("is not a size"), "{message}");
    let message = error("[[pools]]\nname = \"p\"\nsize = -1\n");
    assert!(message.contains("not negative"), "{message}");
}

#[test]
fn contradictions_name_the_table_with_its_line_and_say_what_to_do() {
    let pool = "[[pools]]\nname = \"p\"\nsize = \"1GiB\"\n";
    let volume = |pool: &str, serve: &str| {
        format!(
            "[[volumes]]\nname = \"v\"\npool = \"{pool}\"\nserve = \"{serve}\"\nsize = \"1GiB\"\n"
        )
    };
    let message = error(&format!("{pool}{}", volume("q", "nfs")));
    assert!(message.contains("target.toml: line 4: [volumes]"), "{message}");
    assert!(message.contains("there are: p"), "{message}");
    let message = error(&format!("{pool}{}", volume("p", "nfs")));
    assert!(message.contains("there is no [nfs]; add it"), "{message}");
    let message = error(&format!("{pool}{}{}[nfs]\n", volume("p", "nfs"), volume("p", "nfs")));
    assert!(message.contains("line 9") && message.contains("twice"), "{message}");
    let message = error("[[pools]]\nname = \"p\"\nsize = 1\ntier = \"gold\"\n");
    assert!(message.contains("add [[tiers]]"), "{message}");
    let message = error("[iscsi]\nportals = [{ listen = \"127.0.0.1:1\", group = 0 }]\n");
    assert!(message.contains("numbered from 1"), "{message}");
    let message = error("[iscsi]\nportals = [{ listen = \"127.0.0.1:2049\" }]\n[nfs]\n");
    assert!(message.contains("listened on twice"), "{message}");
}

#[test]
fn chap_secrets_come_from_files_and_never_show() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("target.toml");
    let text = "[iscsi]\nportals = [{ listen = \"127.0.0.1:0\" }]\naccess = [{ chap = { users = [{ name = \"host\", secret_file = \"s\" }] } }]\n";
    std::fs::write(&path, text).unwrap();
    let config = Config::load(&path).unwrap();
    let missing = plimsoll_target::Target::start(config.clone()).unwrap_err().to_string();
    assert!(missing.contains("cannot read") && missing.contains("/s:"), "{missing}");
    std::fs::write(folder.path().join("s"), "short\n").unwrap();
    let short = plimsoll_target::Target::start(config.clone()).unwrap_err().to_string();
    assert!(short.contains("12 to 256") && !short.contains("short"), "{short}");
    std::fs::write(folder.path().join("s"), "correct horse battery\n").unwrap();
    let running = plimsoll_target::Target::start(config).unwrap();
    assert!(!format!("{running:?}").contains("horse"));
    running.stop().unwrap();
}

fn quick(size: &str, volumes: u32) -> Result<Config, TargetError> {
    let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
    Quick {
        size: size.parse::<Size>().unwrap(),
        backing: Backing::Memory,
        iscsi: address(3260),
        nfs: address(2049),
        volumes,
    }
    .config()
}

#[test]
fn quick_refuses_absurd_sizes_and_counts_by_name() {
    for (size, volumes, flag) in [
        ("256MiB", 0, "--volumes"),
        ("256MiB", 5000, "--volumes"),
        ("1KiB", 1, "--quick"),
        ("65TiB", 1, "--quick"),
        ("1048577", 1, "--quick"),
    ] {
        let message = quick(size, volumes).unwrap_err().to_string();
        assert!(message.starts_with(flag), "{message}");
    }
    let config = quick("256MiB", 3).unwrap();
    let names: Vec<_> = config.volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(names, ["lun0", "lun1", "lun2", "export0", "export1", "export2"]);
}
