cd /root/t3
export OMP_NUM_THREADS=1
nice -n -5 .venv/bin/python trainonly.py runs/p2 taxi-pickup one-step 2 > logs/p2 2>&1
