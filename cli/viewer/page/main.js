// The pages of a bank as attnbank explore serves them.
import { open } from "./app.js";
import { Connector, withQuery } from "./connector.js";
import { Fault } from "./fault.js";
import { Places } from "./places.js";

class Server extends Connector {
  isLive = true; // anything can be asked, and not only what was asked when a bank was published
  isServer = true; // there is a model, and Python
  trustsAddresses = true; // nobody else can make one that the server answers

  async read(path, parameters) {
    const response = await fetch(withQuery(path, parameters)).catch(() => {
      throw new Fault(
        "The explorer does not answer.",
        "Is attnbank explore still running? Start it again, and open the address that it prints.",
      );
    });
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    const record = isJson ? await response.json() : null;
    if (record?.error) throw new Fault(record.error.fact, record.error.remedy);
    if (!response.ok || !record) {
      throw new Fault(`The explorer answered with status ${response.status}.`, "Reload the page.");
    }
    return record;
  }

  // The addresses of a record as files.
  files(path, parameters) {
    const kinds = ["csv", "svg", "pdf", "png"];
    return Object.fromEntries(kinds.map((kind) => [kind, withQuery(`${path}.${kind}`, parameters)]));
  }

  // The picture of an analysis on a light and a dark screen.
  picture(name, parameters) {
    const address = (theme) => withQuery(`/answers/any/${name}.svg`, { ...parameters, theme });
    return { light: address("light"), dark: address("dark") };
  }
}

open(new Server(), new Places());
