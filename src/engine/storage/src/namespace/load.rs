//! How a namespace comes to be: empty in memory, or read back from its folder.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLock};

use super::attributes::{Attributes, FileId, Kind, Timestamp};
use super::data::{Data, OpenFiles, host_path, id_of_host_name};
use super::directory::Directory;
use super::error::OpenError;
use super::inode::{Content, Inode};
use super::journal::{Change, Contents, Journal};
use super::record::{Record, Rest};
use super::tree::Tree;
use super::{Namespace, OBJECTS_MAX, OBJECTS_MAX_IN_MEMORY};
use crate::{Blocking, Space};

/// Number of the top directory. Small numbers are left out: tools use them for reserved inodes.
const ROOT: FileId = FileId(64);
const DATABASE: &str = "namespace.redb";
const DATA: &str = "data";

impl Namespace {
    /// An empty namespace in memory.
    pub fn memory(space: Arc<Space>, blocking: Arc<Blocking>) -> Result<Arc<Self>, OpenError> {
        let root = Arc::new(Inode::new(root_attributes(), None, Content::Nothing));
        Ok(Arc::new(Self {
            tree: RwLock::new(Tree {
                inodes: HashMap::from([(ROOT, Arc::clone(&root))]),
                directories: HashMap::from([(ROOT, Directory::new(ROOT))]),
                next: ROOT.0 + 1,
            }),
            root,
            secret: new_secret()?,
            space,
            blocking,
            objects_max: AtomicU64::new(OBJECTS_MAX_IN_MEMORY),
            data_folder: None,
            open_files: Arc::default(),
            journal: None,
        }))
    }

    /// Opens the namespace kept in `folder`, or begins one there; blocking.
    pub fn open(
        folder: &Path,
        space: Arc<Space>,
        blocking: Arc<Blocking>,
    ) -> Result<Arc<Self>, OpenError> {
        let data_folder = folder.join(DATA);
        std::fs::create_dir_all(&data_folder).map_err(|source| OpenError::Host {
            action: "create",
            path: data_folder.clone(),
            source,
        })?;
        let database = folder.join(DATABASE);
        let damaged =
            |what: &str| OpenError::Damaged { path: database.clone(), what: what.to_owned() };
        let (journal, mut contents) = Journal::open(database.clone(), data_folder.clone())?;
        let secret = match contents.secret {
            Some(secret) => secret,
            None => {
                let secret = new_secret()?;
                journal.save_secret(&secret).map_err(|_| damaged("no secret can be saved"))?;
                secret
            }
        };
        if contents.objects.is_empty() {
            let record = root_record();
            journal.push(vec![Change::Put(ROOT, record.clone())]);
            contents.objects.push((ROOT, record));
        }
        let open_files = Arc::default();
        let host = Host { folder: &data_folder, space: &space, open_files: &open_files };
        let tree = rebuild(contents, &host).map_err(|what| damaged(&what))?;
        let root = tree.inodes.get(&ROOT).ok_or_else(|| damaged("the top directory"))?.clone();
        remove_orphans(&data_folder, &tree)?;
        Ok(Arc::new(Self {
            tree: RwLock::new(tree),
            root,
            secret,
            space,
            blocking,
            objects_max: AtomicU64::new(OBJECTS_MAX),
            data_folder: Some(data_folder),
            open_files,
            journal: Some(journal),
        }))
    }
}

/// Where file data comes from.
struct Host<'a> {
    folder: &'a Path,
    space: &'a Arc<Space>,
    open_files: &'a Arc<OpenFiles>,
}

/// The tree of what the database holds. An error names the record that does not fit.
fn rebuild(contents: Contents, host: &Host<'_>) -> Result<Tree, String> {
    let mut tree =
        Tree { inodes: HashMap::new(), directories: HashMap::new(), next: contents.next };
    for (id, record) in contents.objects {
        let Record { attributes, exclusive, rest } = record;
        let content = match rest {
            Rest::Directory { parent, next_cookie } => {
                let mut directory = Directory::new(parent);
                directory.next_cookie = directory.next_cookie.max(next_cookie);
                tree.directories.insert(id, directory);
                Content::Nothing
            }
            Rest::Symlink(text) => Content::Symlink(text),
            Rest::None if attributes.kind == Kind::Regular => {
                let Host { folder, space, open_files } = *host;
                let allocated = std::fs::metadata(host_path(folder, id))
                    .map_or(0, |metadata| metadata.blocks() * 512);
                Content::Data(Data::host(folder, id, space, open_files, allocated))
            }
            Rest::None => Content::Nothing,
        };
        tree.next = tree.next.max(id.0 + 1);
        tree.inodes.insert(id, Arc::new(Inode::new(attributes, exclusive, content)));
    }
    for entry in contents.entries {
        let directory = tree.directories.get_mut(&entry.directory);
        let (Some(directory), true) = (directory, tree.inodes.contains_key(&entry.id)) else {
            return Err(format!("entry {} of directory {}", entry.cookie, entry.directory.0));
        };
        directory.restore(entry.cookie, entry.name, entry.id);
    }
    Ok(tree)
}

/// Removes the data of files whose removal was written down just before a crash, and of files whose
/// creation was not.
fn remove_orphans(data_folder: &Path, tree: &Tree) -> Result<(), OpenError> {
    let failure =
        |source| OpenError::Host { action: "read", path: data_folder.to_path_buf(), source };
    for entry in std::fs::read_dir(data_folder).map_err(failure)? {
        let entry = entry.map_err(failure)?;
        let id = entry.file_name().to_str().and_then(id_of_host_name);
        if id.is_some_and(|id| !tree.inodes.contains_key(&id)) {
            std::fs::remove_file(entry.path()).map_err(|source| OpenError::Host {
                action: "remove",
                path: entry.path(),
                source,
            })?;
        }
    }
    Ok(())
}

fn root_attributes() -> Attributes {
    let now = Timestamp::now();
    Attributes {
        id: ROOT,
        kind: Kind::Directory,
        mode: 0o755,
        links: 2,
        uid: 0,
        gid: 0,
        size: super::create::DIRECTORY_BYTES,
        used: 0,
        device: (0, 0),
        accessed: now,
        modified: now,
        changed: now,
    }
}

fn root_record() -> Record {
    let rest = Rest::Directory { parent: ROOT, next_cookie: super::directory::FIRST_COOKIE };
    Record { attributes: root_attributes(), exclusive: None, rest }
}

fn new_secret() -> Result<[u8; 32], OpenError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| OpenError::Random(error.to_string()))?;
    Ok(secret)
}
