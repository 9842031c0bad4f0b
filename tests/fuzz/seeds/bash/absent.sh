source nowhere.sh
run $Q
