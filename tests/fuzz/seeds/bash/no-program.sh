python -c 'import x'
ls
