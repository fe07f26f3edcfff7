:- use_module(library(lists)). :- use_module(library(thread)). :- use_module(library(dcg/basics)).
deep(0) :- !, throw(my(deep)).
deep(N) :- M is N - 1, deep(M), true.
greeting --> "a", digits(D), { atom_codes(A, D), write(A) }.
:- initialization(main).
main :- forall(between(1, 5, I), (N is I * 20, catch(deep(N), my(E), (write(E))))),
  catch(atom_length(_, _), error(T, _), (write(T))), nl,
  findall(X-Y, (member(X, [1,2,3]), member(Y, [a,b]), X \= 2), L), write(L), nl,
  setup_call_cleanup(true, member(_, [1,2]), write(cleanup)), nl,
  concurrent_maplist([X1,Y1]>>(Y1 is X1 * 2), [1,2,3], R), write(R), nl,
  thread_create((catch(deep(3), _, true), thread_exit(done)), Id), thread_join(Id, S), write(S), nl,
  string_codes("a12", C), phrase(greeting, C), nl, freeze(V, (write(frozen), nl)), V = 1,
  assertz(fact(1)), retract(fact(1)), nb_setval(k, 0), forall(between(1, 1000, _), (nb_getval(k, K), K1 is K + 1, nb_setval(k, K1))), nb_getval(k, KK), write(KK), nl,
  catch(call_with_depth_limit(deep(100), 50, DL), _, DL = x), write(DL), nl,
  foldl([A1,B1,C1]>>(C1 is A1 + B1), [1,2,3], 0, F), write(F), nl, tabled(20, FF), write(FF), nl,
  sort(0, @>=, [3,1,2], SS), write(SS), nl, shell('echo child'), reset(yielder, ball(Q), Cont), write(Q), call(Cont), halt.
yielder :- shift(ball(1)), write(resumed), nl.
:- table tabled/2.
tabled(0, 0). tabled(1, 1).
tabled(N, F) :- N > 1, A is N - 1, B is N - 2, tabled(A, FA), tabled(B, FB), F is FA + FB.
