// An issuer by oidc-provider. It reads one command a line from stdin, and answers each with a line of JSON.
import { createInterface } from "node:readline";
import { createServer } from "node:http";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import Provider from "oidc-provider";

// What it warns of is no answer to a command.
console.info = console.warn = console.error;

const accounts = new Map([
  ["ada", { name: "Ada", email: "ada@example.org", email_verified: true, groups: ["auditors"] }],
  ["bob", { name: "Bob", email: "bob@example.org", email_verified: true, groups: ["guests"] }],
]);

let key = newKey();
let client;
let provider;
let answer = (request, response) => response.writeHead(503).end();

const server = createServer((request, response) => answer(request, response));
server.listen(0, "127.0.0.1", () => write({ issuer: url() }));

const commands = {
  /** Register the one client, by its metadata, in place of the one before. */
  register_client(metadata) {
    client = metadata;
    restart();
  },

  /** Sign by another key from now on; the one before counts no more. */
  rotate_key() {
    key = newKey();
    restart();
  },

  /** Close an account, and tell the client so, as an administrator does. */
  async close_account({ account }) {
    accounts.delete(account);
    const registered = await provider.Client.find(client.client_id);
    await registered.backchannelLogout(account);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...values } = JSON.parse(line);
  try {
    await commands[command](values);
    write({});
  } catch (error) {
    write({ error: `${error}` });
  }
}
server.close();
server.closeAllConnections();

function restart() {
  provider = new Provider(url(), {
    clients: [client],
    jwks: { keys: [key] },
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["name"],
      groups: ["groups"],
    },
    features: { backchannelLogout: { enabled: true } },
    // Its own dispatcher reaches no loopback address, and the page is at one.
    fetch: (to, { dispatcher, ...options }) => fetch(to, options),
    cookies: { keys: ["a key of the tests"] },
    findAccount: (_, id) =>
      accounts.has(id)
        ? { accountId: id, claims: () => ({ sub: id, ...accounts.get(id) }) }
        : undefined,
  });
  provider.on("backchannel.error", (_, error) => console.error(error));
  answer = provider.callback();
}

function newKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" };
}

function url() {
  return `http://127.0.0.1:${server.address().port}`;
}

function write(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
