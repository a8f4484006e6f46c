cd /root/t3
R=runs/p2/cells/taxi-pickup/one-step/seed-2
while pgrep -f "trainonly.py runs/p2 taxi-pickup one-step 2" >/dev/null; do sleep 5; done
NICE=-5 bash row.sh reflect-rl $R rl "Reflect-RL player" "reflect-rl reproduce gain-smollm2 --preset smollm2 --seed 2, as it is published, adapters in 4 bits; commands drawn at temperature 1." --curve $R/curve.json --training-episodes 512 > logs/row-rl 2>&1
