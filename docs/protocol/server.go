// An MCP server over stdio that takes part: its server span, its stages, its receipt. Go 1.21, standard library only.
//
//	SPANS=spans.jsonl RECEIPTS=receipts.jsonl go run server.go
//
// A service of your own has an OpenTelemetry SDK and a database; the order of what happens here is what matters.
package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
)

const scope = "todo-go"
const prefix = "io.waybill/"

type object = map[string]any

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)
var sources = map[string]bool{"caller": true, "framework": true, "argument": true, "derived": true, "generated": true}

type todo struct {
	status  string
	version int
}

var todos = map[string]*todo{"42": {"todo", 1}}
var done = map[string]object{} // operation id -> result: in a service, a row that commits with the write

func random(length int) string {
	value := make([]byte, length)
	_, _ = rand.Read(value)
	return hex.EncodeToString(value)
}

// identifier takes 1 to 200 printable characters, or nothing: an id that is none is left aside, and the call is served.
func identifier(meta object, key string) string {
	value, _ := meta[prefix+key].(string)
	if len(utf16.Encode([]rune(value))) > 200 || value != strings.Trim(value, " ") {
		return ""
	}
	for _, char := range value {
		if char != ' ' && !unicode.In(char, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) {
			return ""
		}
	}
	return value
}

func text(key, value string) object {
	return object{"key": key, "value": object{"stringValue": value}}
}

func env(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func appendLine(path string, line object) {
	text, _ := json.Marshal(line)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := file.Write(append(text, '\n')); err != nil {
		panic(err)
	}
	_ = file.Sync()
}

func now() string { return strconv.FormatInt(time.Now().UnixNano(), 10) }

// call is one tools/call: what `_meta` says of it, its stages, its span.
type call struct {
	tool, traceID, parent, spanID, callID, runID, operationID, source, start string
	requestID                                                                any
	echo                                                                     bool
	events, attributes                                                       []object
}

func newCall(request, params object) *call {
	meta, _ := params["_meta"].(object)
	tool, _ := params["name"].(string)
	c := &call{tool: tool, requestID: request["id"], start: now(), spanID: random(8), traceID: random(16)}
	// Trace context first: the span of the client is the parent, whatever else is missing.
	if given, isText := meta["traceparent"].(string); isText {
		match := traceparent.FindStringSubmatch(given)
		if match != nil && strings.Trim(match[1], "0") != "" && strings.Trim(match[2], "0") != "" {
			c.traceID, c.parent = match[1], match[2]
		}
	}
	c.callID = identifier(meta, "callId")
	c.echo = c.callID != ""
	if !c.echo {
		c.callID = random(16)
	}
	if c.runID = identifier(meta, "runId"); c.runID == "" {
		c.runID = c.traceID
	}
	// Absent or unknown means that the caller named the operation; an id of our own is `generated`.
	c.source, _ = meta[prefix+"operationSource"].(string)
	if !sources[c.source] {
		c.source = "caller"
	}
	if c.operationID = identifier(meta, "operationId"); c.operationID == "" {
		c.operationID, c.source = random(16), "generated"
	}
	return c
}

// stage numbers are dense from 1: a hole would say that a stage was lost.
func (c *call) stage(name string) {
	number := object{"key": "waybill.stage.seq", "value": object{"intValue": strconv.Itoa(len(c.events) + 1)}}
	c.events = append(c.events, object{"timeUnixNano": now(), "name": "waybill." + name, "attributes": []object{number}})
}

func (c *call) writeSpan() {
	id, _ := json.Marshal(c.requestID)
	attributes := append([]object{
		text("mcp.method.name", "tools/call"),
		text("gen_ai.tool.name", c.tool),
		text("gen_ai.operation.name", "execute_tool"),
		text("jsonrpc.request.id", strings.Trim(string(id), `"`)),
		text("network.transport", "pipe"),
		text("waybill.run.id", c.runID),
		text("waybill.call.id", c.callID),
		text("waybill.operation.id", c.operationID),
		text("waybill.operation.source", c.source),
		text("waybill.effect.kind", "write"),
	}, c.attributes...)
	span := object{
		"traceId": c.traceID, "spanId": c.spanID, "parentSpanId": c.parent, "name": "tools/call " + c.tool, "kind": 2,
		"startTimeUnixNano": c.start, "endTimeUnixNano": now(), "attributes": attributes, "events": c.events, "status": object{},
	}
	resource := object{"attributes": []object{text("service.name", scope)}}
	scopes := []object{{"scope": object{"name": scope}, "spans": []object{span}}}
	appendLine(env("SPANS", "spans.jsonl"), object{"resourceSpans": []object{{"resource": resource, "scopeSpans": scopes}}})
}

// setStatus applies once per operation: a repetition gets the stored result, and nothing is applied again.
func setStatus(c *call, arguments object) object {
	if stored, known := done[c.operationID]; known && c.source == "caller" {
		c.attributes = append(c.attributes, object{"key": "waybill.effect.replayed", "value": object{"boolValue": true}})
		return stored
	}
	id, _ := arguments["id"].(string)
	status, _ := arguments["status"].(string)
	c.stage("server.effect_requested")
	todos[id].status = status
	todos[id].version++
	read := *todos[id] // in a service: read back on another connection, after the commit
	c.stage("server.effect_confirmed")
	appendLine(env("RECEIPTS", "receipts.jsonl"), object{
		"receipt_id": random(16), "operation_id": c.operationID, "call_id": c.callID, "run_id": c.runID,
		"system": "todo", "object": id, "expected": status, "observed": read.status, "version": read.version,
		"result": "applied", "at": now(), "source": scope,
	})
	result := object{"content": []object{{"type": "text", "text": id + " is " + read.status}}, "isError": false}
	done[c.operationID] = result
	return result
}

func toolsCall(request, params object) {
	c := newCall(request, params)
	c.stage("server.received")
	arguments, _ := params["arguments"].(object)
	reply := object{}
	for key, value := range setStatus(c, arguments) {
		reply[key] = value
	}
	// Only to a client that sent its own call id: others get the result as it is.
	if c.echo {
		reply["_meta"] = object{prefix + "callId": c.callID}
	}
	send(object{"jsonrpc": "2.0", "id": request["id"], "result": reply})
	c.stage("server.result_sent")
	c.attributes = append(c.attributes, text("waybill.outcome", "TOOL_SUCCESS"), text("waybill.reply.state", "handed_over"))
	c.writeSpan()
}

func send(message object) {
	line, _ := json.Marshal(message)
	_, _ = os.Stdout.Write(append(line, '\n'))
}

func main() {
	properties := object{"id": object{"type": "string"}, "status": object{"type": "string"}}
	schema := object{"type": "object", "properties": properties, "required": []string{"id", "status"}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var request object
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.UseNumber() // the id goes back as it came
		if decoder.Decode(&request) != nil || request["id"] == nil {
			continue
		}
		params, _ := request["params"].(object)
		answer := object{"jsonrpc": "2.0", "id": request["id"]}
		switch request["method"] {
		case "tools/call":
			toolsCall(request, params)
			continue
		case "initialize":
			answer["result"] = object{
				"protocolVersion": params["protocolVersion"], "capabilities": object{"tools": object{}},
				"serverInfo": object{"name": scope, "version": "1"},
			}
		case "tools/list":
			answer["result"] = object{"tools": []object{{"name": "set_status", "inputSchema": schema}}}
		default:
			answer["error"] = object{"code": -32601, "message": "no such method"}
		}
		send(answer)
	}
}
