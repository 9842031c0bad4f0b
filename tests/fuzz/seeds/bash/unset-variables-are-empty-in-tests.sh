if [ -n "$DEBUG" ]; then X=--debug; fi
run $X x
