"use strict";
// Sorts a table by the column whose head is pressed; what has no value stays last.
for (const table of document.querySelectorAll("table.standings")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const numeric = head.dataset.sort === "num";
    button.addEventListener("click", () => {
      const first = numeric && column !== 0 ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      const sign = order === "ascending" ? 1 : -1;
      const value = (row) => row.cells[column].dataset.value;
      const rows = [...body.rows].sort((a, b) => {
        const x = value(a), y = value(b);
        if (x === "" || y === "") return (x === "") - (y === "");
        return sign * (numeric ? Number(x) - Number(y) : x < y ? -1 : x > y ? 1 : 0);
      });
      body.append(...rows);
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      // The mark of a tie speaks of the row above, which is another one now.
      table.classList.toggle("sorted", !(column === 0 && order === "ascending"));
      narrow();
    });
  });
}

// Search and filter: "/" goes to the search field. Of a long table only the first rows are laid out.
const search = document.getElementById("search"), group = document.getElementById("group");
const track = document.getElementById("track"), more = document.getElementById("more");
const texts = new WeakMap(), step = 200;
let most = step;
function textOf(row) {
  if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
  return texts.get(row);
}
function narrow() {
  let found = 0;
  const words = search.value.toLowerCase().split(/\s+/).filter((each) => each !== "");
  const groups = group ? group.value : "all";
  for (const row of document.querySelectorAll("table.standings tbody tr")) {
    const wanted = groups === "all" || groups.split(" ").includes(row.dataset.group);
    const tracked = !track || track.value === "" || row.dataset.tracks.split(" ").includes(track.value);
    const shown = wanted && tracked && words.every((each) => textOf(row).includes(each));
    found += shown;
    row.hidden = !shown || found > most;
  }
  if (!more) return;
  more.hidden = found <= most;
  more.textContent = `Show ${step} more of ${found} rows`;
}
if (more) {
  more.addEventListener("click", () => { most += step; narrow(); });
  narrow();
}
search.addEventListener("input", narrow);
for (const choice of [group, track]) if (choice) choice.addEventListener("change", narrow);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === search) return;
  event.preventDefault();
  search.focus();
});
