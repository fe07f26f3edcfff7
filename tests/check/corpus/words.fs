\ Exceptions, words made at run time, words that make words, and a function of the C library
: deep ( n -- ) dup 0= if -77 throw then 1- recurse ;
: caught ( n -- e ) ['] deep catch nip ;
20 caught . 
: fib dup 2 < if drop 1 else dup 1- recurse swap 2 - recurse + then ;
18 fib .
: maker create , does> @ * ;
7 maker seven 6 seven .
defer act ' dup is act : run act + ; 21 run .
: zero ( -- e ) try 1 0 / iferror nip endif endtry ;
: bad ( -- ) 0 @ drop ;  \ a signal becomes an exception
' bad catch .
s" 1 2 + ." evaluate
cr bye
