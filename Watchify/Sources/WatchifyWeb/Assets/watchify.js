// What the page does beyond reading: filters apply at once, rows arrive while it is open, and charts have a cursor.
// Without it everything works by links and forms.
const root = document.documentElement;
root.classList.add("scripted");
const svgNames = "http://www.w3.org/2000/svg";

const main = document.querySelector("main");
const parse = (text) => new DOMParser().parseFromString(text, "text/html");

// Filters apply at once, and a list follows while somebody types. Addresses name only what differs from the usual.
const isUsual = (name, value) => value === "" || (name === "stock" && value === "all") ||
  (name === "sort" && value === "name");
const filters = (event) => event.target.closest("form[data-auto]");
addEventListener("change", (event) => {
  if (event.target.type !== "search") filters(event)?.requestSubmit();
});
addEventListener("submit", (event) => {
  for (const field of filters(event)?.elements ?? []) {
    if (field.name && isUsual(field.name, field.value)) field.disabled = true;
  }
});
addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll("form[data-auto] :disabled")) field.disabled = false;
});
let typing;
let searches = 0;
addEventListener("input", (event) => {
  if (event.target.type !== "search") return;
  clearTimeout(typing);
  typing = setTimeout(search, 150, filters(event));
});
async function search(form) {
  const query = new URLSearchParams([...new FormData(form)].filter((item) => !isUsual(...item)));
  const address = form.action + (`${query}` ? `?${query}` : "");
  const turn = ++searches;
  const answer = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
  const page = answer?.ok && parse(await answer.text());
  let node = page && page.querySelector("form[data-auto]");
  if (!node || turn !== searches || !form.isConnected) return;
  history.replaceState(null, "", address);
  document.title = page.title;
  main.querySelector(".count").textContent = page.querySelector(".count").textContent;
  // The form stays, with its focus; what is below it is replaced.
  const list = [];
  while ((node = node.nextSibling)) list.push(node);
  while (form.nextSibling) form.nextSibling.remove();
  form.after(...list);
}

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

// Replaces the content by that of a newer version of the page. Returns whether it is one.
function take(text) {
  const page = parse(text);
  const fresh = page.querySelector("main");
  if (!fresh || fresh.dataset.live !== main.dataset.live) return false;
  const known = new Set([...main.querySelectorAll("li[id]")].map((row) => row.id));
  const open = new Set([...main.querySelectorAll("details[open] [id]")].map((part) => part.id));
  const focused = document.activeElement;
  const row = focused?.closest("li[id]")?.id;
  const stops = () => [...document.querySelectorAll("a, button, summary, [tabindex]")];
  const index = stops().indexOf(focused);
  for (const row of fresh.querySelectorAll(".news > li[id]")) {
    if (known.size && !known.has(row.id)) row.classList.add("fresh");
  }
  main.replaceChildren(...fresh.childNodes);
  for (const id of open) {
    const details = document.getElementById(id)?.closest("details");
    if (details) details.open = true;
  }
  if (row) focus(document.getElementById(row), focused.localName);
  document.title = page.title;
  for (const part of [".top nav", "#state"]) {
    const [old, now] = [document.querySelector(part), page.querySelector(part)];
    if (old && now) old.replaceChildren(...now.childNodes);
  }
  // Outside of rows, the focus stays on the same link, or at the same position.
  if (index >= 0 && !row && !focused.isConnected) {
    (stops().find((stop) => stop.outerHTML === focused.outerHTML) ?? stops()[index] ?? main).focus();
  }
  main.querySelectorAll(".chart").forEach(chart);
  return true;
}
function focus(row, kind) {
  (row?.querySelector(kind) ?? row?.querySelector("a"))?.focus();
}

// "Read" marks a row on the page as it is. The focus stays at its position in the list.
addEventListener("submit", async (event) => {
  const form = event.target;
  const row = form.closest(".news > li");
  if (!row) return;
  event.preventDefault();
  const index = [...main.querySelectorAll(".news > li")].indexOf(row);
  const body = new URLSearchParams(new FormData(form));
  const answer = await fetch(form.action, { method: "POST", body }).catch(() => null);
  if (!answer?.ok || !take(await answer.text())) return form.submit();
  const rows = main.querySelectorAll(".news > li");
  if (rows.length) focus(rows[Math.min(index, rows.length - 1)], "button");
  else main.focus();
});

// Live rows: at news, the page is read again and its content replaced, unless somebody is typing in it.
function live() {
  if (!main?.dataset.live) return;
  let isStale = false;
  let isLoading = false;
  const isTyping = () => main.querySelector("input:focus, select:focus");

  async function refresh() {
    if (document.visibilityState === "hidden" || isLoading || isTyping()) {
      isStale = true;
      return;
    }
    isStale = false;
    isLoading = true;
    let pause = 0;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      const text = await answer.text();
      if (isTyping()) isStale = true;
      else if (answer.ok && answer.url === location.href.replace(/#.*/, "")) take(text);
    } catch {
      isStale = true;
      pause = 5000;
    }
    isLoading = false;
    // More news may have arrived meanwhile.
    if (isStale) setTimeout(refresh, pause);
  }
  follow(refresh);
  addEventListener("visibilitychange", () => { if (isStale) refresh(); });
  main.addEventListener("focusout", () => { if (isStale) setTimeout(refresh, 200); });
}

document.querySelectorAll(".chart").forEach(chart);
live();
