// Search forgives one wrong letter: names at an edit distance of one are shown under "Did you mean".
export function nearMiss(a, b) {
  if (Math.abs(a.length - b.length) > 1) return false;
  let i = 0;
  while (a[i] === b[i] && i < a.length) i++;
  return a.slice(i + 1) === b.slice(i + 1) || a.slice(i) === b.slice(i + 1) || a.slice(i + 1) === b.slice(i);
}
