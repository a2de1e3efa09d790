"""An MCP server over stdio that takes part: its server span, its stages, its receipt. Python 3.9, standard library only.

  SPANS=spans.jsonl RECEIPTS=receipts.jsonl python3 server.py

A service of your own has an OpenTelemetry SDK and a database; the order of what happens here is what matters.
"""

import json
import os
import re
import secrets
import sys
import time
import unicodedata
import uuid

SCOPE = "todo-python"
PREFIX = "io.waybill/"
SOURCES = ("caller", "framework", "argument", "derived", "generated")
TRACEPARENT = re.compile(r"^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$")

todos = {"42": {"status": "todo", "version": 1}}
done = {}  # operation id -> result: in a service, a row that commits with the write


def identifier(meta, key):
    """1 to 200 printable characters, or nothing: an id that is none is left aside, and the call is served."""
    value = meta.get(PREFIX + key)
    if not isinstance(value, str) or not 1 <= len(value.encode("utf-16-le")) // 2 <= 200:
        return None
    printable = all(unicodedata.category(c)[0] in "LMNPS" or c == " " for c in value)
    return value if printable and value == value.strip(" ") else None


def attribute(key, value):
    kind = "boolValue" if isinstance(value, bool) else "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def append(path, line):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


class Call:
    """One tools/call: what `_meta` says of it, its stages, its span."""

    def __init__(self, request):
        params = request["params"]
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        self.tool = params["name"]
        self.request_id = request["id"]
        self.start = time.time_ns()
        self.events = []
        self.attributes = {}
        # Trace context first: the span of the client is the parent, whatever else is missing.
        match = TRACEPARENT.match(str(meta.get("traceparent")))
        valid = match and int(match[1], 16) and int(match[2], 16)
        self.trace_id, self.parent = (match[1], match[2]) if valid else (secrets.token_hex(16), "")
        self.span_id = secrets.token_hex(8)
        asked = identifier(meta, "callId")
        self.echo = asked is not None
        self.call_id = asked or str(uuid.uuid4())
        self.run_id = identifier(meta, "runId") or self.trace_id
        named = identifier(meta, "operationId")
        self.operation_id = named or str(uuid.uuid4())
        # Absent or unknown means that the caller named the operation; an id of our own is `generated`.
        source = meta.get(PREFIX + "operationSource")
        self.source = "generated" if named is None else source if source in SOURCES else "caller"

    def stage(self, name):
        """Dense from 1: a hole would say that a stage was lost."""
        self.events.append((time.time_ns(), name, len(self.events) + 1))

    def write_span(self):
        span = {
            "traceId": self.trace_id,
            "spanId": self.span_id,
            "parentSpanId": self.parent,
            "name": "tools/call " + self.tool,
            "kind": 2,
            "startTimeUnixNano": str(self.start),
            "endTimeUnixNano": str(time.time_ns()),
            "attributes": [
                attribute("mcp.method.name", "tools/call"),
                attribute("gen_ai.tool.name", self.tool),
                attribute("gen_ai.operation.name", "execute_tool"),
                attribute("jsonrpc.request.id", str(self.request_id)),
                attribute("network.transport", "pipe"),
                attribute("waybill.run.id", self.run_id),
                attribute("waybill.call.id", self.call_id),
                attribute("waybill.operation.id", self.operation_id),
                attribute("waybill.operation.source", self.source),
                attribute("waybill.effect.kind", "write"),
                *(attribute(key, value) for key, value in self.attributes.items()),
            ],
            "events": [
                {
                    "timeUnixNano": str(at),
                    "name": "waybill." + name,
                    "attributes": [attribute("waybill.stage.seq", number)],
                }
                for at, name, number in self.events
            ],
            "status": {},
        }
        resource = {"attributes": [attribute("service.name", SCOPE)]}
        scopes = [{"scope": {"name": SCOPE}, "spans": [span]}]
        append(os.environ.get("SPANS", "spans.jsonl"), {"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]})


def set_status(call, arguments):
    """Once per operation: a repetition gets the stored result, and nothing is applied again."""
    if call.source == "caller" and call.operation_id in done:
        call.attributes["waybill.effect.replayed"] = True
        return done[call.operation_id]
    call.stage("server.effect_requested")
    todo = todos[arguments["id"]]
    todo["status"], todo["version"] = arguments["status"], todo["version"] + 1
    read = todos[arguments["id"]]  # in a service: read back on another connection, after the commit
    call.stage("server.effect_confirmed")
    append(
        os.environ.get("RECEIPTS", "receipts.jsonl"),
        {
            "receipt_id": str(uuid.uuid4()),
            "operation_id": call.operation_id,
            "call_id": call.call_id,
            "run_id": call.run_id,
            "system": "todo",
            "object": arguments["id"],
            "expected": arguments["status"],
            "observed": read["status"],
            "version": read["version"],
            "result": "applied",
            "at": str(time.time_ns()),
            "source": SCOPE,
        },
    )
    result = {"content": [{"type": "text", "text": f"{arguments['id']} is {read['status']}"}], "isError": False}
    done[call.operation_id] = result
    return result


def tools_call(request):
    call = Call(request)
    call.stage("server.received")
    result = set_status(call, request["params"]["arguments"])
    # Only to a client that sent its own call id: others get the result as it is.
    reply = {**result, "_meta": {**result.get("_meta", {}), PREFIX + "callId": call.call_id}} if call.echo else result
    send({"jsonrpc": "2.0", "id": request["id"], "result": reply})
    call.stage("server.result_sent")
    call.attributes.update({"waybill.outcome": "TOOL_SUCCESS", "waybill.reply.state": "handed_over"})
    call.write_span()


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "status": {"type": "string"}},
    "required": ["id", "status"],
}

for text in sys.stdin:
    request = json.loads(text)
    method, known = request.get("method"), request.get("params", {})
    if "id" not in request:
        continue
    if method == "tools/call":
        tools_call(request)
    elif method == "initialize":
        about = {"protocolVersion": known.get("protocolVersion"), "capabilities": {"tools": {}}}
        send({"jsonrpc": "2.0", "id": request["id"], "result": {**about, "serverInfo": {"name": SCOPE, "version": "1"}}})
    elif method == "tools/list":
        send({"jsonrpc": "2.0", "id": request["id"], "result": {"tools": [{"name": "set_status", "inputSchema": SCHEMA}]}})
    else:
        send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}})
