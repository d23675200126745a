// An issuer by oidc-provider. It reads one command a line from stdin, and answers each with a line of JSON.
import { createInterface } from "node:readline";
import { createServer } from "node:http";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import Provider from "oidc-provider";

// What it warns of is no answer to a command.
console.info = console.warn = console.error;

const CLIENT = "onrecord page";
const SECRET = "s:w/ordfish";

const accounts = new Map([
  ["ada", { name: "Ada", email: "ada@example.org", email_verified: true, groups: ["auditors"] }],
  ["bob", { name: "Bob", email: "bob@example.org", email_verified: true, groups: ["guests"] }],
]);

let key = newKey();
let client;
let provider;
let answer = (request, response) => response.writeHead(503).end();

const server = createServer((request, response) => answer(request, response));
server.listen(0, "127.0.0.1", () => say({ issuer: url() }));

const commands = {
  /** Know the page at a URL as a client that shows who it is in one way; more is its metadata. */
  know({ page, method, ...more }) {
    client = {
      client_id: CLIENT,
      client_secret: SECRET,
      token_endpoint_auth_method: method,
      redirect_uris: [`${page}/sign-in/callback`],
      ...more,
    };
    begin();
  },

  /** Sign by another key from now on; the one of before counts no more. */
  rotate() {
    key = newKey();
    begin();
  },

  /** Close an account, and tell the client so, as an administrator does. */
  async close({ account }) {
    accounts.delete(account);
    const known = await provider.Client.find(CLIENT);
    await known.backchannelLogout(account);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...values } = JSON.parse(line);
  try {
    await commands[command](values);
    say({});
  } catch (error) {
    say({ error: `${error}` });
  }
}
server.close();
server.closeAllConnections();

function begin() {
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

function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
