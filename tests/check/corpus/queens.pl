:- initialization(main).
q(N, L) :- numlist2(1, N, R), perm(R, L), safe(L).
numlist2(N, N, [N]) :- !.
numlist2(A, N, [A|T]) :- A < N, B is A + 1, numlist2(B, N, T).
perm([], []).
perm(L, [H|T]) :- select(H, L, R), perm(R, T).
safe([]). safe([Q|Qs]) :- no(Q, Qs, 1), safe(Qs).
no(_, [], _). no(Q, [P|Ps], D) :- Q =\= P + D, Q =\= P - D, E is D + 1, no(Q, Ps, E).
main :- q(6, L), write(L), nl, catch(deep(2000), E, (write(E), nl)), catch(X is foo + 1, error(T, _), (write(T), nl)),
  findall(Y, member(Y, [a, b, c]), Z), write(Z), nl, halt.
deep(0) :- throw(bottom). deep(N) :- M is N - 1, deep(M), true.
