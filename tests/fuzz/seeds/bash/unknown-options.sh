torchrun $DIST pretrain_gpt.py --x
