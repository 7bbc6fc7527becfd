// The official TypeScript client against our server: typescript_client.mjs PROGRAM PROJECT. The client itself validates the
// structured content against the declared schema. Exits 0 when everything holds; prints the server's version.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The packages are installed in the working directory, not beside this file.
const require = createRequire(`${process.cwd()}/`);
const load = async (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { ListRootsRequestSchema } = await load("types.js");

const [program, project] = process.argv.slice(2);
const task = "fix the retry backoff in the client";
const client = new Client({ name: "e2e", version: "0" }, { capabilities: { roots: {} } });
client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: pathToFileURL(project).href }] }));
const troubles = [];
client.onerror = (error) => troubles.push(error);
await client.connect(new StdioClientTransport({ command: program, args: ["mcp"], cwd: "/" }));

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name), ["pack_context"]);
assert.equal(tools[0].annotations.readOnlyHint, true);
assert.equal(tools[0].outputSchema.type, "object");

// With a token for progress, which a quick call does not use.
const call = (args) => client.callTool({ name: "pack_context", arguments: args }, undefined, { onprogress: () => {} });
const answer = await call({ task, limit: "2", code: "1" });
assert.equal(answer.isError, false);
assert.equal(answer.structuredContent.root, project);
assert.ok(answer.structuredContent.result.files.some((file) => file.path === "src/client.py"));
assert.match(answer.content[0].text, /src\/client\.py/);

const [one, other] = await Promise.all([call({ task }), call({ task: "monthly report" })]);
assert.match(one.content[0].text, /src\/client\.py/);
assert.match(other.content[0].text, /src\/report\.py/);

assert.equal((await call({ task, limit: 0 })).isError, true);
await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), { code: -32602 });

assert.deepEqual(troubles, []);

const abort = new AbortController();
const cancelled = client.callTool({ name: "pack_context", arguments: { task } }, undefined, { signal: abort.signal });
abort.abort("changed my mind");
await assert.rejects(cancelled);
await client.ping();
// A quick answer may cross the cancellation; the protocol has the client ignore it, and this one mentions it.
const isCrossed = ({ message }) => message.startsWith("Received a response for an unknown message ID");
assert.ok(troubles.length <= 1 && troubles.every(isCrossed), String(troubles));

const closing = performance.now();
await client.close();
assert.ok(performance.now() - closing < 1000, "the server ends when its input is closed");
assert.ok(troubles.length <= 1, String(troubles));
console.log(client.getServerVersion()?.version);
