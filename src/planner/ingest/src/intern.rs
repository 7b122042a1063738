//! Shares equal texts between rows: clusters, hosts and OS names repeat in every row.

use std::collections::HashSet;
use std::sync::Arc;

use crate::rows::Text;
use crate::table::TEXT_OVERHEAD;

/// Distinct texts kept; beyond that texts are no longer shared, which costs memory and nothing else.
const CAPACITY: usize = 65_536;

/// A bounded set of shared texts.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    texts: HashSet<Text>,
}

impl Interner {
    /// The shared text; a new one is added to the memory in use.
    pub(crate) fn get(&mut self, text: &str, memory: &mut u64) -> Text {
        if let Some(found) = self.texts.get(text) {
            return Arc::clone(found);
        }
        *memory += TEXT_OVERHEAD + text.len() as u64;
        let shared: Text = Arc::from(text);
        if self.texts.len() < CAPACITY {
            self.texts.insert(Arc::clone(&shared));
        }
        shared
    }
}
