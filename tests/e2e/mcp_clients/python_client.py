"""The official Python client against our server: python_client.py PROGRAM PROJECT MODE, with MODE auto (asks for the newest
protocol first) or legacy (initialize at once). Exits 0 when everything holds; prints the agreed version."""

import asyncio
import sys

import jsonschema
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ListRootsResult, Root

TASK = "fix the retry backoff in the client"


def check(holds, *found):
    if not holds:
        raise AssertionError(found)


async def main(program, project, mode):
    async def roots(_context):
        return ListRootsResult(roots=[Root(uri=f"file://{project}")])

    # Started elsewhere: only the roots say where the project is.
    server = StdioServerParameters(command=program, args=["mcp"], cwd="/")
    async with Client(server, mode=mode, list_roots_callback=roots, read_timeout_seconds=20) as client:
        check(client.server_info.name == "context-packer", client.server_info)
        check(len(client.instructions.strip().rstrip(".").split(". ")) == 1, client.instructions)
        await client.send_ping()

        (tool,) = (await client.list_tools()).tools
        check(tool.name == "pack_context" and tool.annotations.read_only_hint, tool)
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)

        given = {"task": TASK, "limit": "3", "explain": "true", "code": 1}
        result = await client.call_tool(tool.name, given)
        check(not result.is_error, result)
        jsonschema.validate(result.structured_content, tool.output_schema)
        check(result.structured_content["root"] == project, result.structured_content)
        paths = [file["path"] for file in result.structured_content["result"]["files"]]
        check("src/client.py" in paths and len(paths) <= 3, paths)
        check("src/client.py" in result.content[0].text, result.content)

        both = await asyncio.gather(*(client.call_tool(tool.name, {"task": t}) for t in (TASK, "monthly report")))
        check("src/report.py" in both[1].content[0].text and "src/client.py" in both[0].content[0].text, both)

        for arguments in ({"task": TASK, "limit": 0}, {"task": TASK, "limit": 51}, {"task": ""}, {"task": TASK, "root": "/"}):
            result = await client.call_tool(tool.name, arguments)
            check(result.is_error and result.content[0].text, arguments, result)
        try:
            await client.call_tool("no_such_tool", {})
            check(False, "an unknown tool was called")
        except MCPError as error:
            check(error.code == -32602, error)
        print(client.protocol_version)


asyncio.run(main(*sys.argv[1:]))
