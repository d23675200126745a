// A program in another language: its client is made from /openapi.json alone.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths } from "./onrecord.js";

const client = createClient<paths>({ baseUrl: process.argv[2] });
const path = { key: "support/4711" };

const said = await client.POST("/v1/conversations/{key}/prompts", {
  params: { path },
  body: { text: "Where is my parcel?", message_id: "m1", expected_version: 0 },
});
assert.equal(said.response.status, 201);
assert.equal(said.data?.is_new, true);

const late = await client.POST("/v1/conversations/{key}/prompts", {
  params: { path },
  body: { text: "Anybody there?", expected_version: 1 },
});
assert.equal(late.error?.type, "/problems/version-conflict");

const page = await client.GET("/v1/conversations/{key}/events", {
  params: { path, query: { after: 1 } },
});
const types: string[] = page.data?.events.map((event) => event.type) ?? [];
assert.deepEqual(types, ["message.recorded"]);
assert.equal(page.data?.next, null);

const nobody = await client.GET("/v1/conversations/{key}", { params: { path: { key: "nobody" } } });
assert.equal(nobody.error?.status, 404);
const tail = await client.GET("/v1/conversations/{key}/tail", {
  params: { path, query: { after: "start" } },
  parseAs: "stream",
});
const decoder = new TextDecoder();
let text = "";
for await (const chunk of tail.data ?? []) {
  text += decoder.decode(chunk as Uint8Array, { stream: true });
  if (text.includes("message.recorded")) break;
}
assert.match(text, /^id: \S+$/m);
console.log("appended, read and followed");
