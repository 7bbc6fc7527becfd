//! Reranks a project's files with a decision model, or estimates what that would cost.

pub mod estimate;
pub mod jev;
pub mod laya;
pub mod passes;

use std::borrow::Cow;
use std::fmt;

pub use self::jev::Progress;
use self::jev::{RankedFiles, Reranked};
use crate::config::{Environment, Provider};
use crate::core::rerank::request::Estimate;
use crate::first_stage::FirstStage;
use crate::model::settings::Depth;
use crate::model::{Client, Deadline, ModelError, Settings};
use crate::project::{Project, scan};

/// An opened decision model.
pub struct Model {
    provider: Provider,
    settings: Settings,
    client: Client,
}

/// A model's ranking.
#[derive(Debug, Clone)]
pub struct ModelRanking {
    /// The provider that ranked.
    pub provider: Provider,
    /// Its ranking.
    pub reranked: Reranked,
}

impl Model {
    /// Reads the settings of a provider; `None` for the local ranking alone. Opens no connection.
    ///
    /// # Errors
    /// No key or an invalid setting; names the variable.
    pub fn open(
        provider: Provider,
        environment: Environment<'_>,
    ) -> Result<Option<Model>, ModelError> {
        let settings = match provider {
            Provider::Keywords => return Ok(None),
            Provider::Jev => Settings::jev(environment)?,
            Provider::Laya => Settings::laya(environment)?,
        };
        let client = Client::new(&settings)?;
        Ok(Some(Model { provider, settings, client }))
    }

    /// Ranks with the model. Sends sketches and excerpts of the project's files.
    ///
    /// # Errors
    /// See [`ModelError`]; never a local ranking in the model's name.
    pub fn rerank(
        &self,
        stage: &FirstStage,
        project: &Project,
        task: &str,
        deadline: Deadline,
        progress: Progress<'_>,
    ) -> Result<ModelRanking, ModelError> {
        let rerank = match self.provider {
            Provider::Laya => laya::rerank,
            Provider::Jev | Provider::Keywords => jev::rerank,
        };
        let reranked = with_files(stage, project, |files| {
            rerank(&self.client, &self.settings, task, files, deadline, progress)
        })?;
        Ok(ModelRanking { provider: self.provider, reranked })
    }
}

/// Names the provider; keys are not shown.
impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model({} at {})", self.provider.name(), self.settings.endpoint.url)
    }
}

/// The models that a long-lived process may ask, each opened once so that its token budget covers
/// all calls.
#[derive(Debug)]
pub struct Models {
    jev: Result<Option<Model>, ModelError>,
    laya: Result<Option<Model>, ModelError>,
}

impl Models {
    /// Reads the settings of both. Errors of one are reported by the calls that ask it.
    #[must_use]
    pub fn open(environment: Environment<'_>) -> Models {
        let open = |provider| Model::open(provider, environment);
        Models { jev: open(Provider::Jev), laya: open(Provider::Laya) }
    }

    /// The model of a provider; `None` for the local ranking alone.
    ///
    /// # Errors
    /// See [`Model::open`].
    pub fn get(&self, provider: Provider) -> Result<Option<&Model>, &ModelError> {
        match provider {
            Provider::Keywords => Ok(None),
            Provider::Jev => self.jev.as_ref().map(Option::as_ref),
            Provider::Laya => self.laya.as_ref().map(Option::as_ref),
        }
    }
}

/// What ranking with the provider would send and cost. Needs no key and sends nothing.
///
/// # Errors
/// A setting that is out of range.
pub fn estimate(
    provider: Provider,
    stage: &FirstStage,
    project: &Project,
    task: &str,
    environment: Environment<'_>,
) -> Result<Estimate, ModelError> {
    let depth = Depth::read(environment)?;
    Ok(with_files(stage, project, |files| match provider {
        Provider::Keywords => Estimate::default(),
        Provider::Jev => estimate::jev(&depth, task, files),
        Provider::Laya => estimate::laya(task, files),
    }))
}

/// Gives the model's side what it needs of a project: paths as text, the local ranking, and a way to
/// read a file by its number.
fn with_files<R>(
    stage: &FirstStage,
    project: &Project,
    work: impl FnOnce(&RankedFiles<'_>) -> R,
) -> R {
    let documents = &stage.survey.corpus.documents;
    let paths: Vec<Cow<'_, str>> =
        documents.iter().map(|document| String::from_utf8_lossy(&document.path)).collect();
    let paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
    let first_stage: Vec<usize> =
        stage.ranking.candidates.iter().map(|c| c.document as usize).collect();
    let read = |document: usize, buffer: &mut Vec<u8>| {
        let path = &documents[document].path;
        match scan::read(&project.root.path, path, project.max_file_bytes, buffer) {
            scan::Reading::Read(_) => {}
            _ => buffer.clear(),
        }
    };
    work(&RankedFiles { paths: &paths, first_stage: &first_stage, read: &read })
}
