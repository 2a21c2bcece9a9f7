/* A browser lets no page that is opened from a folder start a worker, which the search needs. There
   the worker's script runs in a hidden frame of the page instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inner = frame.contentWindow;
      const load = (source) =>
        new Promise((loaded, failed) => {
          const script = this.inner.document.createElement("script");
          script.src = source;
          script.onload = loaded;
          script.onerror = failed;
          this.inner.document.head.append(script);
        });
      this.inner.importScripts = (...sources) =>
        sources.reduce((before, each) => before.then(() => load(each)), Promise.resolve());
      this.inner.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(address);
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.inner.frameElement.remove();
    }
  };
}
