(* C that calls OCaml that raises; a stack overflow that is caught; lazy, finalisers, signals, functors, objects, Printexc. *)
external apply : ('a -> 'b) -> 'a -> 'b = "apply"
external twice : (int -> int) -> int -> int = "twice"
exception Odd of int
let rec deep n = 1 + deep (n + 1)
let rec map_raise n = if n = 0 then raise (Odd 3) else 1 + apply map_raise (n - 1)
class virtual shape = object method virtual area : int method twice = 2 end
class square n = object (self) inherit shape as super method area = n * n method twice = super#twice * self#area end
module type S = sig type t val compare : t -> t -> int end
module Make (X : S) = struct module M = Map.Make (X) let size l = M.cardinal (List.fold_left (fun m x -> M.add x () m) M.empty l) end
module I = Make (Int)
let () =
  print_int (apply (fun x -> x + 1) 41); print_newline ();
  (try print_int (map_raise 20) with Odd n -> Printf.printf "odd %d\n" n);
  (try ignore (deep 0) with Stack_overflow -> print_endline "overflow");
  print_int (twice (fun x -> x * 3) 2); print_newline ();
  let l = lazy (raise Exit) in
  (try Lazy.force l with Exit -> print_endline "exit");
  (try Lazy.force l with Exit -> print_endline "again");
  Gc.finalise (fun _ -> print_endline "finalised") (ref 1);
  Gc.full_major ();
  Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ -> raise (Odd 10)));
  (try Unix.kill (Unix.getpid ()) Sys.sigusr1; for _ = 1 to 1000000 do ignore (ref 1) done with Odd n -> Printf.printf "signal %d\n" n);
  Printf.printf "%d %d\n" (new square 3)#twice (I.size [3; 1; 3]);
  Printexc.record_backtrace true;
  (try failwith "x" with Failure _ -> ignore (Printexc.get_backtrace ()));
  (try ignore (Array.make 3 0).(5) with Invalid_argument s -> print_endline s);
  (try ignore (1 / int_of_string "0") with Division_by_zero -> print_endline "zero");
  let rec loop n acc = if n = 0 then acc else loop (n - 1) (acc +. Float.of_int n) in
  Printf.printf "%g\n" (loop 1000 0.);
  Fun.protect ~finally:(fun () -> print_endline "finally") (fun () -> List.iter print_int (List.sort compare [3; 1; 2]));
  let fib = let t = Hashtbl.create 10 in let rec f n = if n < 2 then n else try Hashtbl.find t n with Not_found -> let r = f (n - 1) + f (n - 2) in Hashtbl.add t n r; r in f in
  Printf.printf "%d\n" (fib 50)
