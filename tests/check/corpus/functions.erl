-module(functions). -export([main/0]).
loop(P, 0) -> P ! done; loop(P, N) -> loop(P, N-1).
main() -> S = self(), [spawn(fun() -> loop(S, 1000) end) || _ <- lists:seq(1,10)], [receive done -> ok end || _ <- lists:seq(1,10)],
 try throw(x) catch throw:x -> io:format("caught~n") end, io:format("~p~n", [lists:sort(fun(A,B) -> A > B end, [1,3,2])]), X = re:run("abc","b"), io:format("~p~n",[X]), halt(0).
