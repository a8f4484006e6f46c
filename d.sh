cd /root/final
n=$1
OMP_NUM_THREADS=1 nice -n -5 .venv/bin/natlang evaluate --protocol dangerous-taxi-pickup/v1 --batch 16 --agent reflect-rl-sample:leaderboard/checkpoints/$n.json --out /tmp/pub/$n > /tmp/pub/$n.log 2>&1
