for ((i=0; i<3; i++)); do run $i; done
