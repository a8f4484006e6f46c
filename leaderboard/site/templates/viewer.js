"use strict";
// Shows one recorded episode at a time. All text goes in as text, never as markup.
const { index, episodes: total } = JSON.parse(document.getElementById("data").textContent);
let episodes = null;
const byId = (id) => document.getElementById(id);
const list = byId("episode"), filter = byId("filter"), before = byId("before"), after = byId("after");

function element(tag, className, ...content) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...content);
  return made;
}

const sentences = (text) => text.match(/[^.\n]*[.\n]?\s*/g).filter((each) => each !== "");

// Observations are stored as what they share with the beginning of the one before, and the rest. Sentences that the
// observation before did not hold are marked.
function observationsOf(episode) {
  let text = "";
  if (episode.observations === null) {
    const note = "The observations are not shown: this site was built where the environment's data are missing.";
    return [...episode.actions, ""].map((_, step) => element("p", "seen", step ? "" : note));
  }
  return episode.observations.map(([shared, rest], step) => {
    const known = new Set(sentences(text).map((each) => each.trim()));
    text = text.slice(0, shared) + rest;
    const parts = sentences(text).map((each) => (step && !known.has(each.trim()) ? element("mark", "", each) : each));
    const seen = element("p", "seen", ...parts);
    seen.dir = "auto";
    return seen;
  });
}

// Texts that are stored like the observations: each with what it shares with the one before.
function whole(stored) {
  let text = "";
  return stored.map(([shared, rest]) => (text = text.slice(0, shared) + rest));
}

function listOf(commands) {
  const box = element("details", "listed"), names = commands.split("\n");
  const list = element("ul", "", ...names.map((name) => element("li", "", name)));
  list.dir = "auto";
  box.append(element("summary", "", `${names.length} listed command${names.length === 1 ? "" : "s"}`), list);
  return box;
}

// The episodes come as a script: a page opened from a file may load nothing else. It calls this function.
window.pieces = async (packed) => {
  if (!window.DecompressionStream) return tell("This browser is too old for the viewer. The recording itself is below.");
  const bytes = Uint8Array.from(atob(packed), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  episodes = JSON.parse(await new Response(stream).text());
  follow();
};
function load() {
  const script = document.createElement("script");
  script.src = "episodes.js";
  document.head.append(script);
}

function tell(text) {
  byId("task").replaceChildren();
  byId("steps").replaceChildren(element("li", "", text));
}

// A permalink: #episode=3&step=2, both from 1.
const place = () => new URLSearchParams(location.hash.slice(1));
const step = () => Number(place().get("step")) || 0;

function show(position, at) {
  if (episodes === null) return tell("Loading …");
  const episode = episodes[position], number = index[position][0];
  const seen = observationsOf(episode), listed = whole(episode.listed), pictures = whole(episode.pictures);
  const rows = episode.actions.map((action, step) => {
    const link = element("a", "", `Step ${step + 1}`);
    link.href = `#episode=${number}&step=${step + 1}`;
    const row = element("li", at === step + 1 ? "at" : "", element("h3", "", link), seen[step]);
    if (pictures.length) row.append(element("pre", "picture", pictures[step]));
    if (listed.length) row.append(listOf(listed[step]));
    if (episode.reflections[step] !== null) {
      const said = element("p", "said", episode.reflections[step]);
      said.dir = "auto";
      row.append(said);
    }
    const did = element("b", "", action);
    did.dir = "auto";
    row.append(element("p", "did", did, element("span", "", `reward ${episode.rewards[step]}`)));
    return row;
  });
  const result = element("span", episode.success ? "success-text" : "failure-text", episode.success ? "Success" : "No success");
  const numbers = ` after ${rows.length} step${rows.length === 1 ? "" : "s"}, return ${episode.rewards.reduce((sum, reward) => sum + reward, 0)}`;
  rows.push(element("li", "", element("h3", "", "End"), seen[rows.length], element("p", "", result, numbers)));
  byId("steps").replaceChildren(...rows);
  byId("task").replaceChildren(episode.task);
  const chosen = document.querySelector("#steps .at");
  if (chosen) chosen.scrollIntoView({ block: "center" });
}

function choose(position) {
  list.selectedIndex = position;
  before.disabled = position <= 0;
  after.disabled = position >= list.options.length - 1;
  byId("steps").hidden = byId("task").hidden = list.options.length === 0;
  if (list.options.length) show(Number(list.value), step());
}

// Chooses the episode that the address names, or the first one.
function follow() {
  const named = Number(place().get("episode"));
  const position = [...list.options].findIndex((each) => index[Number(each.value)][0] === named);
  choose(Math.max(0, position));
  const there = index.some(([number]) => number === named);
  if (Number.isInteger(named) && named >= 1 && named <= total && !there) {
    list.selectedIndex = -1;
    tell(`Episode ${named} is not among those shown here. natlang-leaderboard show FOLDER ${named} prints it.`);
  }
}

function fill() {
  const shown = { all: () => true, success: (success) => success, failure: (success) => !success }[filter.value];
  const runs = index.some(([, , run]) => run > 0);
  list.replaceChildren();
  index.forEach(([number, task, run, success], position) => {
    if (!shown(success)) return;
    const which = runs ? `, run ${run + 1}` : "";
    list.add(new Option(`${success ? "✓" : "✗"} ${number}. ${task}${which}`, String(position)));
  });
  follow();
}

function go(position) {
  if (position < 0 || position >= list.options.length) return;
  history.replaceState(null, "", `#episode=${index[Number(list.options[position].value)][0]}`);
  choose(position);
}
document.addEventListener("keydown", (event) => {
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowLeft") go(list.selectedIndex - 1);
  if (event.key === "ArrowRight") go(list.selectedIndex + 1);
});
window.addEventListener("hashchange", follow);
list.addEventListener("change", () => go(list.selectedIndex));
filter.addEventListener("change", fill);
before.addEventListener("click", () => go(list.selectedIndex - 1));
after.addEventListener("click", () => go(list.selectedIndex + 1));
byId("viewer").hidden = false;
fill();
load();
