nohup env -u C D=1 numactl --cpunodebind=0 python pretrain_gpt.py > log 2>&1 &
