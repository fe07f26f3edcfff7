exception Stop of int
let gen f = let t = Thread.create (fun () -> try f (); raise Exit with Exit -> ()) () in Thread.join t
let rec tree n = if n = 0 then raise (Stop n) else (try tree (n-1) with Stop k when k > 2 -> k | Stop k -> raise (Stop (k+1)))
let () = gen (fun () -> print_string "t"); (try print_int (tree 10) with Stop k -> print_int k);
 let s = Seq.unfold (fun n -> if n > 5 then None else Some (n, n+1)) 0 in Seq.iter print_int s;
 (try Scanf.sscanf "x" "%d" print_int with _ -> print_string "scan");
 (try ignore (int_of_string "zz") with Failure _ -> ()); Fun.protect ~finally:(fun () -> print_string "f") (fun () -> ());
 (try let rec so n = 1 + so (n+1) in print_int (so 0) with Stack_overflow -> print_string "so");
 Gc.full_major (); at_exit (fun () -> print_string "bye\n");
 (try let m = Mutex.create () in Mutex.lock m; Mutex.unlock m with _ -> ()); Printexc.print (fun () -> ()) ()
