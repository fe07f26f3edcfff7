%% Functions in C that fail, on schedulers of their own, with resources and destructors.
-module(nif).
-export([main/0, add/2, slow/1, make/0]).
add(_, _) -> erlang:nif_error(none).
slow(_) -> erlang:nif_error(none).
make() -> erlang:nif_error(none).
main() ->
    ok = erlang:load_nif("./nif", 0),
    io:format("~p~n", [add(1, 2)]),
    io:format("~p~n", [catch add(x, 2)]),
    Self = self(),
    [spawn(fun() -> Self ! slow(N) end) || N <- [1, 2, 3]],
    io:format("~p~n", [lists:sum([receive N -> N end || _ <- [1, 2, 3]])]),
    [make() || _ <- lists:seq(1, 10)],
    erlang:garbage_collect(),
    halt(0).
