A=1 B=2
x=$A/y/$B
run $A/x/$B $x --d=$A/$B
