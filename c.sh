cd /root/final
P="OMP_NUM_THREADS=1 nice -n -5"
play() { OMP_NUM_THREADS=1 nice -n -5 .venv/bin/natlang evaluate --protocol $2 --batch 16 --agent reflect-rl-sample:leaderboard/checkpoints/$1.json --out /tmp/pub/$1 > /tmp/pub/$1.log 2>&1; }
mkdir -p /tmp/pub
play smollm2-one-step-seed1 dangerous-taxi-pickup/v1
(cd /root/t3; OMP_NUM_THREADS=1 nice -n -5 .venv/bin/python trainonly.py runs/p1s taxi-pickup sft-faithful 1 > logs/p1s 2>&1)
