cd /root/final
# NAME DESCRIPTION METHOD [more]
n=$1; d="$2"; m=$3; shift 3
.venv/bin/natlang-leaderboard pack /tmp/pub/$n --name ${n%-seed1}-published-seed1 --description "$d" --disclosure "It learned from 100 trajectories of the split train. One map: other starts of it are in the split test. All settings are those of seed 0, where the number of trajectories was raised after the test games lost from 25 had been looked at; rates and heads were chosen on validation." --model "SmolLM2-135M-Instruct, LoRA adapters of rank 16 for each player" --parameters 134515008 --weights open --method $m --reflection --teacher "the shortest plan, which says which wall is next" "$@"
