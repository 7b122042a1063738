//! Takes the inputs apart into what can be read: workbooks and groups of text files.
//!
//! Folders and archives are opened here, one archive inside another at most; nothing of a leaf is
//! read beyond the bytes that tell its form.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::archive::{Archive, Entry, is_ignorable};
use crate::error::{Error, ErrorCode};
use crate::input::{Input, Source};
use crate::limits::Limits;
use crate::problem::{Problem, Problems, Severity};
use crate::sniff::{Form, HEAD, ZipKind, form, zip_kind};
use crate::tab::{Tab, TabName, parse_file_name};

/// Archives inside archives: a zip of zipped exports.
const DEEPEST_ARCHIVE: usize = 2;
/// Folders inside a folder.
const DEEPEST_FOLDER: usize = 3;

/// Something to read.
pub(crate) enum Unit {
    Workbook {
        name: String,
        source: Source,
        archive: Archive,
    },
    LegacyWorkbook {
        name: String,
        source: Source,
    },
    /// The text files of one export.
    Texts {
        name: String,
        files: Vec<TextFile>,
    },
}

/// One text file of an export.
pub(crate) struct TextFile {
    pub(crate) name: String,
    /// What its name says, if it says anything.
    pub(crate) tab: Option<Tab>,
    pub(crate) content: Content,
    /// Sent by itself, not found in an archive or folder.
    pub(crate) alone: bool,
}

/// Bytes that are read when their turn comes.
pub(crate) enum Content {
    Source(Source),
    Inner(Arc<Archive>, Entry),
}

impl Content {
    pub(crate) fn bytes(&self, name: &str, limits: &Limits) -> Result<Arc<[u8]>, Error> {
        match self {
            Self::Source(source) => source.bytes().map_err(|error| Error::io(name, &error)),
            Self::Inner(archive, entry) => {
                Ok(archive.inflate(name, entry, limits.input_bytes)?.into())
            }
        }
    }
}

/// The units of a run, and what was left aside.
pub(crate) struct Leaves<'l> {
    limits: &'l Limits,
    pub(crate) units: Vec<Unit>,
    pub(crate) problems: Problems,
    /// Unit of a group of text files, by group and by how often its tab occurred before.
    groups: BTreeMap<(String, usize), usize>,
    files: usize,
    /// Bytes of all inputs, as they came.
    pub(crate) input_bytes: u64,
}

impl<'l> Leaves<'l> {
    pub(crate) fn new(limits: &'l Limits) -> Self {
        Self {
            limits,
            units: Vec::new(),
            problems: Problems::default(),
            groups: BTreeMap::new(),
            files: 0,
            input_bytes: 0,
        }
    }

    /// Takes one input apart.
    pub(crate) fn add(&mut self, input: &Input) -> Result<(), Error> {
        match &input.source {
            Source::Path(path) if path.is_dir() => {
                let before = self.units.len();
                self.add_folder(&input.name, path, 0)?;
                if self.units.len() == before {
                    return Err(Error::new(
                        ErrorCode::NotAnInventory,
                        &input.name,
                        "a folder without an RVTools export",
                        "RVTools_tabvInfo.csv and its siblings, or a workbook",
                        "give the folder that RVTools exported to",
                    ));
                }
                Ok(())
            }
            source => self.add_source(&input.name, "", source, true),
        }
    }

    fn add_folder(&mut self, name: &str, path: &Path, depth: usize) -> Result<(), Error> {
        let listed = std::fs::read_dir(path).map_err(|error| Error::io(name, &error))?;
        let mut entries = Vec::new();
        for entry in listed {
            let entry = entry.map_err(|error| Error::io(name, &error))?;
            entries.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
            self.count_file(name)?;
        }
        entries.sort();
        for (entry, path) in entries {
            let inner = format!("{name}/{entry}");
            if is_ignorable(&entry) {
                continue;
            }
            if path.is_dir() {
                if depth < DEEPEST_FOLDER {
                    self.add_folder(&inner, &path, depth + 1)?;
                }
            } else {
                self.add_source(&inner, name, &Source::Path(path), false)?;
            }
        }
        Ok(())
    }

    fn count_file(&mut self, name: &str) -> Result<(), Error> {
        self.files += 1;
        if self.files > self.limits.files {
            return Err(Error::new(
                ErrorCode::TooLarge,
                name,
                format!("more than {} files in one run", self.limits.files),
                "the exports of one estate",
                "send fewer files at a time",
            ));
        }
        Ok(())
    }

    /// A file of its own, or in a folder.
    fn add_source(
        &mut self,
        name: &str,
        group: &str,
        source: &Source,
        alone: bool,
    ) -> Result<(), Error> {
        if alone {
            self.count_file(name)?;
        }
        let size = source.len().map_err(|error| Error::io(name, &error))?;
        if size > self.limits.input_bytes {
            return Err(Error::new(
                ErrorCode::TooLarge,
                name,
                format!("{size} bytes"),
                format!("at most {} bytes", self.limits.input_bytes),
                "send the export packed, or raise the limit",
            ));
        }
        self.input_bytes = self.input_bytes.saturating_add(size);
        let mut head = Vec::new();
        source
            .open()
            .and_then(|reader| reader.take(HEAD as u64).read_to_end(&mut head))
            .map_err(|error| Error::io(name, &error))?;
        self.add_content(name, group, &head, &Content::Source(source.clone()), alone, 0)
    }

    fn add_content(
        &mut self,
        name: &str,
        group: &str,
        head: &[u8],
        content: &Content,
        alone: bool,
        depth: usize,
    ) -> Result<(), Error> {
        match form(head) {
            Form::Empty if alone => Err(Error::new(
                ErrorCode::Empty,
                name,
                "an empty file",
                "an RVTools export (xlsx, xls, or CSV files)",
                "export again and check the size of the file",
            )),
            Form::Html if alone => Err(unsupported(
                name,
                "a web page, whatever its name says",
                "open it in a spreadsheet program and save it as xlsx, or export again",
            )),
            Form::Other(what) if alone => Err(unsupported(
                name,
                what,
                "send the RVTools export itself; unpack archives of other kinds, save other \
                 spreadsheets as xlsx",
            )),
            Form::Empty => {
                self.ignore(name, "an empty file");
                Ok(())
            }
            Form::Html => {
                self.ignore(name, "a web page");
                Ok(())
            }
            Form::Other(what) => {
                self.ignore(name, what);
                Ok(())
            }
            Form::Text => {
                self.add_text(name, group, content, alone);
                Ok(())
            }
            Form::Compound => {
                let source = self.whole(name, content)?;
                self.units.push(Unit::LegacyWorkbook { name: name.to_owned(), source });
                Ok(())
            }
            Form::Zip => self.add_zip(name, content, alone, depth),
        }
    }

    fn add_zip(
        &mut self,
        name: &str,
        content: &Content,
        alone: bool,
        depth: usize,
    ) -> Result<(), Error> {
        let source = self.whole(name, content)?;
        let archive = Archive::open(name, &source, self.limits)?;
        match zip_kind(&archive) {
            ZipKind::Workbook => {
                self.units.push(Unit::Workbook { name: name.to_owned(), source, archive });
                Ok(())
            }
            ZipKind::Other(what) if alone => {
                Err(unsupported(name, what, "save it as xlsx, or export again"))
            }
            ZipKind::Other(what) => {
                self.ignore(name, what);
                Ok(())
            }
            ZipKind::Files if depth >= DEEPEST_ARCHIVE => Err(Error::new(
                ErrorCode::UnsafeArchive,
                name,
                "an archive inside an archive inside an archive",
                "exports in an archive, or archives of exports in one archive",
                "unpack it first",
            )),
            ZipKind::Files => self.add_archive(name, archive, depth),
        }
    }

    fn add_archive(&mut self, name: &str, archive: Archive, depth: usize) -> Result<(), Error> {
        let archive = Arc::new(archive);
        let before = self.units.len();
        let mut entries = archive.entries.clone();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        for entry in entries {
            if is_ignorable(&entry.name) {
                continue;
            }
            let inner = format!("{name}/{}", entry.name);
            self.count_file(&inner)?;
            let folder = entry.name.rsplit_once('/').map_or("", |(folder, _)| folder);
            let group =
                if folder.is_empty() { name.to_owned() } else { format!("{name}/{folder}") };
            let head = archive.head(&inner, &entry)?;
            let content = Content::Inner(Arc::clone(&archive), entry);
            self.add_content(&inner, &group, &head, &content, false, depth + 1)?;
        }
        if self.units.len() == before && depth == 0 {
            return Err(Error::new(
                ErrorCode::NotAnInventory,
                name,
                "an archive without an RVTools export",
                "a workbook, or RVTools_tabvInfo.csv and its siblings",
                "pack the files that RVTools exported",
            ));
        }
        Ok(())
    }

    /// Text files of one folder are one export; a second file of the same tab begins another.
    fn add_text(&mut self, name: &str, group: &str, content: &Content, alone: bool) {
        let tab = match parse_file_name(name) {
            TabName::Read { tab, .. } => Some(tab),
            TabName::Unread(known) => {
                self.ignore(name, &format!("the tab {known}, which is not used"));
                return;
            }
            TabName::Unknown => None,
        };
        let file = TextFile {
            name: name.to_owned(),
            tab,
            content: match content {
                Content::Source(source) => Content::Source(source.clone()),
                Content::Inner(archive, entry) => {
                    Content::Inner(Arc::clone(archive), entry.clone())
                }
            },
            alone,
        };
        let mut round = 0;
        loop {
            let unit = self.groups.get(&(group.to_owned(), round)).copied();
            match unit.and_then(|unit| self.units.get_mut(unit)) {
                Some(Unit::Texts { files, .. }) => {
                    if tab.is_some() && files.iter().any(|other| other.tab == tab) {
                        round += 1;
                        continue;
                    }
                    files.push(file);
                }
                _ => {
                    self.groups.insert((group.to_owned(), round), self.units.len());
                    let unit = if group.is_empty() { name } else { group };
                    self.units.push(Unit::Texts { name: unit.to_owned(), files: vec![file] });
                }
            }
            return;
        }
    }

    /// The source of a leaf; one inside an archive is inflated into memory.
    fn whole(&self, name: &str, content: &Content) -> Result<Source, Error> {
        Ok(match content {
            Content::Source(source) => source.clone(),
            inner @ Content::Inner(..) => Source::Memory(inner.bytes(name, self.limits)?),
        })
    }

    fn ignore(&mut self, name: &str, what: &str) {
        self.problems.push(Problem {
            severity: Severity::Note,
            code: "file-ignored".to_owned(),
            file: name.to_owned(),
            tab: String::new(),
            row: None,
            column: String::new(),
            value: what.to_owned(),
            expected: "a tab of an RVTools export".to_owned(),
            action: "not read".to_owned(),
        });
    }
}

impl Archive {
    /// The first bytes of an entry.
    fn head(&self, name: &str, entry: &Entry) -> Result<Vec<u8>, Error> {
        let mut zip = crate::archive::directory(&self.source)
            .map_err(|error| crate::archive::refused(name, &error))?;
        let reader =
            zip.by_index(entry.index).map_err(|error| crate::archive::refused(name, &error))?;
        let mut head = Vec::new();
        reader
            .take(HEAD as u64)
            .read_to_end(&mut head)
            .map_err(|error| Error::damaged(name, error))?;
        Ok(head)
    }
}

fn unsupported(name: &str, what: &str, action: &str) -> Error {
    Error::new(
        ErrorCode::UnsupportedFormat,
        name,
        what,
        "an RVTools export (xlsx, xls, or CSV files)",
        action,
    )
}
