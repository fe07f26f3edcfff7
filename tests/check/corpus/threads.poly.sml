open Thread.Thread
val m = Thread.Mutex.mutex ()
val done = ref 0
fun work n () = (fib n handle Overflow => 0; Thread.Mutex.lock m; done := !done + 1; Thread.Mutex.unlock m)
val ts = map (fn n => fork (work n, [])) [10, 11, 12]
fun wait () = if !done < 3 then (Posix.Process.sleep (Time.fromMilliseconds 10); wait ()) else ()
