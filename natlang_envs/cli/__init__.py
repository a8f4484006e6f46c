"""The `natlang` command.

main            the commands of the suite: envs, protocols, evaluate, replay; finds the others
support         what all command lines share: one-line errors, safe printing, the extras
play            `natlang play`
serve           `natlang serve`
protocol        `natlang protocol`: rounds that a public text draws
explore         `natlang explore`, by an agent step by step
answer          `natlang explore` without an agent: the best files and lines
data, labels    `natlang data`: repositories, and labels
keys            `natlang data keys`: what an answer has to say
harbor          `natlang data export --format harbor`: which tasks
mutate          `natlang data mutate`: tasks of broken code
change_tables   `natlang data check --change`
alfworld        `natlang alfworld`
doctor          `natlang doctor`
check_sandbox   `natlang check-sandbox`
"""
