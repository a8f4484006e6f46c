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
    });
  });
}

// Search and filter: "/" goes to the search field.
const search = document.getElementById("search"), group = document.getElementById("group");
const track = document.getElementById("track");
function narrow() {
  const words = search.value.toLowerCase().split(/\s+/).filter((each) => each !== "");
  const groups = group ? group.value : "all";
  for (const row of document.querySelectorAll("table.standings tbody tr")) {
    const text = row.textContent.toLowerCase();
    const wanted = groups === "all" || groups.split(" ").includes(row.dataset.group);
    const tracked = !track || track.value === "" || row.dataset.tracks.split(" ").includes(track.value);
    row.hidden = !wanted || !tracked || !words.every((each) => text.includes(each));
  }
}
search.addEventListener("input", narrow);
for (const choice of [group, track]) if (choice) choice.addEventListener("change", narrow);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === search) return;
  event.preventDefault();
  search.focus();
});
