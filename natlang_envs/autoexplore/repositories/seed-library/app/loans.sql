-- A loan is overdue when it was not returned by the end of November of the same year.
CREATE TABLE loans (
  card INTEGER NOT NULL,
  variety TEXT NOT NULL,
  grams REAL NOT NULL CHECK (grams <= 20),
  taken DATE NOT NULL,
  returned DATE
);
CREATE VIEW overdue AS
SELECT * FROM loans
WHERE returned IS NULL AND date('now') > strftime('%Y', taken) || '-11-30';
