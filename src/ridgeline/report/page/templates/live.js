"use strict";
// The live page: every answer is a fragment the server has escaped; this file only asks, places and brushes.
const $ = (id) => document.getElementById(id);
const chosen = { from: null, to: null, rank: null, key: null, class: null };
let reach = null;
let turn = 0;

function query(extra) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...chosen, ...extra })) if (value !== null && value !== "") words.set(name, value);
  return words.toString();
}

async function ask(path) {
  const answer = await fetch(path, { credentials: "same-origin" });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text;
}

function say(text, bad) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", Boolean(bad));
}

async function put(slot, path, mine) {
  const at = $(slot);
  at.classList.add("busy");
  try {
    const html = await ask(path);
    if (mine !== undefined && mine !== turn) return;
    at.innerHTML = html;
    if (slot === "slot-heat") brushes(at.querySelector("svg"));
  } catch (error) {
    say(error.message, true);
  } finally {
    at.classList.remove("busy");
  }
}

// What follows the selection. The heatmap keeps the whole of time, so that the brush can be moved.
async function refresh(withHeat) {
  const mine = ++turn;
  const began = performance.now();
  const parts = [
    put("slot-latency", "/part/picture/latency?" + query(), mine),
    put("slot-ranks", "/part/picture/ranks?" + query(), mine),
    put("requests", "/part/requests?" + query(), mine),
  ];
  const size = ask("/part/size?" + query());
  size.catch(() => {});  // told below; no second report of it
  if (withHeat) parts.push(put("slot-heat", "/part/picture/heat?" + query({ from: null, to: null }), mine));
  await Promise.all(parts);
  if (mine !== turn) return;
  mark();
  say((await size).trim());
  document.body.dataset.took = String(Math.round(performance.now() - began));
  document.body.dataset.turn = String(mine);
  await put("slot-slices", "/part/picture/slices?" + query(), mine);
}

function frame() {
  const cells = document.querySelector("#slot-heat .cells");
  if (!cells) return null;
  const n = (name) => Number(cells.dataset[name]);
  return { svg: cells.ownerSVGElement, from: n("from"), to: n("to"), left: n("left"), right: n("right"), top: n("top"), bottom: n("bottom"), bins: n("bins"),
    edges: cells.dataset.edges.split(" ").map(Number) };
}

function xOf(f, clientX) {
  const box = f.svg.getBoundingClientRect();
  return Math.min(f.right, Math.max(f.left, ((clientX - box.left) / box.width) * f.svg.viewBox.baseVal.width));
}

const momentOf = (f, x) => f.from + ((f.to - f.from) * (x - f.left)) / (f.right - f.left);

function mark() {
  const f = frame();
  if (!f) return;
  f.svg.querySelector(".brush")?.remove();
  if (chosen.from === null) return;
  const at = (ts) => f.left + ((Math.min(f.to, Math.max(f.from, ts)) - f.from) / (f.to - f.from || 1)) * (f.right - f.left);
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const [a, b] = [at(chosen.from), at(chosen.to)];
  for (const [k, v] of Object.entries({ class: "brush", x: a, y: f.top, width: Math.max(1, b - a), height: f.bottom - f.top })) rect.setAttribute(k, v);
  f.svg.append(rect);
}

function brushes(svg) {
  if (!svg) return;
  mark();
  let start = null;
  svg.addEventListener("pointerdown", (event) => {
    const f = frame();
    start = { x: xOf(f, event.clientX), target: event.target, old: [chosen.from, chosen.to] };
    svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  svg.addEventListener("pointermove", (event) => {
    if (!start) return;
    const f = frame();
    const x = xOf(f, event.clientX);
    if (Math.abs(x - start.x) < 4) return;
    [chosen.from, chosen.to] = [momentOf(f, Math.min(x, start.x)), momentOf(f, Math.max(x, start.x))];
    mark();
  });
  svg.addEventListener("pointerup", (event) => {
    if (!start) return;
    const f = frame();
    const moved = Math.abs(xOf(f, event.clientX) - start.x) >= 4;
    const cell = start.target.closest("rect.c");
    start = null;
    if (moved) {
      sliders();
      refresh(false);
    } else if (cell) {
      open(f, Number(cell.dataset.x), Number(cell.dataset.y));
    }
  });
}

function open(f, x, y) {
  const bins = f.bins;
  const step = (f.to - f.from) / bins;
  const last = x === bins - 1 ? 1e-6 : 0;
  put("requests", "/part/requests?" + query({ from: f.from + step * x, to: f.from + step * (x + 1) + last,
    low: y === 0 ? null : f.edges[y], high: y === f.edges.length - 2 ? null : f.edges[y + 1] })).then(() => $("requests").scrollIntoView({ block: "nearest" }));
}

function sliders() {
  if (!reach) return;
  const part = (ts, whole) => (ts === null ? whole : Math.round(((ts - reach.from) / (reach.to - reach.from || 1)) * 1000));
  $("from").value = part(chosen.from, 0);
  $("to").value = part(chosen.to, 1000);
}

function slid() {
  const [a, b] = [Number($("from").value), Number($("to").value)].sort((p, q) => p - q);
  const at = (part) => reach.from + ((reach.to - reach.from) * part) / 1000;
  [chosen.from, chosen.to] = a === 0 && b === 1000 ? [null, null] : [at(a), at(b)];
  refresh(false);
}

function options(id, items, name) {
  for (const item of items) {
    const option = document.createElement("option");
    option.value = item[name];
    option.textContent = `${item[name]} (${item.requests.toLocaleString("en")})`;
    $(id).append(option);
  }
}

document.addEventListener("click", (event) => {
  const rid = event.target.closest("[data-rid]");
  if (rid) put("request", "/part/request?" + new URLSearchParams({ rid: rid.dataset.rid })).then(() => $("request").scrollIntoView({ block: "nearest" }));
  const cite = event.target.closest("[data-cite]");
  if (cite) put("lines", "/part/lines?" + new URLSearchParams({ cite: cite.dataset.cite }));
});
$("rank").addEventListener("change", () => { chosen.rank = $("rank").value || null; refresh(true); });
$("key").addEventListener("change", () => { chosen.key = $("key").value || null; refresh(true); });
$("class").addEventListener("change", () => { chosen.class = $("class").value.trim() || null; refresh(true); });
$("from").addEventListener("change", slid);
$("to").addEventListener("change", slid);
$("tools").addEventListener("submit", (event) => event.preventDefault());
$("clear").addEventListener("click", () => {
  for (const name of Object.keys(chosen)) chosen[name] = null;
  $("tools").reset();
  refresh(true);
});
$("differs").addEventListener("click", () => put("answer", "/part/differs?" + query()));
$("rungs").addEventListener("click", () => put("answer", "/part/rungs?" + query()));

async function start() {
  await put("slot-heat", "/part/picture/heat?" + query());
  document.body.dataset.first = String(Math.round(performance.now()));
  reach = JSON.parse(await ask("/facets"));
  if (reach.from === null) for (const id of ["from", "to", "differs", "rungs"]) $(id).disabled = true;
  options("rank", reach.ranks, "rank");
  options("key", reach.keys, "key");
  await refresh(false);
  try {
    $("story").innerHTML = await ask("/part/story");
    const head = $("story").querySelector("header");
    if (head) $("head").replaceChildren(head);
    document.body.dataset.story = "ready";
  } catch (error) {
    $("wait").textContent = error.message;
    document.body.dataset.story = "failed";
  }
}
start().catch((error) => say(error.message, true));
