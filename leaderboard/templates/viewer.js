"use strict";
// Shows one recorded episode at a time. All text goes in as text, never as markup.
const episodes = JSON.parse(document.getElementById("data").textContent);
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
  return episode.observations.map(([shared, rest], step) => {
    const known = new Set(sentences(text).map((each) => each.trim()));
    text = text.slice(0, shared) + rest;
    const parts = sentences(text).map((each) => (step && !known.has(each.trim()) ? element("mark", "", each) : each));
    const seen = element("p", "seen", ...parts);
    seen.dir = "auto";
    return seen;
  });
}

function total(episode) {
  return episode.rewards.reduce((sum, reward) => sum + reward, 0);
}

function show(index) {
  const episode = episodes[index];
  const seen = observationsOf(episode);
  const rows = episode.actions.map((action, step) => {
    const row = element("li", "", element("h3", "", `Step ${step + 1}`), seen[step]);
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
  const numbers = ` after ${rows.length} step${rows.length === 1 ? "" : "s"}, return ${total(episode)}`;
  rows.push(element("li", "", element("h3", "", "End"), seen[rows.length], element("p", "", result, numbers)));
  byId("steps").replaceChildren(...rows);
  byId("task").replaceChildren(episode.task);
}

function choose(position) {
  list.selectedIndex = position;
  before.disabled = position <= 0;
  after.disabled = position >= list.options.length - 1;
  byId("steps").hidden = byId("task").hidden = list.options.length === 0;
  if (list.options.length) show(Number(list.value));
}

function fill() {
  const wanted = { all: () => true, success: (each) => each.success, failure: (each) => !each.success }[filter.value];
  const runs = episodes.some((each) => each.run > 0);
  list.replaceChildren();
  episodes.forEach((each, index) => {
    if (!wanted(each)) return;
    const run = runs ? `, run ${each.run + 1}` : "";
    list.add(new Option(`${each.success ? "✓" : "✗"} ${index + 1}. ${each.task_id}${run}`, String(index)));
  });
  choose(0);
}

list.addEventListener("change", () => choose(list.selectedIndex));
filter.addEventListener("change", fill);
before.addEventListener("click", () => choose(list.selectedIndex - 1));
after.addEventListener("click", () => choose(list.selectedIndex + 1));
byId("viewer").hidden = false;
fill();
