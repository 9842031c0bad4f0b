export N=2
X=1
bash job/inner.sh a 'b c'
