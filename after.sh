cd /root/t3
R=runs/p2/cells/taxi-pickup
until [ -e $R/one-step/seed-2/policy-sft/adapter_model.safetensors ]; do sleep 5; done
export OMP_NUM_THREADS=1
nice -n -5 .venv/bin/python trainonly.py runs/p2 taxi-pickup sft-faithful 2 > logs/p2s 2>&1
bash row.sh one-step $R/one-step/seed-2/policy-sft imitation "player after one imitation step" "reflect-rl reproduce gain-smollm2 --preset smollm2 --seed 2, before RL, as it is published, adapters in 4 bits; commands drawn at temperature 1." > logs/row-one 2>&1
bash row.sh sft-only $R/sft-faithful/seed-2 imitation "player by imitation" "reflect-rl reproduce table2 --preset smollm2 --task taxi-pickup --method sft-faithful --seed 2, as it is published, adapters in 4 bits; commands drawn at temperature 1." > logs/row-sft 2>&1
