declare -A M=([k]=v [l]=w)
M[n]=z
run ${M[l]} ${M[n]} "${!M[@]}"
