cd /root/t3
export OMP_NUM_THREADS=1
nice -n -5 .venv/bin/reflect-rl reproduce table2 --preset smollm2 --task taxi-pickup --method untuned,sft-faithful --jobs 1 --out runs/t2 >> logs/t2 2>&1
