// The official OpenFeature SDKs and OFREP providers of JavaScript. Every line of standard input is a command, every line
// of standard output its answer.

import process from "node:process";
import { createInterface } from "node:readline";
import { OpenFeature as Server } from "@openfeature/server-sdk";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OpenFeature as Web, ProviderEvents } from "@openfeature/web-sdk";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";

const [baseUrl, token] = Deno.args;
const headers = token ? [["Authorization", `Bearer ${token}`]] : [];

/** Evaluates a flag of the type of its default value. */
function details(client, { flag, value, context }) {
  switch (typeof value) {
    case "boolean":
      return client.getBooleanDetails(flag, value, context);
    case "number":
      return client.getNumberDetails(flag, value, context);
    case "string":
      return client.getStringDetails(flag, value, context);
    default:
      return client.getObjectDetails(flag, value, context);
  }
}

/** What the web provider said of itself and nobody asked for yet. */
const events = [];
let heard = () => {};

const web = Web.getClient();
for (const event of [ProviderEvents.ConfigurationChanged, ProviderEvents.Error, ProviderEvents.Stale]) {
  web.addHandler(event, ({ flagsChanged, message }) => {
    events.push({ event, flagsChanged, message });
    heard();
  });
}

/** The OFREP providers send no tracking events: this one does. */
class TrackingProvider extends OFREPProvider {
  track(event, { targetingKey }, { value, id }) {
    this.sent = fetch(`${baseUrl}/v1/track`, {
      method: "POST",
      headers: { "content-type": "application/json", ...Object.fromEntries(headers) },
      body: JSON.stringify({ events: [{ event, targetingKey, id, value }] }),
    });
  }
}

let provider;

const commands = {
  async server({ tracking }) {
    provider = new (tracking ? TrackingProvider : OFREPProvider)({ baseUrl, headers });
    await Server.setProviderAndWait(provider);
  },

  evaluate: (command) => details(Server.getClient(), command),

  async track({ event, context, more }) {
    Server.getClient().track(event, context, more);
    const answer = await provider.sent;
    return await answer?.json();
  },

  async web({ context, pollInterval }) {
    const own = new OFREPWebProvider({ baseUrl, headers, pollInterval, cacheMode: "disabled" });
    try {
      await Web.setProviderAndWait(own, context);
    } catch (error) {
      return { error: error.message };
    }
  },

  look: (command) => details(web, command),

  context: ({ context }) => Web.setContext(context),

  async heard() {
    while (events.length === 0) {
      await new Promise((resolve) => heard = resolve);
    }
    return events.splice(0);
  },

  status: () => web.providerStatus,
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  const answer = await commands[command.do](command);
  console.log(JSON.stringify(answer ?? null));
}
Deno.exit();
