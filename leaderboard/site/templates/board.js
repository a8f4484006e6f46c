
// Columns that are not wanted can be put away.
const table = document.querySelector("table.standings"), columns = document.getElementById("columns");
const details = document.createElement("details"), summary = document.createElement("summary");
summary.append("Columns");
details.append(summary);
[...table.tHead.rows[0].cells].forEach((head, column) => {
  const label = document.createElement("label"), box = document.createElement("input");
  box.type = "checkbox";
  box.checked = true;
  label.append(box, ` ${head.innerText.split("\n")[0]}`);
  box.addEventListener("change", () => {
    for (const row of table.rows) row.cells[column].classList.toggle("away", !box.checked);
  });
  details.append(label);
});
columns.append(details);

// Two entries, task by task. All text goes in as text, never as markup.
const { tasks, entries, up } = JSON.parse(document.getElementById("data").textContent);
const one = document.getElementById("one"), other = document.getElementById("other");
const compared = document.getElementById("compared");
for (const list of [one, other]) entries.forEach((entry, number) => list.add(new Option(entry.name, String(number))));

// How often an entry won a task, of the runs that it played.
function won(entry, task) {
  let count = 0;
  for (let at = task; at < entry.outcomes.length; at += tasks.length) count += entry.outcomes[at] === "1";
  return count / (entry.outcomes.length / tasks.length);
}

function listed(title, numbers, first, second) {
  const box = document.createElement("details"), head = document.createElement("summary"), list = document.createElement("ul");
  head.append(`${title}: ${numbers.length}`);
  for (const number of numbers) {
    const item = document.createElement("li");
    item.append(`${tasks[number]} (`);
    [first, second].forEach((entry, position) => {
      const link = document.createElement("a");
      link.href = `${up}entries/${entry.path}/index.html#episode=${number + 1}`;
      link.append(entry.name);
      item.append(position ? ", " : "", link);
    });
    item.append(")");
    list.append(item);
  }
  box.append(head, list);
  return box;
}

// The two-sided p-value of an exact test of signs over tasks, as natlang_envs.evaluation.statistics.paired_p has it.
function pairedP(first, second) {
  const divisor = (a, b) => (b ? divisor(b, a % b) : a);
  const [a, b] = [first, second].map((entry) => entry.outcomes.length / tasks.length);
  const parts = Math.min(1000, (a * b) / divisor(a, b));
  const differences = tasks.map((_, task) => Math.round(parts * (won(first, task) - won(second, task)))).filter(Boolean);
  let chances = new Float64Array([1]);
  for (const each of differences.map(Math.abs)) {
    const next = new Float64Array(chances.length + 2 * each);
    chances.forEach((chance, at) => { next[at] += chance / 2; next[at + 2 * each] += chance / 2; });
    chances = next;
  }
  const total = (chances.length - 1) / 2, far = Math.abs(differences.reduce((sum, each) => sum + each, 0));
  return Math.min(1, chances.reduce((sum, chance, at) => (Math.abs(at - total) >= far ? sum + chance : sum), 0));
}

function compare() {
  const first = entries[one.value], second = entries[other.value];
  const kinds = { [`${first.name} does better`]: [], [`${second.name} does better`]: [], "Both win": [], "Neither wins": [], "Equal otherwise": [] };
  const names = Object.keys(kinds);
  tasks.forEach((_, task) => {
    const here = won(first, task), there = won(second, task);
    const kind = here > there ? 0 : there > here ? 1 : here === 1 ? 2 : here === 0 ? 3 : 4;
    (kinds[names[kind]] ??= []).push(task);
  });
  const p = pairedP(first, second), said = document.createElement("p");
  said.append(`Paired test over ${tasks.length} tasks: p ${p < 0.0001 ? "< 0.0001" : `= ${p.toPrecision(2)}`}, two-sided and exact.`);
  compared.replaceChildren(said, ...names.filter((name) => kinds[name].length).map((name) => listed(name, kinds[name], first, second)));
  history.replaceState(null, "", `#compare=${encodeURIComponent(first.name)}&with=${encodeURIComponent(second.name)}`);
}
if (entries.length > 1) {
  const asked = new URLSearchParams(location.hash.slice(1));
  const at = (name, otherwise) => Math.max(otherwise, entries.findIndex((each) => each.name === name));
  document.getElementById("chosen").hidden = false;
  one.selectedIndex = at(asked.get("compare"), 0);
  other.selectedIndex = asked.get("with") === entries[0].name ? 0 : at(asked.get("with"), 1);
  if (asked.has("compare")) compare();
  one.addEventListener("change", compare);
  other.addEventListener("change", compare);
}
