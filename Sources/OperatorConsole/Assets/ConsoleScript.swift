/// The script of every page of the console, before ``UploadScript``. Every page is whole without it.
enum ConsoleScript {
  static let text = #"""
    "use strict";
    (() => {
      const language = document.documentElement.lang;
      const localTimes = root => {
        const format = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
        for (const time of root.querySelectorAll("[data-behavior=local-time]")) {
          const date = new Date(time.dateTime);
          if (!isNaN(date)) { time.title = time.textContent; time.textContent = format.format(date); }
        }
      };
      localTimes(document);

      // What a part of the page shows is read again while the page is seen, and put in place where it differs.
      const live = document.querySelector("[data-behavior=live]");
      // What is new among the tasks is said once: by where it leads, and its words without the numbers, which may change with each look.
      const heard = document.querySelector("main > .heard");
      const named = task => task.querySelector("a")?.href + task.textContent.replace(/\d+/g, "");
      const tell = (before, after) => {
        const known = [...before.querySelectorAll(".task")].map(named);
        const news = [...after.querySelectorAll(".task")].filter(task => !known.includes(named(task)));
        if (heard && news.length) heard.textContent = news.map(task => task.querySelector("p").textContent).join(" ");
      };
      if (live && window.EventSource) {
        const outdated = document.querySelector("[data-behavior=outdated]");
        const readAt = document.querySelector("[data-behavior=read-at]");
        let shown = live.innerHTML, busy = false;
        // Under the focus nothing is replaced but by what is the same.
        const refresh = async () => {
          if (busy || document.hidden) return;
          busy = true;
          try {
            const response = await fetch(location.href, { headers: { "X-Pullbox-Look": "1" }, redirect: "error" });
            const page = response.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
            const fresh = page?.querySelector("[data-behavior=live]");
            outdated.hidden = Boolean(fresh);
            if (!fresh) return;
            localTimes(fresh);
            if (fresh.innerHTML !== shown) {
              if (live.contains(document.activeElement)) return;
              shown = fresh.innerHTML;
              tell(live, fresh);
              live.replaceChildren(...fresh.childNodes);
            }
            const time = page.querySelector("[data-behavior=read-at]");
            localTimes(time);
            readAt.replaceChildren(...time.childNodes);
          } catch { outdated.hidden = false; } finally { busy = false; }
        };
        // A browser makes a lost connection anew by itself, and ends it for good where the answer is another one.
        let source;
        const listen = () => {
          source = new EventSource("/console/events");
          source.addEventListener("look", refresh);
          source.addEventListener("error", () => {
            if (source.readyState === EventSource.CLOSED) setTimeout(listen, 30_000);
            refresh();
          });
        };
        listen();
        document.addEventListener("visibilitychange", refresh);
        addEventListener("pagehide", () => source.close());
      }

      // Keys: g and a letter go to a page, j and k through the rows, / to the search.
      const isTyping = target => target.closest("input, select, textarea, [contenteditable]");
      let waitsForLetter = false;
      addEventListener("keydown", event => {
        if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
        if (waitsForLetter) {
          waitsForLetter = false;
          const link = document.querySelector(`a[data-shortcut="${CSS.escape(event.key)}"]`);
          if (link) { event.preventDefault(); link.click(); }
          return;
        }
        if (event.key === "g") { waitsForLetter = true; setTimeout(() => { waitsForLetter = false; }, 1500); }
        if (event.key === "/") {
          const field = document.querySelector("main input:not([type=hidden]):not([type=checkbox])");
          if (field) { event.preventDefault(); field.focus(); }
        }
        if (event.key === "j" || event.key === "k") {
          const links = [...document.querySelectorAll("main tbody tr a, main .tasks a")];
          const rows = links.filter((link, index) => index === 0 || link.closest("tr, li") !== links[index - 1].closest("tr, li"));
          const at = rows.findIndex(link => link.closest("tr, li").contains(document.activeElement));
          const next = rows[event.key === "j" ? at + 1 : Math.max(0, at - 1)];
          if (next) { event.preventDefault(); next.focus(); }
        }
      });

      // The first field that is wrong gets the focus, else what was done is read out by its live region.
      document.querySelector("[aria-invalid]")?.focus();
    })();

    """#
}
