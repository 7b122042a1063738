//! Models between sites: an envelope with version, origin and hash, and what a model of elsewhere is
//! worth here.
//!
//! A model that was measured at another site speaks of that site. Imported it is of the same class
//! at best (grade B), and for a fit of one's own points its ceilings are beliefs.

use crate::beliefs::{PriorRow, PriorTable, PriorTarget};
use crate::error::ModelError;
use crate::model::Model;
use crate::model_card::sha256;
use crate::types::Resource;
use plimsoll_units::EvidenceGrade;
use serde::{Deserialize, Serialize};

/// Version of the envelope.
pub const EXCHANGE_VERSION: u32 = 1;
const FORMAT: &str = "plimsoll-model";
/// Deviation of a sibling's ceiling as a belief, its own uncertainty apart.
pub const SIBLING_SD_LN: f64 = 0.3;

/// A model on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// `plimsoll-model`.
    pub format: String,
    /// Version of the envelope.
    pub version: u32,
    /// Site that made it.
    pub site: String,
    /// When, as the site wrote it (RFC 3339).
    pub exported_at: String,
    /// SHA-256 of the model's JSON.
    pub model_sha256: String,
    /// The model.
    pub model: Model,
}

impl Model {
    /// The model in an envelope, as JSON.
    ///
    /// # Errors
    /// When a value is not finite.
    pub fn export(&self, site: &str, exported_at: &str) -> Result<String, ModelError> {
        let envelope = Envelope {
            format: FORMAT.to_owned(),
            version: EXCHANGE_VERSION,
            site: site.to_owned(),
            exported_at: exported_at.to_owned(),
            model_sha256: sha256(&self.to_json()?),
            model: self.clone(),
        };
        let mut text = serde_json::to_string_pretty(&envelope)?;
        text.push('\n');
        Ok(text)
    }

    /// Reads an envelope. The model keeps its numbers; its grade is B at best, and a note names the
    /// site.
    ///
    /// # Errors
    /// Another format or version, a model that does not match its hash or cannot be used.
    pub fn import(text: &str) -> Result<(Self, Envelope), ModelError> {
        let envelope: Envelope = serde_json::from_str(text)?;
        let refuse = |reason: String| ModelError::Invalid { id: envelope.model.id.clone(), reason };
        if envelope.format != FORMAT || envelope.version != EXCHANGE_VERSION {
            return Err(refuse(format!(
                "the envelope is {} version {}, this program reads {FORMAT} version {EXCHANGE_VERSION}",
                envelope.format, envelope.version
            )));
        }
        let json = envelope.model.to_json()?;
        if sha256(&json) != envelope.model_sha256 {
            return Err(refuse(
                "it is not the model that was exported: its hash differs".to_owned(),
            ));
        }
        let mut model = Self::from_json(&json)?;
        model.grade = model.grade.weaker(EvidenceGrade::B);
        model
            .notes
            .push(format!("Imported from {} (exported {}).", envelope.site, envelope.exported_at));
        Ok((model, envelope))
    }

    /// The ceilings as beliefs about `platform`, for a fit of its own points: each as unsure as it
    /// is, and by [`SIBLING_SD_LN`] for the difference between sites.
    #[must_use]
    pub fn as_beliefs(&self, platform: &str) -> PriorTable {
        let mut rows = Vec::new();
        for series in &self.series {
            for ceiling in &series.ceilings {
                let resource = match ceiling.resource {
                    Resource::Flow => PriorTarget::Flow,
                    Resource::Host => PriorTarget::Host,
                    Resource::Volume => PriorTarget::Volume,
                    Resource::Vm => PriorTarget::Vm,
                    Resource::Pool => PriorTarget::Pool,
                    Resource::Concurrency => PriorTarget::Concurrency,
                    Resource::Tier | Resource::Gateway => continue,
                };
                let own = ceiling.sd_ln.hypot(ceiling.discrepancy_sd_ln);
                rows.push(PriorRow {
                    platform: platform.to_owned(),
                    quantity: Some(series.quantity),
                    read_pct: series.read_pct.clone(),
                    resource,
                    value: ceiling.value,
                    unit: series.unit.clone(),
                    statistic: match series.statistic.as_str() {
                        "as published" => String::new(),
                        other => other.to_owned(),
                    },
                    sd_ln: own.hypot(SIBLING_SD_LN),
                    source: format!("Sibling: {} of model {}", series.name, self.id),
                });
            }
        }
        PriorTable { rows }
    }
}
