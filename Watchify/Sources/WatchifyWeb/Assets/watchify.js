// What the page does beyond reading: filters apply at once, rows arrive while it is open, and charts have a cursor.
// Without it everything works by links and forms.
const root = document.documentElement;
root.classList.add("scripted");
const svgNames = "http://www.w3.org/2000/svg";

// Filters
for (const form of document.querySelectorAll("form[data-auto]")) {
  form.addEventListener("change", (event) => {
    if (event.target.type !== "search") form.requestSubmit();
  });
  form.addEventListener("submit", () => {
    // Addresses name only what differs from the usual.
    for (const field of form.elements) {
      if (field.name && (field.value === "" || (field.name === "stock" && field.value === "all") ||
        (field.name === "sort" && field.value === "name"))) field.disabled = true;
    }
  });
}
addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll("form[data-auto] :disabled")) field.disabled = false;
});

// "/" leads to the search
addEventListener("keydown", (event) => {
  const isTyping = /^(input|select|textarea)$/i.test(event.target.tagName);
  const search = document.querySelector("input[type=search]");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && search) {
    event.preventDefault();
    search.focus();
  }
});

// Charts
function chart(figure) {
  const plot = figure.querySelector(".plot");
  const cursor = figure.querySelector(".cursor");
  const readout = figure.querySelector(".readout");
  const points = [...figure.querySelectorAll("tr[data-x]")]
    .map((row) => ({ x: +row.dataset.x, y: +row.dataset.y, text: row.dataset.text }))
    .sort((one, other) => one.x - other.x);
  if (!points.length) return;
  let current = -1;

  function element(name, values) {
    const made = document.createElementNS(svgNames, name);
    for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
    return made;
  }
  function show(index, x) {
    const point = points[index];
    const at = `${x ?? point.x}%`;
    cursor.replaceChildren(
      element("line", { x1: at, x2: at, y1: 14, y2: 196 }),
      element("circle", { cx: at, cy: point.y, r: 4 }));
    if (index !== current) readout.textContent = point.text;
    current = index;
  }
  function hide() {
    cursor.replaceChildren();
    readout.textContent = "";
    current = -1;
  }
  // A price is valid from its point on until the next.
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const x = Math.max(0, Math.min(100, (event.clientX - box.left) / box.width * 100));
    const index = points.findLastIndex((point) => point.x <= x + 0.01);
    show(Math.max(0, index), x);
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const last = points.length - 1;
    const target = {
      ArrowLeft: current < 0 ? last : Math.max(0, current - 1),
      ArrowRight: current < 0 ? 0 : Math.min(last, current + 1),
      Home: 0, End: last,
    }[event.key];
    if (event.key === "Escape") return hide();
    if (target === undefined) return;
    event.preventDefault();
    show(target);
  });
}

// Calls a function at each change of the data while the page is visible. A browser opens six connections to a server at
// most, for all its pages: those that are visible share one stream, by the page that holds a lock.
function follow(changed) {
  if (!window.EventSource || !window.BroadcastChannel) return;
  const channel = new BroadcastChannel("watchify");
  let seen = null;
  let stop = null;

  function note(id, isNews) {
    // A page that is older than what the server counts as just rendered may have missed an event.
    const isUnknown = seen === null ? performance.now() > 5000 : id !== seen;
    seen = id;
    if (isNews || isUnknown) changed();
  }
  function stream() {
    return new Promise((end) => {
      const source = new EventSource(new URL("../live", import.meta.url));
      for (const name of ["hello", "news"]) {
        source.addEventListener(name, (event) => {
          note(event.lastEventId, name === "news");
          channel.postMessage(event.lastEventId);
        });
      }
      let retry;
      source.onerror = () => { if (source.readyState === 2) retry = setTimeout(update, 20000); };
      stop = () => {
        clearTimeout(retry);
        source.close();
        end();
      };
    });
  }
  function update() {
    stop?.();
    stop = null;
    if (document.visibilityState === "hidden") return;
    if (!navigator.locks) return void stream();
    const waiting = new AbortController();
    stop = () => waiting.abort();
    navigator.locks.request("watchify", { signal: waiting.signal }, stream).catch(() => {});
  }
  channel.onmessage = (event) => note(event.data, event.data !== seen);
  addEventListener("visibilitychange", update);
  update();
}

// Live rows: at news, the page is read again and its content replaced, unless somebody is typing in it.
function live() {
  const main = document.querySelector("main[data-live]");
  if (!main) return;
  let isStale = false;
  let isLoading = false;

  async function refresh() {
    if (document.visibilityState === "hidden" || isLoading || main.querySelector("input:focus, select:focus")) {
      isStale = true;
      return;
    }
    isStale = false;
    isLoading = true;
    let pause = 0;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.ok && answer.url === location.href.replace(/#.*/, "")) take(await answer.text());
    } catch {
      isStale = true;
      pause = 5000;
    }
    isLoading = false;
    // More news may have arrived meanwhile.
    if (isStale) setTimeout(refresh, pause);
  }
  function take(text) {
    const page = new DOMParser().parseFromString(text, "text/html");
    const fresh = page.querySelector("main[data-live]");
    if (!fresh) return;
    const known = new Set([...main.querySelectorAll("li[id]")].map((row) => row.id));
    const open = new Set([...main.querySelectorAll("details[open] [id]")].map((part) => part.id));
    const focused = document.activeElement?.closest("li[id]")?.id;
    for (const row of fresh.querySelectorAll(".news > li[id]")) {
      if (known.size && !known.has(row.id)) row.classList.add("fresh");
    }
    main.replaceChildren(...fresh.childNodes);
    for (const id of open) {
      const details = document.getElementById(id)?.closest("details");
      if (details) details.open = true;
    }
    if (focused) document.getElementById(focused)?.querySelector("a, button")?.focus();
    document.title = page.title;
    for (const part of [".top nav", "#state"]) {
      const [old, now] = [document.querySelector(part), page.querySelector(part)];
      if (old && now) old.replaceChildren(...now.childNodes);
    }
    main.querySelectorAll(".chart").forEach(chart);
  }
  follow(refresh);
  addEventListener("visibilitychange", () => { if (isStale) refresh(); });
  main.addEventListener("focusout", () => { if (isStale) setTimeout(refresh, 200); });
}

document.querySelectorAll(".chart").forEach(chart);
live();
