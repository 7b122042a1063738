//! `POST /api/v1/models/{id}/predict`: what configurations carry.

use axum::extract::State;
use plimsoll_model::{Configuration, Quantity};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::find;
use crate::http::App;
use crate::http::extract::{Json, Name};
use crate::http::problem::Problem;

/// Configurations in one request.
const MOST: usize = 1000;

/// What to predict for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PredictRequest {
    /// The configurations.
    #[serde(deserialize_with = "crate::http::extract::objects")]
    #[schema(min_items = 1, max_items = 1000)]
    configurations: Vec<ConfigurationBody>,
}

/// Hosts, datastores and flows.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigurationBody {
    /// Hosts that carry load.
    #[schema(minimum = 1, maximum = 1000, example = 4)]
    pub hosts: u32,
    /// Datastores.
    #[schema(minimum = 1, maximum = 1000, example = 4)]
    pub datastores: u32,
    /// TCP connections per host and datastore.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 64, default = 1, example = 1)]
    pub connections: u32,
    /// VMs that drive the load; left out, more than enough.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub vms: Option<u32>,
    /// Outstanding I/Os in all; left out, more than enough.
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub outstanding: Option<u32>,
}

fn one() -> u32 {
    1
}

/// The predictions.
#[derive(Debug, Serialize, ToSchema)]
pub struct PredictBody {
    /// One entry a configuration and quantity, in the order of the request.
    pub predictions: Vec<PredictionBody>,
}

/// What a configuration carries of one quantity.
#[derive(Debug, Serialize, ToSchema)]
pub struct PredictionBody {
    /// The configuration.
    pub configuration: ConfigurationBody,
    /// `iops` or `throughput` (MiB/s).
    #[schema(example = "iops")]
    pub quantity: String,
    /// Block size, KiB.
    pub block_kib: Option<f64>,
    /// 5th percentile: reached in 19 of 20 cases.
    pub p05: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Share of each limit at the median, largest first.
    pub limits: Vec<LimitShare>,
    /// Outside what was measured.
    pub extrapolated: bool,
    /// Evidence.
    #[schema(example = "C")]
    pub grade: String,
}

/// Share of one limit.
#[derive(Debug, Serialize, ToSchema)]
pub struct LimitShare {
    /// `flow`, `host`, `volume`, `vm`, `pool`, `concurrency`, `tier` or `gateway`.
    #[schema(example = "flow")]
    pub resource: String,
    /// 0-1.
    pub share: f64,
}

/// What configurations carry
#[utoipa::path(
    post, path = "/api/v1/models/{id}/predict", tag = "models",
    params(("id" = String, Path, description = "Name or UUID of a model.")),
    request_body(content = PredictRequest),
    responses(
        (status = 200, description = "The predictions.", body = PredictBody),
        (status = 400, description = "The id or the body cannot be read."),
        (status = 404, description = "There is no such model."),
        (status = 413, description = "The body is larger than 1 MiB."),
        (status = 415, description = "The body is no JSON."),
        (status = 422, description = "Values do not fit."),
    ),
)]
pub async fn predict(
    State(app): State<App>,
    Name(id): Name,
    Json(request): Json<PredictRequest>,
) -> Result<axum::Json<PredictBody>, Problem> {
    check(&request)?;
    let (_, model) = find(&app, &id).await?;
    let predictions = app.jobs.blocking(move || all(&model, &request)).await?;
    Ok(axum::Json(PredictBody { predictions }))
}

fn check(request: &PredictRequest) -> Result<(), Problem> {
    if !(1..=MOST).contains(&request.configurations.len()) {
        return Err(Problem::unfit("values_do_not_fit", "too many configurations, or none")
            .at("/configurations", format!("expected 1 to {MOST} entries")));
    }
    let mut faults = Vec::new();
    for (index, configuration) in request.configurations.iter().enumerate() {
        let ConfigurationBody { hosts, datastores, connections, vms, outstanding } = configuration;
        for (name, value, highest) in [
            ("hosts", Some(*hosts), 1000),
            ("datastores", Some(*datastores), 1000),
            ("connections", Some(*connections), 64),
            ("vms", *vms, 1_000_000),
            ("outstanding", *outstanding, 10_000_000),
        ] {
            if value.is_some_and(|value| !(1..=highest).contains(&value)) {
                faults.push(crate::store::Fault::new(
                    format!("/configurations/{index}/{name}"),
                    format!("expected 1 to {highest}"),
                ));
            }
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(Problem::unfit("values_do_not_fit", "values are out of range; errors lists them")
        .with(faults))
}

fn all(model: &plimsoll_model::Model, request: &PredictRequest) -> Vec<PredictionBody> {
    let mut predictions = Vec::new();
    for body in &request.configurations {
        let flows =
            f64::from(body.hosts) * f64::from(body.datastores) * f64::from(body.connections);
        let configuration = Configuration {
            hosts: f64::from(body.hosts),
            datastores: f64::from(body.datastores),
            flows,
            vms: body.vms.map(f64::from),
            outstanding: body.outstanding.map(f64::from),
        };
        for (quantity, name) in [(Quantity::Iops, "iops"), (Quantity::Throughput, "throughput")] {
            if model.series_for(quantity).is_none() {
                continue;
            }
            let prediction = model.predict(quantity, &configuration);
            predictions.push(PredictionBody {
                configuration: body.clone(),
                quantity: name.to_owned(),
                block_kib: model.block_kib(quantity),
                p05: prediction.p05,
                median: prediction.median,
                p95: prediction.p95,
                limits: prediction
                    .shares
                    .iter()
                    .map(|(resource, share)| LimitShare {
                        resource: resource.name().to_owned(),
                        share: *share,
                    })
                    .collect(),
                extrapolated: prediction.extrapolated,
                grade: prediction.grade.letter().to_string(),
            });
        }
    }
    predictions
}
