python train.py --num-layers 2 --hidden-size 8 --micro-batch-size 1
