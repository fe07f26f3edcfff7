%% Processes that fail and are told of, exceptions, ports, binaries, funs, ETS, timers, code that is loaded again.
-module(processes).
-export([main/0, f/1]).
main() ->
    process_flag(trap_exit, true),
    P = spawn_link(fun() -> exit(gone) end),
    receive {'EXIT', P, R} -> io:format("~p~n", [R]) end,
    io:format("~p~n", [catch f(3)]),
    try lists:map(fun(X) -> 10 div X end, [1, 0]) catch error:badarith:S -> io:format("~p~n", [length(S) > 0]) end,
    try throw(x) catch throw:T -> io:format("~p~n", [T]) after io:format("after~n") end,
    Self = self(),
    [spawn(fun() -> Self ! {N, fib(N)} end) || N <- lists:seq(1, 15)],
    io:format("~p~n", [lists:sum([receive {N, V} -> V end || N <- lists:seq(1, 15)])]),
    T0 = ets:new(t, [ordered_set]), [ets:insert(T0, {K, K * K}) || K <- lists:seq(1, 100)], io:format("~p~n", [ets:lookup(T0, 7)]),
    <<A:4, B/bitstring>> = <<16#abcd:16>>, io:format("~p ~p~n", [A, bit_size(B)]),
    io:format("~p~n", [re:replace("a1b2", "\\d", "x", [global, {return, list}])]),
    io:format("~s", [os:cmd("echo sub")]),
    erlang:send_after(5, self(), tick), receive tick -> io:format("tick~n") end,
    io:format("~p~n", [erlang:phash2(lists:duplicate(1000, a)) > 0]),
    {_, M} = spawn_monitor(fun() -> deep(100000) end), receive {'DOWN', M, _, _, W} -> io:format("~p~n", [W]) end,
    io:format("~p~n", [catch erlang:binary_to_atom(<<255>>, utf8)]), io:format("~p~n", [maps:fold(fun(_, V, Acc) -> V + Acc end, 0, #{a => 1, b => 2})]),
    io:format("~p~n", [byte_size(zlib:gunzip(zlib:gzip(binary:copy(<<"x">>, 1000))))]), io:format("~p~n", [math:pow(2, 0.5)]), io:format("~p~n", [erlang:md5("x")]),
    erlang:garbage_collect(), halt(0).
f(0) -> error(deep);
f(N) -> 1 + f(N - 1).
fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).
deep(0) -> 0;
deep(N) -> 1 + deep(N - 1).
