# Ablation rows of the pickup by RL from other warm starts, seed 0: without reflection after full imitation, and without imitation.
cd /root/t3
export OMP_NUM_THREADS=1
S='rl.baseline="step" rl.discount=0.5 rl.entropy=0.1'
C='curriculum=[{env="NatLang/DangerousTaxi-Pickup-v0",iterations=8}]'
for m in no-reflection rlft-only; do
nice -n -5 .venv/bin/python trainonly.py runs/abl taxi-pickup $m 0 $S "$C" collect.negatives=1 > logs/abl-$m 2>&1
done
