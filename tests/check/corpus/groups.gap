# GAP: errors that are caught, functions that call themselves, groups
deep := function(n) if n = 0 then Error("deep"); fi; return deep(n - 1) + 1; end;;
BreakOnError := false;;
Print(CALL_WITH_CATCH(deep, [30])[1], "\n");
g := SymmetricGroup(5);; Print(Size(g), " ", Length(ConjugacyClasses(g)), "\n");
Print(Sum(List([1 .. 50], x -> x ^ 3)), "\n");
QUIT;
