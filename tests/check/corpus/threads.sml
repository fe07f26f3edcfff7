(* Exceptions, continuations of the heap, arbitrary precision, and functions that are passed on *)
exception Deep of int
fun deep n = if n = 0 then raise Deep 7 else 1 + deep (n - 1)
val a = deep 500 handle Deep n => n
fun fib n : int = if n < 2 then 1 else fib (n - 1) + fib (n - 2)
val b = foldl (op +) 0 (map (fn x => x * x) [1, 2, 3, fib 15])
fun power (x, 0) = (1 : LargeInt.int) | power (x, n) = x * power (x, n - 1)
val c = (1 div (a - 7)) handle Div => ~1
val d = (String.sub ("ab", 9); 0) handle Subscript => 3
fun main () = print (Int.toString a ^ " " ^ Int.toString b ^ " " ^ LargeInt.toString (power (7, 60)) ^ " " ^ Int.toString (c + d) ^ "\n")
