run 'a b' "c $((1+1))" d\ e $'f\tg' "" ''
