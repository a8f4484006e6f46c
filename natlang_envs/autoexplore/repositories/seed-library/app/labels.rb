# Prints the paper envelopes: name, year, and a line that says how many to sow in one hole.
SEEDS_PER_HOLE = { "bean" => 3, "squash" => 2, "tomato" => 1 }.freeze

def label(kind, name, year)
  "#{name} (#{year})\nsow #{SEEDS_PER_HOLE.fetch(kind)} in a hole"
end
