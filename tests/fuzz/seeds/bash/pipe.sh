run x 2>&1 | tee log &
