/// The part of the console's script that sends a package by tus, in parts of 4 MiB. What the server has acknowledged counts after a lost
/// connection, and after a reload in which the same file is chosen again. Without it the form sends its file in one go.
enum UploadScript {
  static let text = #"""
    "use strict";
    (() => {
      // Where an upload is kept while its file is sent; a browser that keeps nothing begins anew after a reload.
      const kept = (place, act) => { try { return act(window[place]); } catch { return null; } };
      const done = kept("sessionStorage", store => store.getItem("pullbox-upload-sent"));
      if (done && new URLSearchParams(location.search).get("notice") === "uploaded") {
        kept("localStorage", store => store.removeItem(done));
        kept("sessionStorage", store => store.removeItem("pullbox-upload-sent"));
      }
      const form = document.querySelector("form[data-behavior=upload]");
      if (!form) return;
      const partLength = 4 * 1024 * 1024, longestPause = 30;
      const { file, token, product } = form.elements;
      const box = form.querySelector("[data-behavior=upload-progress]"), bar = box.querySelector("progress");
      const stop = box.querySelector("button"), start = form.querySelector("button:not([type])");
      const status = form.querySelector("[role=status]"), problem = form.querySelector("[role=alert]");
      const size = bytes => new Intl.NumberFormat(document.documentElement.lang, {
        style: "unit", unit: "megabyte", maximumFractionDigits: 1 }).format(bytes / 1e6);
      // A region that speaks says a change once.
      const say = (region, name, ...values) => {
        const text = name && (form.dataset[name] ?? name).replace(/\{(\d)\}/g, (_, place) => values[place]);
        if (region.textContent !== text) region.textContent = text;
        region.hidden = region === problem && !text;
      };
      // A browser keeps a field as it was left.
      file.disabled = false;
      let running = null;

      // Ends the upload for good, with a sentence.
      class Refusal extends Error {}
      const ask = async (method, address, headers, body) => {
        const answer = await fetch(address, { method, body, redirect: "error", signal: running.signal,
          headers: { "Tus-Resumable": "1.0.0", "X-Pullbox-Form": token.value, ...headers } });
        if (answer.ok || answer.status === 404 && method !== "POST" || answer.status === 410) return answer;
        if (answer.status === 401) throw new Refusal("sayEnded");
        if ([408, 409, 423, 429].includes(answer.status) || answer.status >= 500 && answer.status !== 507) {
          throw new Error(`status ${answer.status}`);
        }
        const words = await answer.json().catch(() => ({}));
        throw new Refusal(words.detail ?? words.title ?? `HTTP ${answer.status}`);
      };
      const wait = seconds => new Promise(resume => {
        const timer = setTimeout(resume, seconds * 1000);
        for (const [subject, name] of [[window, "online"], [running.signal, "abort"]]) {
          subject.addEventListener(name, () => { clearTimeout(timer); resume(); }, { once: true });
        }
      });
      const read = async (chosen, offset) => {
        try { return await chosen.slice(offset, offset + partLength).arrayBuffer(); }
        catch { throw new Refusal("sayUnreadable"); }
      };
      // The eye sees each part, the ear each tenth.
      let told = -1;
      const show = (offset, length) => {
        const tenths = length ? Math.floor(10 * offset / length) : 10;
        bar.value = length ? offset / length : 1;
        if (tenths !== told) say(status, "saySending", 10 * tenths, size(length));
        told = tenths;
      };

      // Returns the name of the upload that has the whole file.
      const send = async (chosen, name) => {
        let address = kept("localStorage", store => store.getItem(name)), offset = null, pause = 1;
        const forget = () => { address = null; kept("localStorage", store => store.removeItem(name)); };
        told = -1;
        while (true) {
          try {
            if (!address) {
              const metadata = btoa(String.fromCodePoint(...new TextEncoder().encode(chosen.name)));
              const answer = await ask("POST", `/console/uploads?product=${encodeURIComponent(product.value.trim())}`, {
                "Upload-Length": chosen.size, "Upload-Metadata": `filename ${metadata}` });
              address = answer.headers.get("Location");
              offset = 0;
              kept("localStorage", store => store.setItem(name, address));
            } else if (offset === null) {
              const answer = await ask("HEAD", address);
              if (!answer.ok || Number(answer.headers.get("Upload-Length")) !== chosen.size) { forget(); continue; }
              offset = Number(answer.headers.get("Upload-Offset"));
            }
            show(offset, chosen.size);
            if (offset === chosen.size) return address.split("/").at(-1);
            const answer = await ask("PATCH", address, {
              "Upload-Offset": offset, "Content-Type": "application/offset+octet-stream" }, await read(chosen, offset));
            if (!answer.ok) { forget(); continue; }
            offset = Number(answer.headers.get("Upload-Offset"));
            pause = 1;
          } catch (failure) {
            if (failure instanceof Refusal || running.signal.aborted) throw failure;
            // What has arrived is asked for, however the request ended.
            offset = null;
            told = -1;
            say(status, "sayLost");
            await wait(pause);
            if (running.signal.aborted) throw failure;
            pause = Math.min(2 * pause, longestPause);
          }
        }
      };

      form.addEventListener("submit", async event => {
        event.preventDefault();
        const chosen = file.files[0];
        if (running || !chosen) return;
        const name = `pullbox-upload ${chosen.size} ${chosen.lastModified} ${chosen.name}`;
        running = new AbortController();
        say(problem, "");
        box.hidden = false;
        start.setAttribute("aria-disabled", "true");
        try {
          const upload = document.createElement("input");
          Object.assign(upload, { type: "hidden", name: "upload", value: await send(chosen, name) });
          kept("sessionStorage", store => store.setItem("pullbox-upload-sent", name));
          file.disabled = true;
          form.append(upload);
          form.submit();
        } catch (failure) {
          const isStopped = running.signal.aborted;
          say(status, isStopped ? "sayStopped" : "");
          if (!isStopped) say(problem, failure.message);
          if (box.contains(document.activeElement)) start.focus();
          box.hidden = true;
          start.removeAttribute("aria-disabled");
          running = null;
        }
      });
      stop.addEventListener("click", () => running?.abort());
    })();

    """#
}
