cd /root/t3
export OMP_NUM_THREADS=1
nice -n -5 .venv/bin/python trainonly.py runs/tom alfworld-tomato sft-faithful 0 > logs/tom 2>&1
