//! Leases: policies for decisions elsewhere, and the exposures that come back.

use axum::extract::{Extension, State};
use axum::response::Response;
use banister::lease::Exposure;
use banister_engine::{Author, Expose, GrantLease, LeaseRequest};
use schemars::JsonSchema;
use serde::Deserialize;

use super::decisions::{EntryResult, check_size, results};
use crate::app::App;
use crate::body::{InPath, Json, json};
use crate::problem::Problem;

/// Units that were given arms under a lease.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExposureBatch {
    /// The exposures.
    #[serde(deserialize_with = "banister_engine::object::list")]
    pub exposures: Vec<Exposure>,
}

pub async fn grant(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath(name): InPath<String>,
    Json(request): Json<LeaseRequest>,
) -> Result<Response, Problem> {
    let experiment = name.into();
    let command = GrantLease {
        experiment,
        request,
    };
    let (lease, now) = app.execute(author, command).await?;
    let failed = |error: banister::Error| Problem::unavailable(error.to_string());
    let signed = app.signer.sign(&lease, now.0.div_euclid(1000));
    Ok(json(&signed.map_err(failed)?))
}

pub async fn expose(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath((name, lease)): InPath<(String, u64)>,
    Json(batch): Json<ExposureBatch>,
) -> Result<Response, Problem> {
    check_size(&app, "exposures", batch.exposures.len())?;
    let experiment: std::sync::Arc<str> = name.into();
    let exposures = batch.exposures.into_iter();
    let commands = exposures.map(|exposure| Expose {
        experiment: experiment.clone(),
        lease,
        exposure,
    });
    let answers = app.execute_all(author, commands.collect()).await?;
    results(answers, |own| EntryResult {
        exposure: Some(own),
        ..EntryResult::default()
    })
}
