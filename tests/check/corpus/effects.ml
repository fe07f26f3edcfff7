(* Exceptions through List.iter, finalisers, lazy, objects, first-class modules, tail calls, callbacks from C, signals. *)
exception Deep of int
let rec deep n = if n = 0 then raise (Deep n) else 1 + deep (n - 1)
class virtual shape = object method virtual area : float method name = "shape" end
class square s = object inherit shape method area = s *. s method! name = "square" end
module type S = sig val f : int -> int end
let twice : (module S) = (module struct let f x = x * 2 end)
let rec even n = n = 0 || odd (n - 1) and odd n = n <> 0 && even (n - 1)
let () =
  for i = 0 to 5 do try ignore (deep (i * 50)) with Deep _ -> print_char 'd' done;
  (try List.iter (fun x -> if x = 3 then raise Exit) [1; 2; 3; 4] with Exit -> print_endline "exit");
  let l = lazy (if Sys.argv.(0) = "" then 1 else failwith "lazy") in
  (try ignore (Lazy.force l) with Failure m -> print_endline m);
  (try ignore (Lazy.force l) with Failure m -> print_endline m);
  let o = new square 2. in Printf.printf "%s %f\n" o#name o#area;
  let module T = (val twice) in Printf.printf "%d %b\n" (T.f 21) (even 100001);
  Gc.finalise (fun _ -> ()) (ref 1); Gc.full_major ();
  Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ -> raise (Deep 7)));
  (try Unix.kill (Unix.getpid ()) Sys.sigusr1; ignore (Unix.select [] [] [] 0.05) with Deep n -> Printf.printf "signal %d\n" n);
  Array.sort (fun a b -> compare b a) [| 1; 3; 2 |];
  Hashtbl.iter (fun k v -> Printf.printf "%d%s\n" k v) (let h = Hashtbl.create 1 in Hashtbl.add h 1 "x"; h);
  (try ignore ([| 1 |].(Sys.opaque_identity 4)) with Invalid_argument m -> print_endline m);
  (try ignore (1 / Sys.opaque_identity 0) with Division_by_zero -> print_endline "zero");
  (let rec so n = 1 + so (n + 1) in try ignore (so 0) with Stack_overflow -> print_endline "deep");
  Fun.protect ~finally:(fun () -> print_endline "finally") (fun () -> Printf.printf "%s\n" (String.concat "," (List.map string_of_int [1; 2])));
  (match Unix.fork () with 0 -> exit 3 | p -> ignore (Unix.waitpid [] p));
  at_exit (fun () -> print_endline "bye")
