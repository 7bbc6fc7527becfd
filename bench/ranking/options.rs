//! The command line of the benchmark.

use std::path::PathBuf;

use anyhow::{Result, bail};
use context_packer::project::files::Extensions;
use context_packer::project::scan::MAX_FILE_BYTES;

use crate::cases::Candidates;
use crate::mine;
use crate::tasks::Selection;

const HELP: &str = "\
usage: scripts/bench-ranking CLONES [options]

CLONES is a folder of git clones (bare or not) named owner/name, owner+name/repo or name.

  --tasks subjects,requests,FILE   what is asked (default subjects); a FILE has lines of {repo, commit, prompt, split}
  --split dev,extra,test           which part (default dev; test is for reporting, never for choosing)
  --set seed|other|further|all     subjects of which repositories (default all: seed and other)
  --repos owner/name,…             only these
  --per-repo N                     at most N tasks of a repository
  --systems A;B;…                  what is compared (default first;product), the first one being the baseline: first, recipe,
                                   product, product:weight=number,… or a JSONL file of {commit, files}
  --extensions product|published   which files are ranked (default product)
  --max-bytes N                    largest file ranked (default the product's)
  --by-repository                  a table by repository
  --misses                         the right files that the last system does not have among its first ten, with their places
  --print-tasks, --print-orders    JSON lines instead of tables: the tasks; the first twenty files of the last system
  --agreement                      how many tasks' first twenty files are the first system's, in the same order
  --tune                           choose weights by coordinate ascent on these tasks, starting from the product's
  --mine                           print subjects.jsonl anew
  --verbose                        name every repository when it has been read
";

pub struct Options {
    pub clones: PathBuf,
    pub definitions: PathBuf,
    pub tasks: Vec<String>,
    pub selection: Selection,
    pub systems: Vec<String>,
    pub candidates: Candidates,
    pub by_repository: bool,
    pub misses: bool,
    pub print_tasks: bool,
    pub print_orders: bool,
    pub agreement: bool,
    pub tune: bool,
    pub mine: bool,
    pub verbose: bool,
}

impl Options {
    /// `None` after `--help`.
    pub fn parse() -> Result<Option<Options>> {
        use lexopt::prelude::*;
        let mut options = Options::new();
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Value(folder) if options.clones.as_os_str().is_empty() => {
                    options.clones = folder.into();
                }
                Long("definitions") => options.definitions = parser.value()?.into(),
                Long("tasks") => options.tasks = list(&mut parser, ',')?,
                Long("split") => options.selection.splits = list(&mut parser, ',')?,
                Long("set") => options.selection.set = parser.value()?.string()?,
                Long("repos") => options.selection.repos = list(&mut parser, ',')?,
                Long("per-repo") => options.selection.per_repo = parser.value()?.parse()?,
                Long("systems") => options.systems = list(&mut parser, ';')?,
                Long("extensions") => {
                    options.candidates.extensions = extensions(&parser.value()?.string()?)?;
                }
                Long("max-bytes") => options.candidates.max_bytes = parser.value()?.parse()?,
                Long("by-repository") => options.by_repository = true,
                Long("misses") => options.misses = true,
                Long("print-tasks") => options.print_tasks = true,
                Long("print-orders") => options.print_orders = true,
                Long("agreement") => options.agreement = true,
                Long("tune") => options.tune = true,
                Long("mine") => options.mine = true,
                Long("verbose") => options.verbose = true,
                Short('h') | Long("help") => {
                    print!("{HELP}");
                    return Ok(None);
                }
                other => return Err(other.unexpected().into()),
            }
        }
        if options.clones.as_os_str().is_empty() {
            bail!("name the folder of clones\n\n{HELP}");
        }
        Ok(Some(options))
    }

    fn new() -> Options {
        Options {
            clones: PathBuf::new(),
            definitions: PathBuf::from("bench/ranking"),
            tasks: vec!["subjects".to_owned()],
            selection: Selection {
                splits: vec!["dev".to_owned()],
                set: "all".to_owned(),
                repos: Vec::new(),
                per_repo: usize::MAX,
            },
            systems: ["first", "product"].map(str::to_owned).to_vec(),
            candidates: Candidates { extensions: Extensions::default(), max_bytes: MAX_FILE_BYTES },
            by_repository: false,
            misses: false,
            print_tasks: false,
            print_orders: false,
            agreement: false,
            tune: false,
            mine: false,
            verbose: false,
        }
    }
}

fn list(parser: &mut lexopt::Parser, separator: char) -> Result<Vec<String>> {
    let value = parser.value()?;
    Ok(value.to_string_lossy().split(separator).map(str::to_owned).collect())
}

fn extensions(name: &str) -> Result<Extensions> {
    match name {
        "product" => Ok(Extensions::default()),
        "published" => Ok(Extensions::parse(mine::EXTENSIONS)),
        other => bail!("--extensions is product or published, not {other}"),
    }
}
