cd /root/t3
export OMP_NUM_THREADS=1
nice -n -5 .venv/bin/python trainonly.py runs/maps taxi-pickup-maps sft-faithful 0 > logs/maps 2>&1
