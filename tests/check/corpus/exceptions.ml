exception E of int
let rec f n = if n = 0 then raise (E 3) else 1 + f (n-1)
let rec g n = if n = 0 then raise Not_found else (try g (n-1) with E _ -> 1) + 1
let () = for i = 0 to 20 do (try print_int (f i) with E x -> print_int x) done;
 (try print_int (g 30) with Not_found -> print_string "nf");
 (try ignore (List.find (fun x -> x > 3) [1;2]) with Not_found -> print_string "nf2");
 (try ignore (1 / (Sys.argv |> Array.length |> fun x -> x - 1)) with Division_by_zero -> print_string "dz");
 (try ignore ([|1|].(5)) with Invalid_argument _ -> print_string "ia");
 let rec deep n = if n = 0 then 0 else 1 + deep (n-1) in print_int (deep 100000);
 let h = Hashtbl.create 10 in Hashtbl.add h 1 2; (try ignore (Hashtbl.find h 5) with Not_found -> print_newline ());
 Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ -> raise (E 9)));
 (try Unix.kill (Unix.getpid ()) Sys.sigusr1; for _ = 0 to 100000 do ignore (ref 1) done with E 9 -> print_string "sig");
 List.sort compare [3;1;2] |> List.iter print_int; flush stdout
