Q=a\
b
run $Q c\
d \
 e
