//! The models that ship with the program, embedded as the JSON files of `models/`.

use crate::model::Model;

macro_rules! shipped {
    ($($id:literal),+ $(,)?) => {
        [$(($id, include_str!(concat!("../../../../models/", $id, ".json")))),+]
    };
}

/// Id and text of each, in the order of `data/reference/fits.csv`.
const FILES: [(&str, &str); 7] = shipped![
    "azure-vmware-solution-av36-anf",
    "cubefs-25gbe-gen2",
    "cubefs-10gbe-gen1",
    "azure-netapp-files-regular-volume",
    "azure-netapp-files-large-volume",
    "oracle-dnfs-anf-8-volumes",
    "readynas-4200-mpio",
];

impl Model {
    /// The shipped model with `id`.
    #[must_use]
    pub fn built_in(id: &str) -> Option<Self> {
        let (_, text) = FILES.iter().find(|(name, _)| *name == id)?;
        // A test reads every file, so a shipped file that does not parse cannot be released.
        Self::from_json(text).ok()
    }

    /// All shipped models.
    #[must_use]
    pub fn built_ins() -> Vec<Self> {
        FILES.iter().filter_map(|(_, text)| Self::from_json(text).ok()).collect()
    }

    /// Their ids.
    #[must_use]
    pub fn built_in_ids() -> Vec<&'static str> {
        FILES.iter().map(|(id, _)| *id).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_file_parses_and_is_named_by_its_id() {
        for (id, text) in FILES {
            let model = Model::from_json(text).unwrap();
            assert_eq!(model.id, id);
            assert_eq!(model.to_json().unwrap(), text, "{id} is not as to_json writes it");
        }
    }
}
