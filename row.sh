# row.sh NAME RUNDIR METHOD WHAT "DESCRIPTION" [more for pack]: publish, play, pack, audit and commit one row of seed 2.
set -e
cd /root/t3
export OMP_NUM_THREADS=1
n=$1; run=$2; m=$3; what=$4; d="$5"; shift 5
B=.venv/bin; P=dangerous-taxi-pickup/v1; E=leaderboard/submissions/$P/smollm2-$n-published-seed2; C=leaderboard/checkpoints/smollm2-$n-seed2.json
$B/reflect-rl publish $run $C
exec 9>/root/t3/.git/lockrow; flock 9
git add leaderboard/checkpoints; git commit -qm "SmolLM2's $what of seed 2, as it is published"
flock -u 9
nice -n ${NICE:--3} $B/natlang evaluate --protocol $P --batch 16 --agent reflect-rl-sample:$C --out /tmp/pub/smollm2-$n-seed2
$B/natlang-leaderboard pack /tmp/pub/smollm2-$n-seed2 --name smollm2-$n-published-seed2 --description "$d" --disclosure "It learned from 100 trajectories of the split train. One map: other starts of it are in the split test. All settings are those of seed 0, where the number of trajectories was raised after the test games lost from 25 had been looked at; rates and heads were chosen on validation." --model "SmolLM2-135M-Instruct, LoRA adapters of rank 16 for each player" --parameters 134515008 --weights open --method $m --reflection --teacher "the shortest plan, which says which wall is next" "$@"
flock 9
$B/natlang-leaderboard ledger $E
git add leaderboard; git commit -qm "Entry: SmolLM2's $what, seed 2"
flock -u 9
head=$(git rev-parse HEAD)
nice -n ${NICE:--3} $B/natlang-leaderboard audit $E --agent reflect-rl-sample:$C --beacon $head --note
flock 9
git add leaderboard; git commit -qm "Audited: SmolLM2's $what, seed 2"
flock -u 9
