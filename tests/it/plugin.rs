//! The bundle: its manifests agree with each other and with the program, and the launcher finds what it should.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use context_packer::config::{self, Number, Provider};
use serde_json::Value;

use crate::harness::{Output, Packer, Repo};

/// A file of this repository.
fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(source(path)).unwrap()).unwrap()
}

#[test]
fn the_two_marketplaces_are_the_same_file() {
    let read = |path| fs::read(source(path)).unwrap();
    assert_eq!(read("marketplace.json"), read(".claude-plugin/marketplace.json"));
    assert!(!source("marketplace.json").is_symlink(), "a symlink becomes a text file on Windows");
}

#[test]
fn versions_and_names_are_equal_everywhere() {
    let plugin = json("plugin/.claude-plugin/plugin.json");
    let entry = &json(".claude-plugin/marketplace.json")["plugins"][0];
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(entry["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(plugin["name"], env!("CARGO_PKG_NAME"));
    assert_eq!(entry["name"], env!("CARGO_PKG_NAME"));
    let folder = entry["source"].as_str().unwrap();
    assert!(source(folder).join(".claude-plugin/plugin.json").is_file(), "{folder}");
    let licence = |path| fs::read_to_string(source(path)).unwrap();
    assert_eq!(licence("plugin/LICENSE"), licence("LICENSE"));
}

/// Every `{"type": "command", …}` of a hooks object, with its event.
fn commands(hooks: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (event, groups) in hooks["hooks"].as_object().unwrap() {
        for group in groups.as_array().unwrap() {
            found.extend(
                group["hooks"].as_array().unwrap().iter().map(|hook| (event.clone(), hook)),
            );
        }
    }
    found
}

#[test]
fn hook_commands_exist_are_executable_and_have_a_timeout() {
    let hooks = json("plugin/hooks/hooks.json");
    let commands = commands(&hooks);
    assert!(commands.iter().any(|(event, _)| event == "UserPromptSubmit"));
    for (event, hook) in commands {
        let command = hook["command"].as_str().unwrap();
        let path = command.strip_prefix("${CLAUDE_PLUGIN_ROOT}/").unwrap();
        assert!(is_executable(&source("plugin").join(path)), "{event}: {command}");
        assert!(hook["args"].is_array(), "{event}: without args a shell takes the command apart");
        assert!(hook["timeout"].as_u64().is_some_and(|seconds| seconds > 0), "{event}: {hook}");
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 == 0o111)
}

#[test]
fn the_mcp_server_is_the_program_with_the_options_of_the_plugin() {
    let servers = json("plugin/.mcp.json");
    let server = &servers["mcpServers"]["packer"];
    let path = server["command"].as_str().unwrap().strip_prefix("${CLAUDE_PLUGIN_ROOT}/").unwrap();
    assert!(is_executable(&source("plugin").join(path)), "{server}");
    assert_eq!(server["args"], serde_json::json!(["mcp"]));
    let (provider, key) = ("${user_config.provider}", "${user_config.api_key}");
    let env = serde_json::json!({ "CLAUDE_PLUGIN_OPTION_API_KEY": key, "CONTEXT_PACKER_PROVIDER": provider });
    assert_eq!(server["env"], env);
    // The key that nobody has set arrives empty; the provider must not.
    let option = &json("plugin/.claude-plugin/plugin.json")["userConfig"]["provider"];
    assert!(option["default"].is_string());
}

#[test]
fn configurations_in_the_documents_start_the_server() {
    let text = fs::read_to_string(source("docs/mcp.md")).unwrap();
    let blocks: Vec<&str> = text.split("```json\n").skip(1).collect();
    assert!(blocks.len() >= 5, "{}", blocks.len());
    for block in blocks {
        let block = block.split("```").next().unwrap();
        let value: Value = serde_json::from_str(block).unwrap_or_else(|e| panic!("{e}: {block}"));
        assert!(starts_the_server(&value), "{block}");
    }
}

/// Is there, at any depth, `"command": "context-packer", "args": ["mcp"]`, or the two in one list?
fn starts_the_server(value: &Value) -> bool {
    let list = serde_json::json!(["context-packer", "mcp"]);
    value["command"] == list
        || value["command"] == "context-packer" && value["args"] == serde_json::json!(["mcp"])
        || value.as_object().is_some_and(|members| members.values().any(starts_the_server))
}

#[test]
fn the_settings_snippet_says_the_same_as_the_plugin() {
    let (plugin, snippet) = (json("plugin/hooks/hooks.json"), json("hooks/settings.json"));
    let strip = |hooks: &Value| -> Vec<(String, Value)> {
        let mut all: Vec<_> =
            commands(hooks).iter().map(|(e, h)| (e.clone(), (*h).clone())).collect();
        for (_, hook) in &mut all {
            hook["command"] = Value::Null;
        }
        all
    };
    assert_eq!(strip(&plugin), strip(&snippet));
    for (event, hook) in commands(&snippet) {
        assert_eq!(hook["command"], env!("CARGO_PKG_NAME"), "{event}");
    }
}

#[test]
fn options_have_the_defaults_and_ranges_of_the_program() {
    let plugin = json("plugin/.claude-plugin/plugin.json");
    let options = &plugin["userConfig"];
    for number in [config::HOOK_LIMIT, config::HOOK_CODE, config::HOOK_DEADLINE_MS] {
        let Number { option, default, min, max, .. } = number;
        let option = &options[option.unwrap()];
        assert_eq!(option["default"], default, "{option}");
        assert_eq!((&option["min"], &option["max"]), (&min.into(), &max.into()), "{option}");
    }
    for switch in [config::HOOK_NOTICE, config::INDEX] {
        assert_eq!(options[switch.option.unwrap()]["default"], switch.default);
    }
    assert_eq!(options["provider"]["default"], Provider::default().name());
    assert_eq!(options["api_key"]["sensitive"], true);
}

#[test]
fn options_of_compaction_have_the_defaults_and_ranges_of_the_program() {
    let plugin = json("plugin/.claude-plugin/plugin.json");
    let options = &plugin["userConfig"];
    for setting in config::compact::SETTINGS {
        let option = &options[format!("compact_{}", setting.name.replace('-', "_"))];
        for (key, value) in
            [("default", setting.default), ("min", setting.min), ("max", setting.max)]
        {
            assert_eq!(option[key].as_f64(), Some(value), "{}", setting.name);
        }
    }
    let hooks = json("plugin/hooks/hooks.json");
    assert_eq!(hooks["modules"], serde_json::json!(["./register.js"]));
    let shim = fs::read_to_string(source("plugin/hooks/register.js")).unwrap();
    assert!(shim.lines().count() <= 60);
}

#[test]
fn options_use_only_keys_that_older_clients_accept() {
    let plugin = json("plugin/.claude-plugin/plugin.json");
    let known = ["type", "title", "description", "default", "sensitive", "min", "max"];
    for (name, option) in plugin["userConfig"].as_object().unwrap() {
        for key in option.as_object().unwrap().keys() {
            assert!(
                known.contains(&key.as_str()),
                "{name}.{key}: one unknown key, and the plugin does not load"
            );
        }
        assert!(option["title"].is_string() && option["description"].is_string(), "{name}");
    }
}

#[test]
fn the_client_ends_the_hook_later_than_the_hook_ends_itself() {
    let hooks = json("plugin/hooks/hooks.json");
    let prompt = &hooks["hooks"]["UserPromptSubmit"][0]["hooks"][0];
    let timeout_ms = prompt["timeout"].as_u64().unwrap() * 1000;
    assert!(config::HOOK_DEADLINE_MS.max < timeout_ms);
}

/// The launcher in a copy of `bin/`, in an environment of nothing but what a test sets. No program is on its PATH:
/// it, and the scripts that stand in for the program, have only the shell's builtins.
struct Launcher {
    repo: Repo,
}

impl Launcher {
    fn new() -> Launcher {
        let repo = Repo::plain();
        for folder in ["own", "data/bin", "path1", "path2"] {
            fs::create_dir_all(repo.outside().join(folder)).unwrap();
        }
        fs::copy(source("plugin/bin/context-packer"), repo.outside().join("own/context-packer"))
            .unwrap();
        Launcher { repo }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.repo.outside().join(path)
    }

    /// An executable shell script. A child process writes it: a descriptor of ours, open for writing and inherited
    /// by another test's child, would make it "busy".
    fn script(&self, path: &str, body: &str) {
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$0\" && chmod 755 \"$0\"";
        let status =
            Command::new("sh").args(["-c", write]).arg(self.at(path)).arg(body).status().unwrap();
        assert!(status.success());
    }

    /// A program that says where it stands and how it was called.
    fn program(&self, path: &str) {
        self.script(path, &format!("echo \"{path}: $*\""));
    }

    /// A run with PATH set to the two folders, and no plugin data.
    fn run(&self, args: &[&str]) -> Packer {
        let mut command = Command::new("/bin/sh");
        command
            .env_clear()
            .current_dir(&self.repo.root)
            .arg(self.at("own/context-packer"))
            .args(args);
        let path = std::env::join_paths([self.at("path1"), self.at("path2")]).unwrap();
        command.env("PATH", path);
        Packer::of(command)
    }

    fn data(&self) -> PathBuf {
        self.at("data")
    }
}

#[test]
fn the_launcher_searches_in_its_order() {
    let launcher = Launcher::new();
    let places = [
        "path2/context-packer",
        "path1/context-packer",
        "own/context-packer-bin",
        "data/bin/context-packer",
        "chosen",
    ];
    for place in places {
        launcher.program(place);
        let run = launcher.run(&["pack", "a b", "--json"]);
        let run = run
            .env("CONTEXT_PACKER_BIN", launcher.at("chosen"))
            .env("CLAUDE_PLUGIN_DATA", launcher.data());
        assert_eq!(run.run().expect_code(0), format!("{place}: pack a b --json\n"));
    }
}

#[test]
fn the_launcher_passes_over_what_is_no_program() {
    let launcher = Launcher::new();
    fs::create_dir(launcher.at("own/context-packer-bin")).unwrap();
    fs::write(launcher.at("path1/context-packer"), "not executable").unwrap();
    launcher.program("path2/context-packer");
    let output = launcher.run(&["--version"]).env("CONTEXT_PACKER_BIN", launcher.at("gone")).run();
    assert_eq!(output.expect_code(0), "path2/context-packer: --version\n");
}

#[test]
fn launchers_on_the_path_do_not_call_each_other_for_ever() {
    let launcher = Launcher::new();
    for place in ["path1", "path2"] {
        let link = launcher.at(place).join("context-packer");
        fs::hard_link(launcher.at("own/context-packer"), link).unwrap();
    }
    let run = || {
        launcher.run(&["--version"]).env("CONTEXT_PACKER_BIN", launcher.at("own/context-packer"))
    };
    missing(&run().run());
    fs::create_dir(launcher.at("path3")).unwrap();
    launcher.program("path3/context-packer");
    let path = std::env::join_paths(["path1", "path2", "path3"].map(|p| launcher.at(p))).unwrap();
    assert_eq!(run().env("PATH", path).run().expect_code(0), "path3/context-packer: --version\n");
}

/// The answer to a person's command when there is no program.
#[track_caller]
fn missing(output: &Output) {
    assert_eq!(output.expect_code(127), "");
    assert!(
        output.stderr.contains("not installed") && output.stderr.contains("CONTEXT_PACKER_BIN"),
        "{output:#?}"
    );
}

#[test]
fn without_a_program_hooks_are_silent_and_compaction_falls_back() {
    let launcher = Launcher::new();
    for hook in [&["hook"][..], &["hook", "pre-compact"]] {
        let output = launcher.run(hook).stdin("{}").run();
        assert_eq!((output.expect_code(0), output.stderr.as_str()), ("", ""));
    }
    let output = launcher.run(&["compact", "--host", "claude-code"]).stdin("{}").run();
    let answer: Value = serde_json::from_str(output.expect_code(0)).unwrap();
    assert_eq!(answer, serde_json::json!({ "fallback": "binary not installed" }));
    for command in [&[][..], &["mcp"], &["compact", "session.jsonl"], &["pack", "fix it"]] {
        missing(&launcher.run(command).run());
    }
}

#[test]
fn only_one_object_of_a_successful_program_reaches_the_model() {
    let launcher = Launcher::new();
    for (body, expected) in [
        ("read -r line; echo \"$line\"", "{\"prompt\": 1}\n"),
        ("exit 0", ""),
        ("echo '{ hello }'", ""),
        ("echo '{\"a\": 1}'; exit 1", ""),
        ("echo refuse >&2; exit 2", ""),
        ("echo '{\"a\": 1}'; kill -KILL $$", ""),
        ("echo hello", ""),
        ("printf '{\"half\": '", ""),
        ("echo hello; echo '{\"a\": 1}'", ""),
    ] {
        launcher.script("own/context-packer-bin", body);
        let output = launcher.run(&["hook"]).stdin("{\"prompt\": 1}\n").run();
        assert_eq!(output.expect_code(0), expected, "{body}");
    }
}

#[test]
fn other_hook_events_answer_in_text_and_never_fail() {
    let launcher = Launcher::new();
    launcher.script("own/context-packer-bin", "echo \"$* keep the paths\"; exit 2");
    let output = launcher.run(&["hook", "pre-compact"]).run();
    assert_eq!(output.expect_code(0), "hook pre-compact keep the paths\n");
}

#[test]
fn other_commands_become_the_program() {
    let launcher = Launcher::new();
    launcher
        .script("own/context-packer-bin", "read -r line; echo \"$line\"; echo \"$2\" >&2; exit 7");
    let output = launcher.run(&["pack", "two  words"]).stdin("input\n").run();
    assert_eq!((output.expect_code(7), output.stderr.as_str()), ("input\n", "two  words\n"));
}

/// `scripts/build-plugin` with the tests' own program, so that nothing is built.
fn build_plugin(repo: &Repo, out: &Path) -> Output {
    let mut command = Command::new(source("scripts/build-plugin"));
    command.current_dir(&repo.root).args([
        "--binary",
        env!("CARGO_BIN_EXE_context-packer"),
        "--out",
    ]);
    command.arg(out);
    Packer::of(command).run()
}

#[test]
fn the_built_folder_is_a_marketplace_whose_launcher_runs_the_program() {
    let repo = Repo::plain();
    let out = repo.outside().join("dist");
    for _ in 0..2 {
        assert_eq!(build_plugin(&repo, &out).expect_code(0), format!("{}\n", out.display()));
    }
    let marketplace = fs::read(out.join(".claude-plugin/marketplace.json")).unwrap();
    let marketplace: Value = serde_json::from_slice(&marketplace).unwrap();
    assert_eq!(marketplace["plugins"][0]["source"], "./");
    let launcher = out.join("bin/context-packer");
    let mut launcher = Command::new(launcher);
    launcher.env_clear();
    let version = Packer::of(launcher).args(&["--version"]).run();
    assert_eq!(version.expect_code(0), concat!("context-packer ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn building_never_replaces_a_folder_of_something_else() {
    let repo = Repo::plain();
    repo.file("precious.txt", "text");
    let output = build_plugin(&repo, &repo.root);
    assert_eq!(output.expect_code(2), "");
    assert!(output.stderr.contains("remove it first"), "{output:#?}");
    assert!(repo.root.join("precious.txt").exists());
}
