source conf/model.sh
run "${ARGS[@]}"
