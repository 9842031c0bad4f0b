while true; do run x; sleep 1; done
later
