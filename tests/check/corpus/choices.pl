:- initialization(main).
p(1). p(2). p(3).
main :- catch(throw(x), x, (write(caught), nl)), findall(X, p(X), L), write(L), nl, ( p(Y), Y > 1, ! -> write(Y) ; true ), nl, atom_length(abc, N), write(N), nl, halt.
