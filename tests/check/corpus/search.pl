:- initialization(main). p(X) :- member(X,[1,2,3,4]), X > 2. f(0) :- throw(x). f(N) :- M is N-1, f(M).
main :- findall(X,p(X),L), print(L), nl, catch(f(5),E,(print(E),nl)), length(Z,3), print(Z), nl, halt.
